import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openEmbeddedStore } from '../../../src/store/embedded/open.ts';
import { POLICIES } from '../../service.ts';
import { NOBODY_NOTED, type Place, place, prints, reports, runCall } from '../terminal.ts';

const FAULTY = `policy: payments
callback: payment
rules:
  - amount-limit: { max: 1e4 }
  - amount-limt: { max: 10 }
`;

const LIMIT_TEST = `tests:
  - test: a payment of 1500 is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '1', payCoinSymbol: USDT1742, orderAmount: '1500' }
        expect: { verdict: FAILURE, rule: amount-limit#1 }
`;

/** A folder whose policies are in force. */
async function pushed(): Promise<Place & { readonly revision: string }> {
  const at = place();
  const { code, json } = await at.run`policy push --message first --json`;
  expect(code).toBe(0);
  return { ...at, revision: z.object({ revision: z.string() }).parse(json()).revision };
}

const changed = (max: number): string => POLICIES['payments.yaml'].replace('max: 1000 ', `max: ${max} `);

describe('policy validate', () => {
  it('with --json gives the faults as data', async () => {
    const { run, write } = place();
    write('policies/payments.yaml', FAULTY);
    const { code, json } = await run`policy validate --json`;
    expect(code).toBe(1);
    expect(json()).toMatchObject({
      valid: false,
      faults: [
        { file: 'payments.yaml', line: 4, column: 26 },
        { file: 'payments.yaml', line: 5, column: 5 },
      ],
    });
    write('policies/payments.yaml', POLICIES['payments.yaml']);
    expect((await run`policy validate --json`).json()).toMatchObject({
      valid: true,
      policies: 3,
      rules: 6,
      faults: [],
    });
  });

  it('lists all faults of a list file, each with its line', async () => {
    const { run, write } = place();
    const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
    const wrong = address.replace('BeAed', 'BeAeD');
    write('policies/assets.yaml', 'assets: { ETH: { chain: evm, decimals: 18 } }\n');
    write('policies/to.txt', `${wrong}\n# fine\n${address}\n0x12\n\n"half\n`);
    write(
      'policies/lists.yaml',
      'policy: lists\ncallback: transfer\nwhen: { source: vault, symbol: ETH }\nrules:\n  - allow-list: { of: to, file: to.txt }\n',
    );
    expect(await run`policy validate`).toMatchObject(
      prints(1, 'to.txt:6:1: the line begins with a quotation mark'),
    );
    write('policies/to.txt', `${wrong}\n# fine\n${address}\n0x12\n`);
    const { code, json } = await run`policy validate --json`;
    expect(code).toBe(1);
    expect(json()).toMatchObject({
      faults: [
        { file: 'to.txt', line: 1, message: expect.stringContaining('checksum is wrong') as string },
        { file: 'to.txt', line: 4, message: expect.stringContaining('0x12') as string },
      ],
    });
  });

  it('names the lists that the store must have, which it does not look at', async () => {
    const { run, write } = place();
    const before = await run`policy validate --json`;
    expect(before.json()).toMatchObject({ valid: true, lists: [] });
    expect((await run`policy validate`).out).not.toContain('list');
    const rule = (list: string): string => `  - deny-list: { of: userId, list: ${list} }\n`;
    const head = 'policy: lists\ncallback: payment\nwhen: { source: shop }\nrules:\n';
    write('policies/lists.yaml', head + rule('blocked'));
    expect((await run`policy validate`).out).toMatch(
      /Revision [0-9a-f]{64}\nThe store must have the list at the push: blocked\. `countersign policy push --dry-run`/,
    );
    write('policies/lists.yaml', head + rule('blocked') + rule('vips') + rule('blocked'));
    const both = await run`policy validate --json`;
    expect(both.json()).toMatchObject({ lists: ['blocked', 'vips'] });
    expect((await run`policy push --dry-run`).err).toContain('shop has no list vips');
  });

  it('needs no settings where a directory is given', async () => {
    const { folder } = place();
    const { code } = await runCall([
      'policy',
      'validate',
      join(folder, 'policies'),
      '--config',
      '/nowhere/s.yaml',
    ]);
    expect(code).toBe(0);
  });

  it('looks at the named files alone, with the list files beside them', async () => {
    const { folder, run, write } = place();
    write('policies/payments.yaml', FAULTY);
    write(
      'policies/lists.yaml',
      'policy: lists\ncallback: payment\nrules:\n  - deny-list: { of: userId, file: users.txt }\n',
    );
    write('policies/users.txt', '1\n2\n');
    const fine = await run`policy validate ${join(folder, 'policies/lists.yaml')}`;
    expect(fine).toMatchObject({ code: 0, err: '' });
    expect(fine.out).toContain('1 policy, 1 rule, no faults');
    const both = await run(
      'policy',
      'validate',
      join(folder, 'policies/lists.yaml'),
      join(folder, 'policies/payments.yaml'),
    );
    expect(both.code).toBe(1);
  });

  it('reads the asset table beside named files, and its faults', async () => {
    const { folder, run, write } = place();
    write(
      'policies/batches.yaml',
      'policy: batches\ncallback: transfer\nwhen: { symbol: BTC }\nrules:\n  - address: { of: to }\n',
    );
    write('policies/assets.yaml', 'assets:\n  BTC: { chain: bitcoin, decimals: 8 }\n');
    const path = join(folder, 'policies/batches.yaml');
    expect(await run`policy validate ${path}`).toMatchObject({ code: 0, err: '' });
    write('policies/assets.yaml', 'assets:\n  BTC: { chain: bitcoin, decimals: x }\n');
    expect((await run`policy validate ${path}`).out).toContain('assets.yaml:2:');
  });

  it('a directory without policies: 1', async () => {
    const { run, write, folder } = place();
    write('empty/readme.txt', '');
    const { code, out } = await run`policy validate ${join(folder, 'empty')}`;
    expect(code).toBe(1);
    expect(out).toContain('there is no policy file');
  });
});

