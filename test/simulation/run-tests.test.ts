import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatFault } from '../../src/policy/fault.ts';
import type { Release } from '../../src/policy/release.ts';
import { readTestFiles } from '../../src/policy/suite/read.ts';
import type { PolicyTest } from '../../src/policy/suite/suite.ts';
import { type CallbackResult, type TestReport, runTests } from '../../src/simulation/run-tests.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { place } from '../cli/terminal.ts';
import { A, B, release } from '../policy/callbacks.ts';

function testsOf(yaml: string): readonly PolicyTest[] {
  const read = readTestFiles([{ name: 'a.test.yaml', text: yaml }]);
  if (!read.ok) throw new Error(read.faults.map(formatFault).join('\n'));
  return read.tests;
}

/** One test, of these callbacks, a line each. */
function run(policies: Release, callbacks: readonly string[], given = '{}'): TestReport {
  const yaml = `tests:
  - test: it
    now: 2026-03-02T10:00:00Z
    given: ${given}
    callbacks:
${callbacks.map((callback) => `      - ${callback}\n`).join('')}`;
  return runTests(policies, testsOf(yaml));
}

function only(report: TestReport): CallbackResult {
  const [first] = report.tests.flatMap(({ callbacks }) => callbacks);
  if (first === undefined) throw new Error('no callback was run');
  return first;
}

const payments = (...rules: readonly string[]): Release =>
  release(
    `policy: p\ncallback: payment\nwhen: { source: shop, symbol: [USDT1742] }\nrules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`,
  );
const custody = (kind: string, ...rules: readonly string[]): Release =>
  release(
    `policy: p\ncallback: ${kind}\nwhen: { source: vault }\nrules:\n${rules.map((rule) => `  - ${rule}\n`).join('')}`,
  );
const pay = (id: string, amount: string, expected: string, more = ''): string =>
  `{ source: shop, payment: { appOrderId: ${id}, userId: 12345, payCoinSymbol: USDT1742, orderAmount: ${amount} }, expect: ${expected}${more} }`;
const withdraw = (members: string, expected: string, more = ''): string =>
  `{ source: vault, transfer: { request_id: r1, from: ${B}, to: ${A}, amount: 1.5, symbol: ETH${members} }, expect: ${expected}${more} }`;
const LIMIT = 'amount-limit: { max: 1000 }';
const WINDOW = 'window-limit: { per: [userId], window: 1h, max: 1500 }';

