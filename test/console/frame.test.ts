import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { html, lines, link, markupOf, verbatim, withQuery } from '../../src/console/html.ts';
import { facts, fault, numbers, proseOf, table, verdictPill } from '../../src/console/layout.ts';
import { type TestConsole, ADA, startTestConsole } from './console.ts';

describe('a page of the console', () => {
  let console: TestConsole;
  beforeAll(async () => {
    console = await startTestConsole();
  });
  afterAll(() => console.stop());

  const raw = (path: string, request: RequestInit = {}): Promise<Response> =>
    fetch(`${console.ops}${path}`, { redirect: 'manual', ...request });
  const person = encodeURIComponent(JSON.stringify({ name: 'ada', roles: ['read', 'operate'] }));
  const signedIn = { 'x-test-person': person };

  it('is shown to a person who has signed in', async () => {
    const { status, text, headers } = await console.get('/console/', ADA);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(text).toContain('<h1>Now</h1>');
    expect(text).toContain('✓ ready');
  });

  it('is shown to nobody else', async () => {
    const response = await raw('/console/');
    expect(response.status).toBe(401);
    expect(await response.text()).not.toMatch(/Readiness|In force|<nav/);
  });

  it('loads nothing from elsewhere, runs nothing inline, and is not framed', async () => {
    for (const path of ['/console/', '/console/none', '/console/assets/icon.svg']) {
      const { headers } = await console.get(path);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy.split('; ')).toEqual([
        "default-src 'none'",
        "style-src 'self'",
        "script-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
      ]);
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cross-origin-opener-policy')).toBe('same-origin');
    }
    const { text } = await console.get('/console/');
    expect(text).not.toMatch(/<script>|<style|style="|javascript:|\son\w+=/i);
  });

  it('is not kept by caches, but its style and script are', async () => {
    const { headers, text } = await console.get('/console/');
    expect(headers.get('cache-control')).toBe('no-store');
    for (const [, path = ''] of text.matchAll(/(?:href|src)="(\/console\/assets\/console-[^"]+)"/g)) {
      const asset = await raw(path);
      expect(asset.status).toBe(200);
      expect(asset.headers.get('cache-control')).toContain('immutable');
    }
  });

  it('has a script below 10 KB', async () => {
    const { text } = await console.get('/console/');
    const [, path = ''] = /src="([^"]+)"/.exec(text) ?? [];
    const script = await (await raw(path)).text();
    expect(Buffer.byteLength(script)).toBeLessThan(10_240);
  });

  it.each(['/console/none', '/console/freeze', '/console/decisions'.concat('/x'.repeat(50))])(
    'is not found at %s',
    async (path) => {
      expect((await console.get(path)).status).toBe(404);
    },
  );

  it('explains a path with a wrong percent-encoding', async () => {
    const { status, text } = await console.get('/console/decisions/%E0%A4%A/1');
    expect([400, 404]).toContain(status);
    expect(text).toContain('<h1>');
  });

  describe('a form', () => {
    const body = 'reason=drill&confirmation=freeze';
    const form = { 'content-type': 'application/x-www-form-urlencoded', ...signedIn };
    const SAME = { 'sec-fetch-site': 'same-origin' };
    const frozen = async (): Promise<number> => (await console.store.control()).frozen.length;
    const post = (headers: Readonly<Record<string, string>>, sent = body): Promise<Response> =>
      raw('/console/freeze', { method: 'POST', body: sent, headers });

    it.each([
      ['of another site', { 'sec-fetch-site': 'cross-site' }],
      ['of another host of the site', { 'sec-fetch-site': 'same-site' }],
      ['typed by hand', { 'sec-fetch-site': 'none' }],
      ['of another site that also says its own origin', { 'sec-fetch-site': 'cross-site', origin: 'SELF' }],
      ['with another origin', { origin: 'https://evil.example' }],
      ['with a null origin', { origin: 'null' }],
      ['with neither header', {}],
    ])('%s is refused', async (_name, { origin, ...headers }: Readonly<Record<string, string>>) => {
      const own = origin === undefined ? {} : { origin: origin.replace('SELF', console.ops) };
      expect((await post({ ...form, ...headers, ...own })).status).toBe(403);
      expect(await frozen()).toBe(0);
    });

    it('is refused without a person', async () => {
      expect((await post({ 'content-type': form['content-type'], ...SAME })).status).toBe(401);
      expect(await frozen()).toBe(0);
    });

    it.each(['application/json', 'text/plain', 'multipart/form-data; boundary=x'])(
      'of the type %s is refused',
      async (type) => {
        expect((await post({ ...signedIn, 'content-type': type, ...SAME })).status).toBe(422);
        expect(await frozen()).toBe(0);
      },
    );

    it('is refused if it is too large', async () => {
      expect((await post({ ...form, ...SAME }, `reason=${'x'.repeat(1_100_000)}`)).status).toBe(422);
    });

    it('is not performed by a link', async () => {
      const { status } = await console.get(`/console/freeze?${body}`);
      expect(status).toBe(404);
      expect(await frozen()).toBe(0);
    });

    it('of an older browser, which only says its origin, is performed', async () => {
      expect((await post({ ...form, origin: console.ops })).status).toBe(303);
      const { frozen: freezes } = await console.store.control();
      expect(freezes).toMatchObject([{ by: 'console:ada', reason: 'drill' }]);
      await console.store.unfreeze({ by: 'test', ids: freezes.map(({ id }) => id) });
    });

    it('shows its notice once, on the next page', async () => {
      const { to, notice, status } = await console.send('/console/freeze', {
        reason: '<b>drill</b>',
        confirmation: 'Freeze',
      });
      expect({ to, status }).toEqual({ to: '/console/now', status: 303 });
      const [, id = ''] = /^Frozen as (f\d+)\./.exec(notice) ?? [];
      const next = await raw('/console/', {
        headers: { ...signedIn, cookie: `countersign-notice=${encodeURIComponent('<b>told</b>')}` },
      });
      expect(next.headers.get('set-cookie')).toContain('countersign-notice=; ');
      const text = await next.text();
      for (const said of ['told', 'drill']) expect(text).toContain(`&lt;b&gt;${said}&lt;/b&gt;`);
      expect(text).toMatch(
        /<summary>Lift f\d+<\/summary>\s*<form method="post" action="\/console\/unfreeze">/,
      );
      const lift = { id, reason: 'over <b>', confirmation: 'Unfreeze' };
      expect((await console.send('/console/unfreeze', lift)).notice).toContain(`Lifted ${id}.`);
      const [entry] = await console.store.entries({ source: 'shop', newestFirst: true, limit: 1 });
      expect(JSON.parse(entry?.detail ?? '')).toMatchObject({ by: 'console:ada', reason: 'over <b>' });
      const page = await console.get(`/console/decisions/shop/${entry?.id}`);
      expect(page.text).toContain('no freeze is left; reason: over &lt;b&gt;');
    });

    it.each([
      [{ confirmation: 'unfreeze' }, 'The reason is empty'],
      [{ reason: ' \n', confirmation: 'unfreeze' }, 'The reason is empty'],
      [{ reason: 'x'.repeat(1001), confirmation: 'unfreeze' }, 'at most 1000'],
      [{ reason: 'x' }, 'Nothing was lifted. Type “unfreeze” to confirm'],
      [{ reason: 'x', confirmation: 'freeze' }, 'Nothing was lifted. Type “unfreeze” to confirm'],
    ])('is not lifted by %j', async (fields, because) => {
      const { freeze } = await console.store.freeze({ reason: 'drill', by: 'test' });
      const { status, text } = await console.send('/console/unfreeze', { id: freeze.id, ...fields });
      expect([status, text]).toEqual([422, expect.stringContaining(because)]);
      expect(text).toMatch(new RegExp(`<details open>\\s*<summary>Lift ${freeze.id}</summary>`));
      expect(await frozen()).toBe(1);
      await console.store.unfreeze({ by: 'test', ids: [freeze.id] });
    });

    it('excepts what people approve only if that is chosen, and says so on each page', async () => {
      const fields = { reason: 'drill', confirmation: 'freeze' };
      const { notice } = await console.send('/console/freeze', { ...fields, except: 'approved' });
      expect(notice).toContain('Every callback, except what people approve, is answered FAILURE');
      const { frozen: freezes } = await console.store.control();
      expect(freezes).toMatchObject([{ kind: 'except-approved', by: 'console:ada' }]);
      for (const path of ['/console/', '/console/decisions']) {
        const { text } = await console.get(path);
        expect(text).toContain(`${freezes[0]?.id} by console:ada, except what people approve: drill`);
      }
      await console.send('/console/freeze', { ...fields, except: '' });
      expect((await console.store.control()).frozen.map(({ kind }) => kind)).toEqual([
        'except-approved',
        'operator',
      ]);
      const ids = (await console.store.control()).frozen.map(({ id }) => id);
      await console.store.unfreeze({ by: 'test', ids });
    });

    it.each([
      [{ reason: '"', confirmation: 'freeze', except: 'nothing' }, 'Except nothing is not known', '&quot;'],
      [{ reason: '', confirmation: 'freeze' }, 'The reason is empty', ''],
      [{ reason: 'x'.repeat(1001), confirmation: 'freeze' }, 'at most 1000', 'x'.repeat(1001)],
      [{ reason: 'x' }, 'Nothing was frozen', 'x'],
      [{ reason: '"><b>', confirmation: 'frezze' }, 'Nothing was frozen', '&quot;&gt;&lt;b&gt;'],
    ])('that says %j is explained, and keeps what was typed, as text', async (fields, because, kept) => {
      const { status, text } = await console.send('/console/freeze', fields);
      expect([status, text]).toEqual([422, expect.stringContaining(because)]);
      expect(await frozen()).toBe(0);
      expect(text).toMatch(/<details open>\s*<summary>Freeze approvals<\/summary>/);
      expect(text).toContain(`value="${kept}"`);
      expect(text).not.toContain('<b>');
    });
  });
});

