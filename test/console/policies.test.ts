import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rulePage } from '../policy/rules/pages.ts';
import { compileRelease, readPolicyFiles } from '../../src/policy/compile.ts';
import type { Release } from '../../src/policy/release.ts';
import { rules } from '../../src/policy/rules/registry.ts';
import { pushRelease } from '../../src/release/push.ts';
import { diffText } from '../../src/release/diff-text.ts';
import { diffReleases } from '../../src/policy/diff.ts';
import { policiesPages } from '../../src/console/pages/policies.ts';
import { markupOf } from '../../src/console/html.ts';
import { startRedisServer } from '../redis-server.ts';
import { POLICIES } from '../service.ts';
import { type TestConsole, ADA, READER, startTestConsole } from './console.ts';

const HOSTILE = `</pre><script>alert(1)</script>" onload='x' \u202e\u0000`;

function released(files: Readonly<Record<string, string>>): Release {
  const { 'list.txt': list, ...policies } = files;
  const named = Object.entries(policies).map(([name, text]) => ({ name, text }));
  const compiled = readPolicyFiles(named, (name) => (name === 'list.txt' ? list : undefined));
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.faults));
  return compiled.release;
}

const withMax = (max: number, more = ''): Release =>
  released({ ...POLICIES, 'payments.yaml': POLICIES['payments.yaml'].replace('1000 ', `${max} `) + more });

const textOf = (markup: string): string =>
  markup
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');

describe.each(['embedded', 'redis'] as const)('the policies on %s', (kind) => {
  let console: TestConsole;
  let stopRedis = async (): Promise<void> => undefined;
  beforeAll(async () => {
    if (kind === 'redis') {
      const redis = await startRedisServer();
      stopRedis = () => redis.stop();
      console = await startTestConsole({ redis: redis.url });
    } else console = await startTestConsole();
  });
  afterAll(() => stopRedis());
  afterAll(() => console.stop());

  async function push(release: Release, message: string): Promise<void> {
    const { revision: expected } = await console.store.control();
    await pushRelease(console.store, { release, expected, by: 'bob', message });
  }

  it('are shown as YAML that has the same revision, with a link to each rule', async () => {
    const { revision } = await console.store.control();
    const { status, text } = await console.get('/console/policies', READER);
    expect(status).toBe(200);
    expect(text).toContain(revision);
    const yaml = [...text.matchAll(/<pre class="yaml">(.*?)<\/pre>/gs)].map(([, markup = '']) =>
      textOf(markup),
    );
    expect(yaml).toHaveLength(3);
    expect(released(Object.fromEntries(yaml.map((each, at) => [`${at}.yaml`, each]))).revision).toBe(
      revision,
    );
    for (const rule of ['amount-limit', 'window-limit', 'allow-list']) {
      expect(text).toContain(`href="/console/policies/rules/${rule}"`);
    }
    expect(text).not.toContain('style=');
  });

  it('have a history with who, when and why, as text', async () => {
    await push(withMax(500), HOSTILE);
    await push(withMax(800), `b${'x'.repeat(4096)}`);
    const { text } = await console.get('/console/policies', READER);
    expect(text).not.toContain('<script>alert');
    expect(text).not.toContain('\u202e');
    expect(text).toContain(
      '&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39; ⟨U+202E⟩',
    );
    expect(text).toContain('bob');
    const history = await console.get('/console/policies/history');
    expect(history.text).toContain('x'.repeat(4096));
    expect(history.text.match(/>changes</g)).toHaveLength(2);
  });

  it('of an earlier revision are shown, with the command that puts them in force again', async () => {
    const earlier = withMax(500);
    const path = `/console/policies/revisions/${earlier.revision.slice(0, 8)}`;
    const { status, text } = await console.get(path, READER);
    expect(status).toBe(200);
    expect(text).toContain('not in force');
    expect(text).toContain(`policy rollback ${earlier.revision.slice(0, 12)}`);
    expect(text).toContain('<span class="number">500</span>');
  });

  it('differ as policy diff says', async () => {
    const [before, after] = [withMax(500), withMax(800)];
    const query = `from=${before.revision.slice(0, 10)}&to=${after.revision}`;
    const { text } = await console.get(`/console/policies/diff?${query}`, READER);
    const [, shown = ''] = /<pre class="diff">(.*?)<\/pre>/s.exec(text) ?? [];
    expect(textOf(shown)).toBe(diffText(diffReleases(before.document, after.document)));
    expect(textOf(shown)).toContain('amount-limit#1 max 500 -> 800 (looser)');
    const swapped = await console.get(`/console/policies/diff?from=${after.revision}&to=${before.revision}`);
    expect(textOf(swapped.text)).toContain('amount-limit#1 max 800 -> 500 (stricter)');
  });

  it('are compared with the push before, unless a person says otherwise', async () => {
    const { text } = await console.get('/console/policies/diff');
    expect(textOf(text)).toContain('max 500 -> 800');
  });

  it.each([
    [1300, false],
    [1800, true],
  ])('with %i values each are compared in a process of their own: %s', async (count, isApart) => {
    const values = Array.from({ length: count }, (_, at) => `${1_000_000 + at}\n`).join('');
    const listed = 'policy: l\ncallback: payment\nrules:\n  - deny-list: { of: userId, file: list.txt }\n';
    const sized = (max: number): Release =>
      released({ 'list.txt': values, 'l.yaml': `${listed}  - amount-limit: { max: ${max} }\n` });
    const [before, after] = [sized(600), sized(700)];
    const size = before.document.length + after.document.length;
    expect(size > 32_768).toBe(isApart);
    await push(before, 'before');
    await push(after, 'after');
    const compared: number[] = [];
    const nothing = (): never => {
      throw new Error('only a comparison is expected');
    };
    const { pages } = policiesPages({
      store: console.store,
      clock: Date.now,
      mayPush: false,
      checks: {
        check: nothing,
        startBacktest: nothing,
        backtest: nothing,
        cancelBacktest: nothing,
        async diff({ before: old = '', after: now, by }) {
          expect(by).toBe('console:rita');
          compared.push(old.length + now.length);
          return '~ compared elsewhere';
        },
      },
    });
    const view = await pages
      .find(({ path }) => path === '/policies/diff')
      ?.show({ person: READER, parameters: {}, query: new URLSearchParams() });
    const text = view !== undefined && 'content' in view ? markupOf(view.content) : '';
    expect(compared).toEqual(isApart ? [size] : []);
    expect(text.includes('compared elsewhere')).toBe(isApart);
    await push(withMax(800), 'back');
  });

  it.each([
    ['/console/policies/revisions/0000', 404],
    ['/console/policies/revisions/zz', 404],
    [`/console/policies/revisions/${'0'.repeat(64)}`, 404],
    [`/console/policies/revisions/${'x'.repeat(4096)}`, 404],
    ['/console/policies/diff?from=0000&to=1111', 404],
    [`/console/policies/diff?from=${encodeURIComponent(HOSTILE)}&to=1111`, 404],
    [`/console/policies/diff?from=${encodeURIComponent('<b>')}&to=`, 200],
    ['/console/policies/rules/none', 404],
    ['/console/policies/rules/__proto__', 404],
    [`/console/policies/rules/${encodeURIComponent(HOSTILE)}`, 404],
    ['/console/policies/history?page=-1', 200],
    ['/console/policies/history?page=999999', 200],
    [`/console/policies/history?page=${encodeURIComponent(HOSTILE)}`, 200],
    ['/console/policies?page=1e9', 200],
  ])('have an answer for %s', async (path, status) => {
    const shown = await console.get(path);
    expect(shown.status).toBe(status);
    expect(shown.text).not.toMatch(/<script>|<b>|onload='/);
    expect(shown.text).toContain('<h1>');
  });

  it('with lists, files and more policies than a page shows are paged and shortened', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 60 }, (_, at) => [
        `p${at}.yaml`,
        `policy: p${at}\ncallback: payment\nwhen: { source: shop, symbol: { file: list.txt } }\n` +
          `description: '${'<b>'.repeat(at === 0 ? 600 : 0)}'\nrules: [{ amount-limit: { max: 1 } }]\n`,
      ]),
    );
    const values = Array.from({ length: 150 }, (_, at) => `<i>${at}`).join('\n');
    await push(released({ ...many, 'list.txt': values }), 'many');
    const first = await console.get('/console/policies');
    expect(first.text.match(/<h2>Policy p/g)).toHaveLength(50);
    expect(first.text).toContain('Page 1 of 2');
    expect(first.text).toContain('150 values');
    expect(first.text).toContain('And 50 more.');
    expect(first.text).not.toMatch(/<i>|<b>/);
    const second = await console.get('/console/policies?page=2');
    expect(second.text.match(/<h2>Policy p/g)).toHaveLength(10);
  });

  it('that this version of the program can’t compile are shown all the same', async () => {
    const document = `{"format":1,"lists":{},"policies":[{"policy":"later","rules":[{"new-rule":{"max":"1"}}]}]}`;
    expect(compileRelease(document).ok).toBe(false);
    const revision = 'f'.repeat(64);
    const { revision: expected } = await console.store.control();
    await console.store.push({ revision, document, expected, by: 'x', message: 'later' });
    const { status, text } = await console.get('/console/policies');
    expect(status).toBe(200);
    expect(textOf(text)).toContain('- new-rule:');
    await push(withMax(1000), 'back');
  });
});