describe('a test of policies', () => {
  it('passes if all its callbacks come out as it says', () => {
    const report = run(payments(LIMIT, WINDOW), [
      pay('1', '1000', 'SUCCESS'),
      pay('1', '1000', '{ verdict: SUCCESS, code: APPROVED, because: all 2 rules that enforce pass }'),
      pay('2', '1001', '{ verdict: FAILURE, rule: amount-limit#1, values: { amount: 1001, max: 1000 } }'),
      pay(
        '3',
        '501',
        '{ verdict: FAILURE, rule: p/window-limit#2, code: RULE_REFUSED, because: 1000 used and 501 requested }',
      ),
      pay('1', '999', '{ verdict: FAILURE, code: TERMS_CHANGED }'),
      pay('4', '1000', 'SUCCESS', ', after: 2h'),
    ]);
    expect(report).toMatchObject({ passed: 1, failed: 0 });
  });

  it.each([
    ['another verdict', '{ verdict: SUCCESS }', 'expected verdict SUCCESS, found FAILURE'],
    ['another code', '{ verdict: FAILURE, code: NO_POLICY }', 'expected code NO_POLICY, found RULE_REFUSED'],
    [
      'another rule',
      '{ verdict: FAILURE, rule: window-limit#2 }',
      'expected rule window-limit#2, found p/amount-limit#1',
    ],
    [
      'another place',
      '{ verdict: FAILURE, rule: amount-limit#2 }',
      'expected rule amount-limit#2, found p/amount-limit#1',
    ],
    [
      'another policy',
      '{ verdict: FAILURE, rule: q/amount-limit#1 }',
      'expected rule q/amount-limit#1, found p/amount-limit#1',
    ],
    [
      'another value',
      "{ verdict: FAILURE, values: { max: '1000.0' } }",
      'expected value max 1000.0, found 1000',
    ],
    [
      'a value that there is not',
      '{ verdict: FAILURE, values: { used: 1 } }',
      'expected value used 1, found none',
    ],
    [
      'another reason',
      '{ verdict: FAILURE, because: below }',
      'expected because "below", found "p/amount-limit#1 refuses',
    ],
  ])('fails for %s, and says what was found and what each rule said', (_, expected, difference) => {
    const report = run(payments(LIMIT, WINDOW), [pay('1', '1001', expected)]);
    expect(report).toMatchObject({ passed: 0, failed: 1 });
    const { differences, rules, line } = only(report);
    expect(differences).toHaveLength(1);
    expect(differences[0]).toContain(difference);
    expect(line).toBe(6);
    expect(rules).toMatchObject([
      { rule: 'amount-limit#1', verdict: 'FAILURE', values: { amount: '1001' } },
      { rule: 'window-limit#2', verdict: 'SUCCESS' },
    ]);
  });

  it('finds nothing of what another left behind', () => {
    const yaml = (name: string): string =>
      `  - test: ${name}\n    now: 2026-03-02T10:00:00Z\n    callbacks:\n      - ${pay('1', '1000', 'SUCCESS')}\n      - ${pay('2', '501', 'FAILURE')}\n`;
    expect(runTests(payments(WINDOW), testsOf(`tests:\n${yaml('one')}${yaml('two')}`))).toMatchObject({
      passed: 2,
    });
  });

  it('may expect a callback to be refused that can not be read', () => {
    const refused =
      '{ source: shop, payment: { appOrderId: 1, userId: x, payCoinSymbol: USDT1742, orderAmount: 1 }, expect: ';
    expect(
      run(payments(LIMIT), [`${refused}{ verdict: FAILURE, code: MEMBER_INVALID, because: userId } }`]),
    ).toMatchObject({ passed: 1 });
    expect(only(run(payments(LIMIT), [`${refused}SUCCESS }`])).found).toMatchObject({
      code: 'MEMBER_INVALID',
    });
    const strange =
      '{ source: shop, payment: { appOrderId: 1, tip: 1 }, expect: { verdict: FAILURE, code: MEMBER_UNKNOWN } }';
    expect(run(payments(LIMIT), [strange])).toMatchObject({ passed: 1 });
  });

  it('has members as they come in: texts, but for a flag, and outputs as a text of JSON', () => {
    const policies = custody('transfer', 'allow-list: { of: pending_round, values: true }');
    expect(run(policies, [withdraw(', pending_round: true', 'SUCCESS')])).toMatchObject({ passed: 1 });
    expect(
      run(policies, [withdraw(', pending_round: maybe', '{ verdict: FAILURE, code: MEMBER_INVALID }')]),
    ).toMatchObject({ passed: 1 });
    const listed = custody('transfer', `allow-list: { of: to, values: ['${A}'] }`);
    const outputs = `, outputs: [{ address_to: ${A}, amount: 1 }, { address_to: ${B}, amount: 0.5 }]`;
    expect(run(listed, [withdraw('', 'SUCCESS')])).toMatchObject({ passed: 1 });
    expect(run(listed, [withdraw(outputs, '{ verdict: FAILURE, rule: allow-list#1 }')])).toMatchObject({
      passed: 1,
    });
    const wrong = `, outputs: [{ address_to: ${A}, amount: 1 }]`;
    expect(run(listed, [withdraw(wrong, '{ verdict: FAILURE, code: OUTPUTS_INVALID }')])).toMatchObject({
      passed: 1,
    });
  });

  it('takes as many outputs as the service', () => {
    const listed = custody('transfer', `allow-list: { of: to, values: ['${A}'] }`);
    const outputs = (count: number): string =>
      `, outputs: [${Array.from({ length: count }, () => `{ address_to: ${A}, amount: ${1.5 / count} }`).join(', ')}]`;
    const settings = loadSettings({ file: join(place().folder, 'settings.yaml'), env: {} });
    expect(settings.public.limits.outputs).toBe(200);
    expect(run(listed, [withdraw(outputs(200), 'SUCCESS')])).toMatchObject({ passed: 1 });
    const many = withdraw(outputs(250), '{ verdict: FAILURE, code: TOO_MANY_OUTPUTS }');
    expect(run(listed, [many])).toMatchObject({ passed: 1 });
    const three = `tests:\n  - { test: it, now: 2026-03-02T10:00:00Z, callbacks: [${withdraw(outputs(3), 'SUCCESS')}] }`;
    expect(runTests(listed, testsOf(three), { outputs: 3 })).toMatchObject({ passed: 1 });
    expect(runTests(listed, testsOf(three), { outputs: 2 })).toMatchObject({ passed: 0 });
  });

  it('leaves out what a co-signer always sends: sign_prepare, and a transfer_id', () => {
    const prepares = custody(
      'transfer',
      'allow-list: { of: type, values: sign_prepare }',
      'allow-list: { of: transfer_id, values: 1 }',
    );
    expect(run(prepares, [withdraw('', 'SUCCESS')])).toMatchObject({ passed: 1 });
    expect(
      run(prepares, [withdraw(', type: sign_start', '{ verdict: FAILURE, rule: allow-list#1 }')]),
    ).toMatchObject({ passed: 1 });
    expect(
      run(prepares, [withdraw(', withdraw_id: 2', '{ verdict: FAILURE, rule: allow-list#2 }')]),
    ).toMatchObject({ passed: 1 });
  });

  it('may be of a sign_success, which no policy judges', () => {
    const report = run(custody('transfer', 'amount-limit: { max: 10 }'), [
      withdraw(', type: sign_success, txid: 0xa1', '{ verdict: FAILURE, code: SIGNED_WITHOUT_APPROVAL }'),
      withdraw(', type: sign_start', 'SUCCESS'),
      withdraw(
        ', type: sign_success, txid: 0xa1',
        '{ verdict: SUCCESS, code: NOTED, because: signed as approved }',
      ),
      withdraw(', type: sign_success, txid: 0xa2', '{ verdict: FAILURE, code: TXID_UNEXPECTED }'),
    ]);
    expect(report).toMatchObject({ passed: 1, failed: 0 });
  });

  it('has the state that it is given: lists, prices, orders and answers', () => {
    const given = `
      lists: { shop: { blocked: ['666', { value: 0xAB, added: 2026-03-02T09:00:00Z }], empty: [] } }
      prices: { USDT1742: { price: 2, asOf: 2026-03-02T09:59:00Z } }
      orders: [{ source: shop, payment: '1', members: { userId: '12345', symbol: USDT1742, amount: '100.0', scheme: rsa }, expires: 2026-03-02T10:00:01Z }]
      answers: { service: { risk: yes }, module: { check: no } }`;
    const scheme = ', scheme: rsa';
    const listed = payments(
      'deny-list: { of: userId, list: blocked }',
      'deny-list: { of: userId, list: empty }',
    );
    expect(run(listed, [pay('1', '1', 'SUCCESS')], given)).toMatchObject({ passed: 1 });
    const refused = '{ verdict: FAILURE, rule: deny-list#1, because: there is no list }';
    expect(run(listed, [pay('1', '1', refused)])).toMatchObject({ passed: 1 });
    const valued = payments('value-limit: { max: 199.99, maxAge: 10m }');
    expect(
      run(
        valued,
        [pay('1', '99', 'SUCCESS'), pay('2', '100', 'FAILURE'), pay('3', '1', 'FAILURE', ', after: 1h')],
        given,
      ),
    ).toMatchObject({ passed: 1 });
    const ordered = payments('expected-order: {}');
    expect(
      run(ordered, [pay('1', '100', 'SUCCESS', scheme), pay('2', '100', 'FAILURE', scheme)], given),
    ).toMatchObject({ passed: 1 });
    expect(run(ordered, [pay('1', '100', 'FAILURE', `${scheme}, after: 1s`)], given)).toMatchObject({
      passed: 1,
    });
    expect(run(payments('ask: { service: risk }'), [pay('1', '1', 'SUCCESS')], given)).toMatchObject({
      passed: 1,
    });
    expect(
      run(payments('ask: { service: risk }'), [pay('1', '1', '{ verdict: FAILURE, rule: ask#1 }')]),
    ).toMatchObject({ passed: 1 });
  });
});

