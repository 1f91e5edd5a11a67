import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CandidateProcesses, createCandidateProcesses } from '../../src/start/candidate-process.ts';
import { messageOf } from '../../src/errors.ts';
import { createLog } from '../../src/observe/log.ts';
import { readPolicyDirectory } from '../../src/release/files.ts';
import { systemClock } from '../../src/values/clock.ts';
import { eventually } from '../eventually.ts';
import { startRedisServer } from '../redis-server.ts';
import { POLICIES } from '../service.ts';
import { ADA, READER, type Shown, type TestConsole, startTestConsole } from './console.ts';

const PAYMENTS = POLICIES['payments.yaml'];
const OTHERS = `${POLICIES['transfers.yaml']}---\n${POLICIES['web3.yaml']}`;
const stricter = (max: number): string => PAYMENTS.replace('1000 ', `${max} `);
const TESTS = `tests:
  - test: 100 passes
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        expect: SUCCESS
`;
const HOSTILE = `</textarea><script>alert(1)</script>" onload='x' \u202e`;

const hidden = ({ text }: Shown, name: string): string =>
  new RegExp(`<input type="hidden" name="${name}" value="([^"]*)"`).exec(text)?.[1] ?? '';
const plain = ({ text }: Shown): string =>
  text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('&gt;', '>')
    .replaceAll('&lt;', '<')
    .replaceAll('&quot;', '"');

type Files = Readonly<Record<string, string>>;

/** What the form of a candidate sends: each file, and other fields. */
function formOf(files: Files, fields: Readonly<Record<string, string>> = {}): URLSearchParams {
  const form = new URLSearchParams(fields);
  for (const [name, text] of Object.entries(files)) {
    form.append('name', name);
    form.append('text', text.replaceAll('\n', '\r\n'));
  }
  return form;
}

const sendFiles = (
  at: TestConsole,
  path: string,
  files: Files,
  fields: Readonly<Record<string, string>> = {},
  as = ADA,
): Promise<Shown> => at.send(path, formOf(files, fields), as);

const CHECK = '/console/policies/candidate';
const BACKTEST = '/console/policies/backtest';
const PUSH = '/console/policies/push';

let console: TestConsole;
/** With compiled code in it, the processes start sooner. */
const CACHE = mkdtempSync(join(tmpdir(), 'countersign-cache-'));
const PUSHING = {
  console: {
    push: 'true',
    withService: 'false',
    proxy: { header: 'x-person', addresses: ['192.0.2.1'], people: [{ name: 'nobody', roles: ['read'] }] },
  },
};
const env = { NODE_COMPILE_CACHE: CACHE };
afterAll(() => rmSync(CACHE, { recursive: true, force: true }));

const inForce = async (): Promise<string> => (await console.store.control()).revision;
const files = { 'payments.yaml': stricter(500), 'others.yaml': OTHERS, 'payments.test.yaml': TESTS };
const check = (given: Files, as = ADA) => sendFiles(console, CHECK, given, { do: 'check' }, as);

/** What the page of a check would send to push. */
async function pushing(given: Files): Promise<Record<string, string>> {
  const page = await check(given);
  return {
    revision: hidden(page, 'revision'),
    expected: hidden(page, 'expected'),
    message: 'less risk',
    confirmation: 'push',
  };
}