describe('the rules', () => {
  let console: TestConsole;
  beforeAll(async () => {
    console = await startTestConsole();
  });
  afterAll(() => console.stop());

  it('each have a page with what docs/rules says', async () => {
    const { text } = await console.get('/console/policies/rules', READER);
    for (const { name } of rules) {
      const { notes, example } = rulePage(name);
      expect(text).toContain(`href="/console/policies/rules/${name}"`);
      const page = await console.get(`/console/policies/rules/${name}`, READER);
      expect(page.status).toBe(200);
      expect(textOf(page.text)).toContain(example);
      expect(page.text.match(/<li>(?!\s*<a)/g)?.length ?? 0).toBeGreaterThanOrEqual(notes.length);
      expect(page.text).not.toMatch(/(?:src|href)="(?!\/console|#)/);
    }
  });

  it('are named to nobody without a person', async () => {
    for (const path of ['rules', 'rules/pass', 'history', 'diff', 'candidate', 'backtest', '']) {
      expect((await fetch(`${console.ops}/console/policies/${path}`)).status).toBe(401);
    }
  });

  it('say what to do while nothing is in force', async () => {
    const folder = join(console.folder, 'none');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'unused'), '');
    const other = await startTestConsole({ settings: { policies: { directory: folder, push: 'never' } } });
    const { status, text } = await other.get('/console/policies', ADA);
    expect(status).toBe(200);
    expect(text).toContain('No policies are in force');
    expect((await other.get('/console/policies/candidate')).text).toContain('No policies are in force');
    expect((await other.get('/console/policies/diff')).text).toContain('Give two revisions');
    await other.stop();
    rmSync(folder, { recursive: true });
  });
});