describe('coverage', () => {
  it('tells how often each rule passed and refused', () => {
    const { coverage } = run(payments(LIMIT, WINDOW), [
      pay('1', '1000', 'SUCCESS'),
      pay('2', '400', 'SUCCESS'),
      pay('3', '101', 'FAILURE'),
    ]);
    expect(coverage).toEqual({
      complete: false,
      rules: [
        { rule: 'p/amount-limit#1', mode: 'enforce', passed: 3, refused: 0 },
        { rule: 'p/window-limit#2', mode: 'enforce', passed: 2, refused: 1 },
      ],
    });
  });

  it('is whole once every rule that enforces passed and refused, one that observes aside', () => {
    const policies = payments(LIMIT, '{ deny-list: { of: userId, list: none }, mode: observe }');
    const both = [pay('1', '1000', 'SUCCESS'), pay('2', '1001', 'FAILURE')];
    expect(run(policies, both).coverage.complete).toBe(true);
    expect(run(policies, both.slice(0, 1)).coverage.complete).toBe(false);
    expect(run(policies, both.slice(1)).coverage.complete).toBe(false);
    expect(runTests(policies, []).coverage.complete).toBe(false);
  });

  it('does not count a rule whose claim the store never came to check', () => {
    const { coverage } = run(payments(WINDOW), [pay('1', '1000', 'SUCCESS'), pay('1', '999', 'FAILURE')]);
    expect(coverage.rules).toEqual([{ rule: 'p/window-limit#1', mode: 'enforce', passed: 1, refused: 0 }]);
  });
});