describe('policy push', () => {
  const SAME = POLICIES['payments.yaml'];
  const [LOOSER, STRICTER] = [changed(2000), changed(500)];
  const UNREADABLE = LIMIT_TEST.replace('now', 'then');
  /** A push over `first`, with these files. BEGINNING stands for that of the revision in force. */
  async function push(options: string, payments: string, test: string) {
    const at = await pushed();
    at.write('policies/payments.yaml', payments);
    if (test !== '') at.write('policies/tests/payments.test.yaml', test);
    const beginning = at.revision.slice(0, 8).toUpperCase();
    const words = options.split(' ').filter((word) => word !== '');
    const run = (more: readonly string[] = []) =>
      at.run`policy push ${words.map((word) => word.replace('BEGINNING', beginning))} ${more}`;
    const { code, out, err } = await run();
    const history = (await at.run`policy history --json`).json();
    return {
      code,
      said: out + err,
      history,
      first: { revision: at.revision, message: 'first', by: 'ada' },
      run,
    };
  }

  it.each<[options: string, payments: string, test: string, said: string, entry: object]>([
    [
      '--message raised --by grace',
      LOOSER,
      '',
      '    ~ amount-limit#1 max 1000 -> 2000 (looser)\n',
      { by: 'grace' },
    ],
    ['--message raised', LOOSER, '', 'There are no tests.\n', { message: 'raised', by: 'ada' }],
    ['--message x --expect BEGINNING', LOOSER, '', ', 3 policies, 6 rules.\n', { message: 'x' }],
    ['--message x', changed(900), LIMIT_TEST, '1 test passed.', { message: 'x' }],
    ['--message x --skip-tests', LOOSER, LIMIT_TEST, 'tests were skipped.', { message: 'x (tests skipped)' }],
    ['--yes', LOOSER, '', '(looser)\n', { message: 'no reason given' }],
    ['', STRICTER, '', 'max 1000 -> 500 (stricter)\n', { message: 'no reason given' }],
  ])('%s puts the files in force: 0 %#', async (options, payments, test, text, entry) => {
    const { code, said, history, first } = await push(options, payments, test);
    expect([code, said]).toEqual([0, expect.stringContaining(text)]);
    expect(said).toContain(`In force: ${first.revision.slice(0, 12)} → `);
    expect(history).toMatchObject([
      { ...entry, inForce: true },
      { ...first, inForce: false },
    ]);
  });

  const LOOSENS = '. Give the reason with --message, or push without one with --yes\n';
  it.each<[options: string, payments: string, test: string, code: number, said: string, json: object]>([
    ['--message again', SAME, '', 0, 'is already in force', { pushed: false }],
    ['--message x --expect 0000000000aa', LOOSER, '', 1, 'POLICY_CONFLICT', {}],
    ['--message x --expect none', LOOSER, '', 1, 'POLICY_CONFLICT', {}],
    ['--dry-run --expect 0000000000aa', LOOSER, '', 1, 'POLICY_CONFLICT', {}],
    ['--dry-run --expect none', LOOSER, '', 1, 'POLICY_CONFLICT', {}],
    ['--dry-run --expect BEGINNING', LOOSER, '', 0, 'max 1000 -> 2000 (looser)', { pushed: false }],
    ['--dry-run', LOOSER, '', 0, 'Nothing was pushed.', { pushed: false }],
    ['--dry-run --message x', LOOSER, LIMIT_TEST, 1, 'a payment of 1500 is refused', { pushed: false }],
    ['--message x', FAULTY, '', 1, 'payments.yaml:5:5', { error: { code: 'POLICY_INVALID' } }],
    ['--message x', LOOSER, LIMIT_TEST, 1, 'FAILED  tests/payments.test.yaml:2  a', { tests: { failed: 1 } }],
    ['--message x', changed(900), UNREADABLE, 1, 'tests/payments.test.yaml:3:5', {}],
    ['', LOOSER, '', 2, `may loosen payments/amount-limit#1${LOOSENS}`, { error: { code: 'USAGE' } }],
    ['', SAME.replace('[userId]', '[symbol]'), '', 2, `payments/window-limit#2${LOOSENS}`, {}],
    ['', SAME.replace('24h', '12h'), '', 2, `payments/window-limit#2${LOOSENS}`, {}],
  ])('%s pushes nothing: %#', async (options, payments, test, code, text, json) => {
    const { said, history, first, run, ...ran } = await push(options, payments, test);
    expect([ran.code, said]).toEqual([code, expect.stringContaining(text)]);
    expect(history).toMatchObject([{ ...first, inForce: true }]);
    expect((await run(['--json'])).json()).toMatchObject(json);
  });

  it('with --json says what it changed', async () => {
    const { run, write } = await pushed();
    write('policies/payments.yaml', STRICTER);
    expect((await run`policy push --json`).json()).toMatchObject({
      pushed: true,
      tests: { passed: 0 },
      diff: { same: false, policies: [{ policy: 'payments' }] },
    });
    write('policies/payments.yaml', LOOSER);
    const { json } = await run`policy push --json`;
    expect(json()).toMatchObject({ error: { data: { loosens: ['payments/amount-limit#1'] } } });
  });

  it('warns of what the policies need and there is not, before it puts them in force', async () => {
    const { run } = place({
      policies: {
        'a.yaml': `policy: a\ncallback: payment\nwhen: { source: shp }\nrules:\n  - deny-list: { of: userId, list: blokked }\n`,
        'b.yaml': `policy: b\ncallback: payment\nrules:\n  - deny-list: { of: userId, list: blokked }\n  - ask: { service: rsk }\n`,
      },
    });
    await run`list add --create blocked 1 --source shop`;
    const dry = await run`policy push --dry-run`;
    expect(dry.code).toBe(0);
    expect(dry.err).toContain('a is for callbacks of shp, which is not a source of the settings');
    expect(dry.err).toContain('shop has no list blokked');
    expect(dry.err).toContain('did you mean blocked?');
    expect(dry.err).toContain('b calls the service rsk');
    const done = await run`policy push --message x`;
    expect(done.code).toBe(0);
    expect(done.err.replace(/No service runs .*\n$/, '')).toBe(dry.err);
  });

  it('without a reason of the first policies: 2, since they approve what was refused', async () => {
    const { run } = place();
    const { code, err } = await run`policy push`;
    expect(code).toBe(2);
    expect(err).toContain('the push may loosen policy payments, policy transfers, policy web3. Give');
    expect((await run`policy history --json`).json()).toEqual([]);
    expect(await run`policy push --message x --expect none`).toMatchObject({ code: 0, err: NOBODY_NOTED });
    expect((await run`policy history --limit 1 --json`).json()).toHaveLength(1);
  });

  it('asks a person at a terminal before it loosens, and only then', async () => {
    const { runWith, run, write, revision } = await pushed();
    const asked: string[] = [];
    const answering = (answer: boolean) =>
      runWith({
        confirm: (question) => {
          asked.push(question);
          return Promise.resolve(answer);
        },
      });
    write('policies/payments.yaml', changed(2000));
    expect(await answering(false)('policy', 'push')).toMatchObject({ code: 1, out: 'Nothing was pushed.\n' });
    expect(await answering(true)('policy', 'push', '--json')).toMatchObject({ code: 2 });
    expect((await run`policy show --json`).json()).toMatchObject({ revision });
    expect(asked).toEqual(['The push may loosen payments/amount-limit#1. Push?']);
    const { code, err } = await answering(true)('policy', 'push');
    expect(code).toBe(0);
    expect(err).toContain('max 1000 -> 2000 (looser)\n');
    expect(asked).toHaveLength(2);
    write('policies/payments.yaml', changed(500));
    expect(await answering(false)('policy', 'push')).toMatchObject({ code: 0 });
    write('policies/payments.yaml', changed(3000));
    expect(await answering(false)('policy', 'push', '--message', 'x')).toMatchObject({ code: 0 });
    expect(asked).toHaveLength(2);
  });

  it('mends a store whose revision in force is no release', async () => {
    const { run, folder } = place();
    const store = await openEmbeddedStore({ path: join(folder, 'store.db') });
    await store.push({ revision: 'ab'.repeat(32), document: 'torn', expected: '', by: 'x', message: 'y' });
    await store.close();
    expect(await run`policy push`).toMatchObject(
      reports(2, 'may loosen the policies, since the difference is not known'),
    );
    const { code, out } = await run`policy push --message mended`;
    expect(code).toBe(0);
    expect(out).toContain('The difference is not known');
  });

  it('goes through although what the policies need can’t be looked at, and says so', async () => {
    const values = 'policy: a\ncallback: payment\nrules:\n  - value-limit: { max: 1, maxAge: 10m }\n';
    const { run, folder } = place({ policies: { 'a.yaml': values } });
    await run`prices set BTC 1`;
    const database = new DatabaseSync(join(folder, 'store.db'));
    database.exec("UPDATE price SET price = 'torn'");
    database.close();
    const { code, err } = await run`policy push --message mended`;
    expect(code).toBe(0);
    expect(err).toContain('Warning: the column price of the store does not hold an amount');
  });

  it('says so if all is frozen', async () => {
    const { run } = place();
    await run`freeze ${'keys may have leaked'}`;
    const { code, err } = await run`policy push --message x`;
    expect(code).toBe(0);
    expect(err).toMatch(/countersign unfreeze`[^]*f1 by ada: keys may have leaked/);
  });
});

describe('policy show', () => {
  it('shows policies that could be written so: they have the same revision', async () => {
    const { run, write, folder, revision } = await pushed();
    const { code, out } = await run`policy show`;
    expect(code).toBe(0);
    expect(out).toContain(`# revision ${revision}, in force\n`);
    expect(out).toContain('by ada: first\n');
    write('shown/all.yaml', out);
    const again = await run`policy validate ${join(folder, 'shown')} --json`;
    expect(again.json()).toMatchObject({ valid: true, revision, policies: 3, rules: 6 });
  });

  it('shows an old revision by the beginning of its name, and who put it in force', async () => {
    const { run, write, revision } = await pushed();
    write('policies/payments.yaml', changed(2000));
    await run`policy push --message second --by grace`;
    const old = (await run`policy show ${revision.slice(0, 6)} --json`).json();
    expect(old).toMatchObject({ revision, inForce: false, by: 'ada', message: 'first', frozen: [] });
    const text = await run`policy show ${revision.slice(0, 6)}`;
    expect(text.out).toContain(`# revision ${revision}\n`);
    expect(text.out).toContain('max: 1000\n');
    expect((await run`policy show`).out).toContain('max: 2000\n');
  });

  it('says that all is frozen, by whom and why, in a line that nobody can break', async () => {
    const { run } = await pushed();
    await run`freeze ${'keys\nleaked\u001b[2J'} --by grace`;
    const { out } = await run`policy show`;
    expect(out).toContain(
      '# FROZEN since 2025-06-15T12:00:00.000Z as f2 by grace: keys\\u{a}leaked\\u{1b}[2J\n',
    );
  });
});

describe('policy rollback', () => {
  it('puts an old revision in force again, as a push of its own', async () => {
    const { run, write, revision } = await pushed();
    write('policies/payments.yaml', changed(2000));
    await run`policy push --message second`;
    const { code, out } = await run`policy rollback ${revision.slice(0, 5)} --message ${'too high'}`;
    expect(code).toBe(0);
    const change = '~ policy payments\n    ~ amount-limit#1 max 2000 -> 1000 (stricter)\n';
    expect(out.startsWith(change)).toBe(true);
    expect(out.slice(change.length)).toMatch(
      new RegExp(`^In force: [0-9a-f]{12} → ${revision.slice(0, 12)}\\.\n$`),
    );
    expect((await run`policy history --json`).json()).toMatchObject([
      { sequence: 3, revision, message: 'too high', inForce: true },
      { sequence: 2, inForce: false },
      { sequence: 1, revision, inForce: false },
    ]);
  });

  it('to what is in force: 2, and nothing is pushed', async () => {
    const { run, revision } = await pushed();
    expect(await run`policy rollback ${revision} --message x`).toMatchObject(
      reports(2, 'is in force already; name an older one'),
    );
    expect((await run`policy history --json`).json()).toHaveLength(1);
  });
});