describe.each(['embedded', 'redis'] as const)('a candidate on %s', (kind) => {
  let stopRedis = async (): Promise<void> => undefined;
  beforeAll(async () => {
    const redis = kind === 'redis' ? await startRedisServer() : undefined;
    if (redis !== undefined) stopRedis = () => redis.stop();
    console = await startTestConsole({ settings: PUSHING, env, ...(redis && { redis: redis.url }) });
  });
  afterAll(() => stopRedis());
  afterAll(() => console.stop());

  it('begins with the policies in force, which have the revision in force', async () => {
    const { text } = await console.get(CHECK);
    const shown = [...text.matchAll(/name="name"\s+value="([^"]*)".*?<textarea[^>]*>\n(.*?)<\/textarea>/gs)];
    const given = Object.fromEntries(
      shown.map(([, name = '', content = '']) => [
        name,
        content.replaceAll('&quot;', '"').replaceAll('&#39;', "'"),
      ]),
    );
    expect(given).toMatchObject({ 'payments.yaml': PAYMENTS });
    const page = await check(given);
    expect(page.status).toBe(200);
    expect(hidden(page, 'revision')).toBe(await inForce());
    expect(page.text).toContain('This revision is in force already.');
    expect(page.text).toContain('Nothing differs.');
  });

  it('uses the lists of the revision in force that it lacks', async () => {
    const listed = 'policy: l\ncallback: payment\nrules:\n  - deny-list: { of: userId, file: bad.txt }\n';
    const lacking = await check({ 'l.yaml': listed });
    expect(lacking.status).toBe(422);
    const whole = { 'l.yaml': listed, 'bad.txt': '666\n# why\n667\n' };
    const done = await sendFiles(console, PUSH, whole, await pushing(whole));
    expect(done.status).toBe(303);
    const again = await check({ 'l.yaml': listed });
    expect(hidden(again, 'revision')).toBe(await inForce());
  });

  describe('is pushed', () => {
    it('by a person who may operate, as it was shown', async () => {
      const form = await pushing(files);
      const done = await sendFiles(console, PUSH, files, form);
      expect(done).toMatchObject({ status: 303, to: '/console/policies' });
      expect(done.notice).toContain(`→ ${form['revision']?.slice(0, 12)}.`);
      expect(await inForce()).toBe(form['revision']);
      expect((await console.store.history(1))[0]).toMatchObject({ by: 'console:ada', message: 'less risk' });
      expect(await console.pay({ appOrderId: 'afterwards', orderAmount: '501' })).toBe('FAILURE');
    });

    it('not if a list in the store has what nothing can match under it', async () => {
      const change = { source: 'shop', list: 'filled', remove: [], by: 'bob', message: '' };
      await console.store.changeList({ ...change, add: ['666', '667 ; fraud'] });
      const denying = {
        'd.yaml': 'policy: d\ncallback: payment\nrules:\n  - deny-list: { of: userId, list: filled }\n',
      };
      const said = 'shop/filled has a value that no callback can have: 667 ; fraud';
      expect(plain(await check(denying))).toContain(said);
      const before = await inForce();
      const refused = await sendFiles(console, PUSH, denying, await pushing(denying));
      expect([refused.status, plain(refused).includes(said), await inForce()]).toEqual([422, true, before]);
      await console.store.changeList({ ...change, add: [], remove: ['667 ; fraud'] });
      expect((await sendFiles(console, PUSH, denying, await pushing(denying))).status).toBe(303);
    });

    it('not if somebody pushed after the check', async () => {
      const form = await pushing({ ...files, 'payments.yaml': stricter(300) });
      const between = { ...files, 'payments.yaml': stricter(400) };
      expect((await sendFiles(console, PUSH, between, await pushing(between))).status).toBe(303);
      const now = await inForce();
      const page = await sendFiles(console, PUSH, { ...files, 'payments.yaml': stricter(300) }, form);
      expect(page.status).toBe(409);
      expect(page.text).toContain(`${now.slice(0, 12)} is in force since the check`);
      expect(hidden(page, 'expected')).toBe(now);
      expect(await inForce()).toBe(now);
    });
  });

  it('is tried on the recorded callbacks, as policy backtest does', async () => {
    for (const amount of ['20', '350', '400']) {
      expect(await console.pay({ appOrderId: `b-${amount}`, orderAmount: amount })).toBe('SUCCESS');
    }
    const candidate = { ...files, 'payments.yaml': stricter(300) };
    const begun = await sendFiles(console, BACKTEST, candidate, { days: '7' });
    expect(begun).toMatchObject({ status: 303, to: BACKTEST });
    const result = await eventually('the backtest is done', async () => {
      const page = await console.get(BACKTEST, READER);
      return page.text.includes('✓ done') ? page : undefined;
    });
    expect(plain(result)).toMatch(/SUCCESS -> FAILURE\s+2/);
    expect(plain(result)).toContain('2  now refused by  payments/amount-limit#1');
    expect(result.text).toMatch(/<a href="\/console\/decisions\/shop\/[^"]+">shop\//);
    expect(result.text).not.toContain('http-equiv="refresh"');
    // The candidate goes on from there.
    const [, name = ''] = /name="name" value="([^"]*)"/.exec(result.text) ?? [];
    expect(name).toBe('payments.yaml');
  });
});