describe('html', () => {
  it.each([
    ['<script>alert(1)</script>', '&lt;script&gt;alert(1)&lt;/script&gt;'],
    [`" onload='x'`, '&quot; onload=&#39;x&#39;'],
    ['a\u202eb', 'a⟨U+202E⟩b'],
    ['a\u0000b', 'a⟨U+0000⟩b'],
    ['a\nb', 'a b'],
    ['\ud800', '⟨U+D800⟩'],
  ])('shows %j as text', (text, shown) => {
    expect(markupOf(html`<p title="${text}">${text}</p>`)).toBe(`<p title="${shown}">${shown}</p>`);
  });

  it('takes no object from outside for markup', () => {
    const forged: never[] = JSON.parse('[["<b>"]]');
    expect(markupOf(html`${forged}`)).toBe('&lt;b&gt;');
  });

  it('joins lists, and leaves out what is undefined or false', () => {
    expect(markupOf(html`${[1, html`<b>2</b>`, false, undefined, 3n]}`)).toBe('1<b>2</b>3');
  });

  it.each([
    ['a/b', '/console/x/a%2Fb'],
    ['..', '/console/x/..~'],
    ['a?b#c', '/console/x/a%3Fb%23c'],
    ['\ud800', '/console/x/%EF%BF%BD'],
    ['javascript:alert(1)', '/console/x/javascript%3Aalert(1)'],
  ])('keeps %j in its segment of a link', (value, expected) => {
    expect(link`/x/${value}`).toBe(expected);
  });

  it('keeps text of several lines, and text of fields, but no markup', () => {
    expect(markupOf(lines('a\n\t<b>\u202e'))).toBe('a\n\t&lt;b&gt;⟨U+202E⟩');
    expect(markupOf(verbatim('a\n"<\u202e'))).toBe('a\n&quot;&lt;\u202e');
  });

  it('leaves parameters without a value out of a query', () => {
    expect(withQuery('/console/x', { a: '1 &', b: '', c: undefined })).toBe('/console/x?a=1+%26');
    expect(withQuery('/console/x', { b: '' })).toBe('/console/x');
  });

  it.each([
    ['the amount is wrong', 'The amount is wrong'],
    ['verdict', 'Verdict'],
    ['request_id is missing', 'request_id is missing'],
    ['payCoinSymbol is missing', 'payCoinSymbol is missing'],
    ['--after is wrong', '--after is wrong'],
    ['run `a <b>` now', 'Run <code>a &lt;b&gt;</code> now'],
  ])('the fault %j begins as a sentence does', (sentence, shown) => {
    expect(markupOf(fault(sentence))).toBe(`<p class="fault" role="alert">${shown}</p>`);
  });

  it('shows what is between two backticks as code, and a single one as it is', () => {
    expect(markupOf(proseOf('a `b` c ` d'))).toBe('a <code>b</code> c ` d');
  });

  it('shows no fact without a value', () => {
    const text = markupOf(
      facts([
        ['Empty', ''],
        ['Nothing', html`${false}`],
        ['Zero', 0],
      ]),
    );
    expect(text).toMatch(/<dt>Zero<\/dt>\s*<dd>0<\/dd>/);
    expect(text).not.toMatch(/Empty|Nothing/);
  });

  it('a table stays one for screen readers, and each cell has its heading', () => {
    const text = markupOf(
      table(
        'Things',
        ['Name', numbers('Count')],
        [
          ['<a>', 1],
          [html``, 2],
        ],
      ),
    );
    for (const role of ['table', 'rowgroup', 'row', 'columnheader', 'cell']) {
      expect(text).toContain(`role="${role}"`);
    }
    expect(text).toContain('<td role="cell" data-label="Name" class="words"><div>&lt;a&gt;</div></td>');
    expect(text).toContain('<td role="cell" data-label="Count"  class="number"><div>1</div></td>');
    expect(text).toContain('<td role="cell" data-label="Name" class="words"></td>');
  });

  it('tells a verdict by a sign and a word', () => {
    expect(['SUCCESS', 'FAILURE', ''].map((verdict) => markupOf(verdictPill(verdict)))).toEqual([
      '<span class="pill yes">✓ SUCCESS</span>',
      '<span class="pill no">✕ FAILURE</span>',
      '<span class="pill">–</span>',
    ]);
  });
});
