import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Place, place, prints, reports, runCall } from '../terminal.ts';

const pay = (id: string, amount: string, expected: string): string =>
  `      - source: shop
        payment: { appOrderId: '${id}', userId: '1', payCoinSymbol: USDT1742, orderAmount: '${amount}' }
        expect: ${expected}
`;
const test = (name: string, ...callbacks: readonly string[]): string =>
  `  - test: ${name}\n    now: 2026-03-02T10:00:00Z\n    callbacks:\n${callbacks.join('')}`;
const PASSING = `tests:\n${test('the limit is 1000', pay('1', '1000', 'SUCCESS'), pay('2', '1001', '{ verdict: FAILURE, rule: payments/amount-limit#1 }'))}`;
const FAILING = `tests:\n${test('the limit is 2000', pay('1', '2000', 'SUCCESS'))}${test('another coin is refused', pay('2', '1', 'FAILURE'))}`;

function withTests(files: Readonly<Record<string, string>>): Place {
  const at = place();
  for (const [name, text] of Object.entries(files)) at.write(`policies/tests/${name}`, text);
  return at;
}

describe('policy test', () => {
  it('says how many tests passed, and which rules they did not cover', async () => {
    const { code, out } = await withTests({ 'a.test.yaml': PASSING }).run`policy test`;
    expect(code).toBe(0);
    expect(out).toMatch(/^1 test passed\.\nNot covered by these tests:\n/);
    expect(out).toContain('  never refused  payments/window-limit#2\n');
    expect(out).toContain('  never ran      transfers/amount-limit#1\n');
    expect(out).not.toContain('payments/amount-limit#1');
  });

  it('says of each that failed what was expected and found, and what every rule said: 1', async () => {
    const { code, out } = await withTests({ 'a.test.yaml': PASSING, 'b.test.yaml': FAILING }).run(
      'policy',
      'test',
    );
    expect(code).toBe(1);
    expect(out).toContain(
      'FAILED  tests/b.test.yaml:2  the limit is 2000\n  tests/b.test.yaml:5  shop  payment:1  at 2026-03-02T10:00:00.000Z\n    expected verdict SUCCESS, found FAILURE\n',
    );
    expect(out).toContain(
      '      refuse  payments/amount-limit#1  the amount 2000 is above the maximum 1000 [amount 2000, max 1000]\n',
    );
    expect(out).toContain('      pass    payments/window-limit#2  ');
    expect(out).toContain('2 of 3 tests failed.');
  });

  it('says "not checked" of rules that the store did not check, and "would refuse" of one that observes', async () => {
    const terms = test('terms', pay('1', '10', 'SUCCESS'), pay('1', '20', 'SUCCESS'));
    const at = withTests({ 'a.test.yaml': `tests:\n${terms}${test('limit', pay('2', '20', 'FAILURE'))}` });
    at.write(
      'policies/payments.yaml',
      'policy: payments\ncallback: payment\nrules:\n' +
        '  - { amount-limit: { max: 15 }, mode: observe }\n  - velocity-limit: { window: 1h, max: 9 }\n',
    );
    const { out } = await at.run`policy test`;
    expect(out).toMatch(/^ {6}not checked +payments\/velocity-limit#2 /m);
    expect(out).toMatch(
      /^ {6}would refuse +payments\/amount-limit#1 +the amount 20 is above the maximum 15 \[/m,
    );
    expect(out).toMatch(/^ {6}pass +payments\/velocity-limit#2 /m);
  });

  it('with --json gives all of it as data', async () => {
    const { code, json } = await withTests({ 'b.test.yaml': FAILING }).run`policy test --json`;
    expect(code).toBe(1);
    expect(json()).toMatchObject({
      passed: 0,
      failed: 2,
      tests: [
        {
          file: 'tests/b.test.yaml',
          test: 'the limit is 2000',
          passed: false,
          callbacks: [
            {
              at: '2026-03-02T10:00:00.000Z',
              expected: { verdict: 'SUCCESS' },
              found: { verdict: 'FAILURE', rule: 'payments/amount-limit#1', values: { amount: '2000' } },
              rules: [{ rule: 'amount-limit#1', verdict: 'FAILURE' }, {}],
            },
          ],
        },
        {},
      ],
      coverage: { complete: false },
    });
  });

  it('with --only runs those whose name or file has the text', async () => {
    const { run } = withTests({ 'a.test.yaml': PASSING, 'b.test.yaml': FAILING });
    expect(await run`policy test --only ${'is 1000'}`).toMatchObject({
      code: 0,
      out: '1 test passed.\n',
    });
    expect(await run`policy test --only a.test`).toMatchObject({ code: 0 });
    expect(await run`policy test --only ${'is 2000'}`).toMatchObject({ code: 1 });
  });

  it('of nothing is no pass: 1', async () => {
    expect(await place().run`policy test`).toMatchObject(prints(1, 'There are no tests in'));
    expect(await withTests({ 'a.test.yaml': PASSING }).run`policy test --only refund`).toMatchObject(
      prints(1, 'No test of'),
    );
  });

  it('with --require-coverage passes only if every rule that enforces passed and refused', async () => {
    const { run, folder, write } = withTests({ 'a.test.yaml': PASSING });
    expect(await run`policy test --require-coverage`).toMatchObject({ code: 1 });
    const small =
      'policy: payments\ncallback: payment\nwhen: { source: shop }\nrules:\n  - amount-limit: { max: 1000 }\n';
    write('small/payments.yaml', small);
    write('small/tests/a.test.yaml', PASSING);
    const whole = await run`policy test ${join(folder, 'small')} --require-coverage`;
    expect(whole).toMatchObject({
      code: 0,
      out: '1 test passed.\nEvery enforced rule passed and refused at least once.\n',
    });
    expect(await run`policy test --require-coverage --only x`).toMatchObject({ code: 2 });
  });

  it('refuses faulty tests and faulty policies: 1', async () => {
    const { run, write } = withTests({ 'a.test.yaml': PASSING.replace('SUCCESS', 'YES') });
    expect(await run`policy test`).toMatchObject(
      reports(1, 'tests/a.test.yaml:7:17: tests[0].callbacks[0].expect: "YES" is not valid'),
    );
    write('policies/payments.yaml', 'policy: [');
    expect(await run`policy test`).toMatchObject({ code: 1 });
  });

  it('needs no settings where a directory is given', async () => {
    const { folder } = withTests({ 'a.test.yaml': PASSING });
    const { code } = await runCall([
      'policy',
      'test',
      join(folder, 'policies'),
      '--config',
      '/nowhere/s.yaml',
    ]);
    expect(code).toBe(0);
  });

  it('shows what tests and callbacks are called so that nothing steers the terminal', async () => {
    const { out } = await withTests({
      'a.test.yaml': FAILING.replace('the limit is 2000', '"limit\\e[2J"'),
    }).run('policy', 'test');
    expect(out).toContain('limit\\u{1b}[2J');
  });
});