describe('a candidate', () => {
  beforeAll(async () => {
    console = await startTestConsole({ settings: PUSHING, env });
  });
  afterAll(() => console.stop());

  it('begins empty if a person wants so, and has as many files as a person adds', async () => {
    const empty = await console.get(`${CHECK}?from=empty`);
    expect(empty.text.match(/<textarea/g)).toHaveLength(1);
    const added = await sendFiles(console, CHECK, { 'a.yaml': 'x' }, { do: 'add' });
    expect(added.text.match(/<textarea/g)).toHaveLength(2);
    expect(added.text).not.toContain('Validation');
  });

  it('is validated, tested and compared, and changes nothing', async () => {
    const before = await inForce();
    const page = await check(files, READER);
    expect(page.status).toBe(200);
    expect(plain(page)).toContain('1 test passed.');
    expect(plain(page)).toContain('amount-limit#1 max 1000 -> 500 (stricter)');
    expect(hidden(page, 'expected')).toBe(before);
    expect(await inForce()).toBe(before);
  });

  it('has the revision that the command computes for the same files', async () => {
    const folder = mkdtempSync(`${console.folder}/same-`);
    mkdirSync(`${folder}/tests`);
    writeFileSync(`${folder}/payments.yaml`, files['payments.yaml']);
    writeFileSync(`${folder}/others.yaml`, files['others.yaml']);
    const { revision } = await readPolicyDirectory(folder);
    expect(hidden(await check(files), 'revision')).toBe(revision);
    rmSync(folder, { recursive: true });
  });

  it('with faults has all of them, each with its place and its fix', async () => {
    const page = await check({
      'payments.yaml':
        'policy: payments\ncallback: payment\nrules:\n  - amount-limt: { max: 1 }\n  - pass: { x: 1 }\n',
      'payments.test.yaml': 'tests:\n  - test: x\n',
    });
    expect(page.status).toBe(422);
    expect(plain(page)).toContain('payments.yaml:4:5: rules[0].amount-limt');
    expect(plain(page)).toContain('did you mean amount-limit?');
    expect(plain(page)).toMatch(/payments\.yaml:5:\d+: /);
    expect(plain(page)).toContain('payments.test.yaml:2:');
    expect(page.text).not.toContain('formaction');
  });

  it.each([
    [{}, 'There is no file.'],
    [{ '': PAYMENTS }, 'File 1 has no name.'],
    [{ ['x'.repeat(4096)]: PAYMENTS }, 'is too long'],
    [Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`${at}.yaml`, 'x'])), 'There are 51 files.'],
  ])('that no check can read is explained (%#)', async (given, because) => {
    const page = await check(given);
    expect(page.status).toBe(422);
    expect(page.text).toContain(because);
  });

  it.each([CHECK, BACKTEST, PUSH])(
    'with more files than a form may have is refused by %s, and none of them is shown',
    async (path) => {
      const form = new URLSearchParams(Array.from({ length: 20_000 }, () => ['name', 'a']));
      for (let at = 0; at < 20_000; at++) form.append('text', '');
      for (const action of ['add', 'check', 'other']) {
        form.set('do', action);
        const { status, text } = await console.send(path, form);
        expect([path, action, status]).toEqual([path, action, 422]);
        expect(text).toContain('There are 20000 files. Give at most 50');
        expect(text).not.toContain('<textarea');
        expect(text.length).toBeLessThan(20_000);
      }
    },
  );

  it('with as many files as a form may have gets no further one', async () => {
    const most = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${at}.yaml`, 'x']));
    const page = await sendFiles(console, CHECK, most, { do: 'add' });
    expect(page.status).toBe(200);
    expect(page.text.match(/<textarea/g)).toHaveLength(50);
  });

  it('with two files of one name is explained', async () => {
    const { status, text } = await console.send(CHECK, { do: 'check', name: 'a.yaml', text: 'x' });
    expect([status, text.includes('policy')]).toEqual([422, true]);
    const two = new URLSearchParams('do=check&name=a.yaml&text=x&name=a.yaml&text=y');
    const refused = await console.send(CHECK, two);
    expect(refused.status).toBe(422);
    expect(refused.text).toContain('Two files have the name a.yaml.');
  });

  it('is text, whatever it says', async () => {
    const page = await check({ [`${HOSTILE}.yaml`]: HOSTILE, 'a.yaml': `policy: "${HOSTILE}"\n`.repeat(90) });
    expect(page.status).toBe(422);
    expect(page.text).not.toMatch(/<script>|onload='/);
    expect(page.text).toContain('&lt;/textarea&gt;&lt;script&gt;');
  });

  describe('is pushed', () => {
    it('by nobody else', async () => {
      const before = await inForce();
      const other = { ...files, 'payments.yaml': stricter(300) };
      const form = await pushing(other);
      const { status, text } = await sendFiles(console, PUSH, other, form, READER);
      expect([status, text.includes('This needs the role operate')]).toEqual([403, true]);
      const page = await check(other, READER);
      expect(page.text).toContain('You need the role operate to push here.');
      expect(page.text).not.toContain(`formaction="${PUSH}"`);
      expect(await inForce()).toBe(before);
    });

    describe('not with a field', () => {
      const other = { ...files, 'payments.yaml': stricter(300) };
      let form: Record<string, string>;
      beforeAll(async () => {
        form = await pushing(other);
      });

      it.each([
        [{ message: ' ' }, 422, 'The message is empty'],
        [{ message: 'x'.repeat(4096) }, 422, 'longer than 1000'],
        [{ confirmation: '' }, 422, 'Type “push” to confirm'],
        [{ confirmation: HOSTILE, message: HOSTILE }, 422, 'Type “push” to confirm'],
        [{ revision: '' }, 409, 'not those that were checked'],
        [{ revision: 'f'.repeat(64) }, 409, 'not those that were checked'],
        [{ expected: '' }, 409, 'is in force since the check'],
        [{ expected: HOSTILE }, 409, 'is in force since the check'],
      ])('such as %j', async (fields, status, because) => {
        const before = await inForce();
        const page = await sendFiles(console, PUSH, other, { ...form, ...fields });
        expect(page.status).toBe(status);
        expect(page.text).toContain('Nothing was pushed.');
        expect(page.text).toContain(because);
        expect(page.text).not.toContain('<script>');
        expect(await inForce()).toBe(before);
      });
    });

    it('not if its files changed after the check', async () => {
      const before = await inForce();
      const form = await pushing({ ...files, 'payments.yaml': stricter(300) });
      const page = await sendFiles(console, PUSH, { ...files, 'payments.yaml': stricter(999) }, form);
      expect(page.status).toBe(409);
      expect(plain(page)).toContain('-> 999');
      expect(await inForce()).toBe(before);
    });

    it('not with faults, and not if a test fails', async () => {
      const before = await inForce();
      const faulty = { 'a.yaml': 'policy: x' };
      const failing = { ...files, 'payments.yaml': stricter(50) };
      expect((await sendFiles(console, PUSH, faulty, await pushing(faulty))).text).toContain(
        'The files have faults.',
      );
      const page = await sendFiles(console, PUSH, failing, await pushing(failing));
      expect(page.status).toBe(422);
      expect(page.text).toContain('Tests failed.');
      expect(plain(page)).toContain('FAILED  payments.test.yaml:2');
      expect(await inForce()).toBe(before);
    });
  });

  it.each([['0'], ['x'], ['9999'], [HOSTILE], ['-1'], ['1e2']])('is not tried on %j days', async (days) => {
    const page = await sendFiles(console, BACKTEST, files, { days });
    expect(page.status).toBe(422);
    expect(page.text).toContain('The number of days is not between 1 and 3650');
    expect(page.text).not.toContain('<script>');
  });

  it('is tried, and a trial cancelled, only by a person who may operate', async () => {
    expect((await sendFiles(console, BACKTEST, files, { days: '7' }, READER)).status).toBe(403);
    expect((await console.send(`${BACKTEST}/cancel`, {}, READER)).status).toBe(403);
    expect((await console.send(`${BACKTEST}/cancel`, {})).notice).toBe('No backtest was running.');
  });

  it('is tried one at a time, and a trial can be cancelled', async () => {
    expect((await sendFiles(console, BACKTEST, files, { days: '7' })).status).toBe(303);
    const page = await console.get(BACKTEST);
    expect(page.text).toContain('http-equiv="refresh" content="2"');
    expect(page.text).toContain('Cancel it');
    expect((await console.get(BACKTEST, READER)).text).not.toContain('Cancel it');
    const second = await sendFiles(console, BACKTEST, files, { days: '7' });
    // The first may have ended while the second was checked.
    expect([303, 422]).toContain(second.status);
    expect((await console.send(`${BACKTEST}/cancel`, {})).status).toBe(303);
    expect((await console.get(BACKTEST)).text).not.toContain('http-equiv="refresh"');
  });
});

it('is not pushed unless the settings allow it: the page has the command', async () => {
  console = await startTestConsole({ env });
  const page = await check(files);
  const { revision: before } = await console.store.control();
  expect(page.text).toContain(`countersign policy push DIRECTORY --expect ${before.slice(0, 12)}`);
  expect(page.text).not.toContain(`formaction="${PUSH}"`);
  const form = { revision: hidden(page, 'revision'), expected: before, message: 'x', confirmation: 'push' };
  const refused = await sendFiles(console, PUSH, files, form);
  expect([refused.status, refused.text.includes('Set console.push')]).toEqual([422, true]);
  expect((await console.store.control()).revision).toBe(before);
  await console.stop();
});

describe('the process of a candidate', () => {
  beforeAll(async () => {
    console = await startTestConsole({ env });
    await console.pay({ appOrderId: 'one' });
    await console.pay({ appOrderId: 'two' });
  });
  afterAll(() => console.stop());

  const processes = (
    limits: Parameters<typeof createCandidateProcesses>[0]['limits'] = {},
  ): CandidateProcesses =>
    createCandidateProcesses({
      settingsFile: `${console.folder}/settings.yaml`,
      env,
      clock: systemClock,
      log: createLog({ level: 'error' }),
      limits,
    });
  const request = { files: [{ name: 'p.yaml', text: PAYMENTS }], inForce: '', document: '', by: 'rita' };
  const backtest = async () => {
    const { revision, document } = await readPolicyDirectory(`${console.folder}/policies`);
    return { revision, document, files: [], days: 7, by: 'ada' };
  };
  const outcome = (tried: CandidateProcesses) =>
    eventually('the backtest has ended', () => {
      const found = tried.backtest()?.outcome;
      return found?.state === 'running' ? undefined : found;
    });

  it('is bounded in time', async () => {
    const tried = processes({ checkMs: 1, backtestMs: 1 });
    await expect(tried.check(request)).rejects.toThrow(
      /^the check did not answer within 1 ms.*\. Use the command$/,
    );
    tried.startBacktest(await backtest());
    expect(await outcome(tried)).toMatchObject({ state: 'failed' });
    await tried.stop();
  });

  it('is bounded in memory', async () => {
    const tried = processes({ checkMemoryMb: 8, backtestMemoryMb: 9 });
    await expect(tried.check(request)).rejects.toThrow('the check needs more than 8 MiB. Use the command');
    tried.startBacktest(await backtest());
    expect(await outcome(tried)).toEqual({
      state: 'failed',
      because: 'the backtest needs more than 9 MiB. Use the command',
    });
    await tried.stop();
  });

  it('that fails is explained in plain words, and the log says why', async () => {
    const logged: string[] = [];
    const stream = new Writable({
      write(chunk, _encoding, done) {
        logged.push(String(chunk));
        done();
      },
    });
    const tried = createCandidateProcesses({
      settingsFile: `${console.folder}/settings.yaml`,
      env: { ...env, NODE_OPTIONS: '--require=/no-such-module-of-mine' },
      clock: systemClock,
      log: createLog({ level: 'error', stream }),
    });
    tried.startBacktest(await backtest());
    expect(await outcome(tried)).toEqual({
      state: 'failed',
      because: 'The backtest failed. The log of the service says why',
    });
    expect(logged).toHaveLength(1);
    expect(JSON.parse(logged[0] ?? '')).toMatchObject({
      event: 'console-backtest-failed',
      because: expect.stringContaining('no-such-module-of-mine') as string,
    });
    await tried.stop();
  });

  it('reads a bounded journal', async () => {
    const tried = processes({ entriesMax: 1 });
    tried.startBacktest(await backtest());
    expect(await outcome(tried)).toEqual({
      state: 'failed',
      because:
        'the journal has 2 entries, and the console reads at most 1. Run `countersign policy backtest`, ' +
        'which has no such limit',
    });
    await tried.stop();
  });

  it('does one check at a time, in turns: who starts many of them keeps nobody else from a check', async () => {
    const tried = processes();
    const ended: string[] = [];
    const checkedBy = async (by: string): Promise<object> => {
      const checked = await tried.check({ ...request, by });
      ended.push(by);
      return checked;
    };
    const checks = [checkedBy('rita'), checkedBy('rita'), checkedBy('rita')];
    const busy = '2 checks of candidates of yours are waiting. Try again in a second';
    await expect(checkedBy('rita')).rejects.toMatchObject({ code: 'BUSY', message: busy });
    checks.push(checkedBy('ada'));
    for (const each of await Promise.all(checks)) expect(each).toMatchObject({ valid: true });
    expect(ended).toEqual(['rita', 'rita', 'ada', 'rita']);
    await tried.stop();
  });

  it('of a backtest is cancelled by whoever asks first, and then another may begin', async () => {
    const tried = processes();
    tried.startBacktest(await backtest());
    const other = await backtest();
    expect(() => tried.startBacktest(other)).toThrow('ada runs a backtest. Wait for its end, or cancel it');
    expect(tried.cancelBacktest('bob')).toBe(true);
    expect(tried.cancelBacktest('eve')).toBe(false);
    expect(tried.backtest()?.outcome).toEqual({ state: 'cancelled', by: 'bob' });
    await eventually('the process has ended', () => {
      try {
        tried.startBacktest(other);
        return true;
      } catch {
        return undefined;
      }
    });
    expect(await outcome(tried)).toMatchObject({ state: 'done' });
    await tried.stop();
  });

  it('ends with the service', async () => {
    const tried = processes();
    const checking = tried.check(request).catch(messageOf);
    tried.startBacktest(await backtest());
    await tried.stop();
    expect(await checking).toBe('the check was stopped');
    expect(tried.backtest()?.outcome).toEqual({ state: 'failed', because: 'the backtest was stopped' });
  });

  it('says why settings can’t be read', async () => {
    const log = createLog({ level: 'error' });
    const tried = createCandidateProcesses({ settingsFile: '/none.yaml', env, clock: systemClock, log });
    await expect(tried.check(request)).rejects.toThrow('/none.yaml');
    await tried.stop();
  });

  it('compares two documents in the words of policy diff', async () => {
    const tried = processes();
    const { document } = await readPolicyDirectory(`${console.folder}/policies`);
    expect(await tried.diff({ before: document, after: document, by: 'ada' })).toBe('Nothing differs.');
    await expect(tried.diff({ before: '{', after: document, by: 'ada' })).rejects.toThrow(
      "a stored release can't be read",
    );
    await tried.stop();
  });
});
