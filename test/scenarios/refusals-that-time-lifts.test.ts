import { describe, expect, it } from 'vitest';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { formatFault } from '../../src/policy/fault.ts';
import { readTestFiles } from '../../src/policy/suite/read.ts';
import { runTests } from '../../src/simulation/run-tests.ts';
import { runOn, stagingOn } from './staged.ts';
import { ASSETS } from '../assets.ts';

const PAYMENT = "userId: '12345', payCoinSymbol: USDT1742";

const policy = (rule: string): string => `policy: limits
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - ${rule}
`;

/**
 * Order 1 uses the limit up; order 2 is refused, comes again at once, and once more when the window has
 * passed.
 */
const comesAgain = (after: string): string => `tests:
  - test: comes again
    now: 2026-03-02T10:00:00Z
    callbacks:
      - { source: shop, payment: { appOrderId: '1', ${PAYMENT}, orderAmount: '100' }, expect: SUCCESS }
      - { source: shop, payment: { appOrderId: '2', ${PAYMENT}, orderAmount: '100' }, expect: FAILURE }
      - { source: shop, payment: { appOrderId: '2', ${PAYMENT}, orderAmount: '100' }, expect: FAILURE }
      - source: shop
        after: ${after}
        payment: { appOrderId: '2', ${PAYMENT}, orderAmount: '100' }
        expect: SUCCESS
`;

/** The same order, asked again after each of the times. */
const asked = (id: string, times: readonly string[], of = PAYMENT): string =>
  times
    .map(
      (after) =>
        `      - { source: shop, after: ${after}, payment: { appOrderId: '${id}', ${of}, orderAmount: '100' }, expect: FAILURE }\n`,
    )
    .join('');

const limits = [
  ['a rolling window limit', 'window-limit: { per: [userId], window: 1h, max: 150 }', '62m'],
  ['a calendar window limit', 'window-limit: { per: [userId], window: day, max: 150 }', '14h'],
  ['a velocity limit', 'velocity-limit: { per: [userId], window: 1m, max: 1 }', '62s'],
] as const;

describe.each(['embedded', 'redis'] as const)('what a limit refused, on %s,', (kind) => {
  const staging = stagingOn(kind);

  /** What came of each callback; the same as `policy test` says. */
  async function outcomes(policies: string, cases: string) {
    const compiled = readPolicyFiles(
      [
        { name: 'limits.yaml', text: policies },
        { name: 'assets.yaml', text: ASSETS },
      ],
      () => undefined,
    );
    if (!compiled.ok) throw new Error(compiled.faults.map(formatFault).join('\n'));
    const read = readTestFiles([{ name: 'limits.test.yaml', text: cases }]);
    if (!read.ok) throw new Error(read.faults.map(formatFault).join('\n'));
    const [test] = read.tests;
    if (test === undefined) throw new Error('there is no test');
    const found = await runOn(await staging(), compiled.release, test);
    const simulated = runTests(compiled.release, [test]).tests[0]?.callbacks.map((each) => each.found);
    expect(simulated).toEqual(found);
    return found;
  }

  it.each(limits)('%s: is decided anew once time has freed the limit', async (_name, rule, after) => {
    const found = await outcomes(policy(rule), comesAgain(after));
    expect(found.map(({ verdict }) => verdict)).toEqual(['SUCCESS', 'FAILURE', 'FAILURE', 'SUCCESS']);
    const name = `limits/${rule.split(':')[0]}#1`;
    for (const refused of found.slice(1, 3)) {
      expect(refused).toMatchObject({ code: 'RULE_REFUSED', rule: name });
      expect(refused.because).toContain(`${name} refuses: `);
    }
  });

  it('a repeat names the rule that stands in the way, not one that would pass by itself', async () => {
    const rules = 'velocity-limit: { window: 1m, max: 1 }\n  - deny-list: { of: userId, list: blocked }';
    const found = await outcomes(
      policy(rules),
      `tests:
  - test: of a user who is on the list, after one who is not
    now: 2026-03-02T10:00:00Z
    given: { lists: { shop: { blocked: ['2'] } } }
    callbacks:
      - { source: shop, payment: { appOrderId: '1', ${PAYMENT}, orderAmount: '1' }, expect: SUCCESS }
${asked('2', ['0s', '0s', '2m'], "userId: '2', payCoinSymbol: USDT1742")}`,
    );
    const rule = ['limits/velocity-limit#1', 'limits/deny-list#2', 'limits/deny-list#2'];
    expect(found.slice(1).map((each) => each.rule)).toEqual(rule);
    for (const repeated of found.slice(2)) {
      expect(repeated.because).toBe('limits/deny-list#2 refuses: userId 2 is on the list blocked');
    }
  });

  it('a list that refuses is named, also if no policy covered the callback at first', async () => {
    const transfer = "{ request_id: r1, from: bc1qfrom, to: bc1qone, amount: '2', symbol: BTC }";
    const again = (after: string): string =>
      `      - { source: vault, after: ${after}, transfer: ${transfer}, expect: FAILURE }`;
    const found = await outcomes(
      `policy: denied
callback: transfer
rules:
  # Without a memo, the rule applies and does not cover.
  - deny-list: { of: to, list: denied }
    when: { memo: '7' }
---
policy: open
callback: transfer
when: { during: { zone: UTC, hours: 11:00-12:00 } }
rules: [{ pass: { because: it is open } }]
`,
      `tests:
  - test: before and while it is open
    now: 2026-03-02T10:00:00Z
    given: { lists: { vault: { denied: [bc1qone] } } }
    callbacks:
${['0s', '0s', '90m'].map(again).join('\n')}
`,
    );
    const refused = { code: 'RULE_REFUSED', rule: 'denied/deny-list#1' };
    for (const each of found) expect(each).toMatchObject(refused);
  });

  it.each([
    ['schedule: { zone: UTC, hours: 10:00-10:30 }', 'amount-limit: { max: 1 }'],
    ['velocity-limit: { window: 1d, max: 1 }', 'deny-list: { of: userId, list: blocked }'],
  ])(
    'alternatives that a push or a list must change are named while %s fails too',
    async (passing, lasting) => {
      const found = await outcomes(
        policy(`any: [{ all: [{ ${passing} }, { ${lasting} }] }]`) +
          '---\n' +
          policy('pass: { because: it may }').replace('limits', 'others'),
        `tests:
  - test: while it is open, and after
    now: 2026-03-02T10:00:00Z
    given: { lists: { shop: { blocked: ['12345'] } } }
    callbacks:
${asked('1', ['0s', '1m'])}      - { source: shop, after: 0s, payment: { appOrderId: '2', userId: '2', payCoinSymbol: USDT1742, orderAmount: '1' }, expect: SUCCESS }
${asked('1', ['0s', '1h'])}`,
      );
      const refused = found.filter(({ verdict }) => verdict === 'FAILURE');
      expect(refused).toHaveLength(4);
      for (const each of refused) expect(each).toMatchObject({ code: 'RULE_REFUSED', rule: 'limits/any#1' });
    },
  );

  it('is decided anew if it was too many claims at that time', async () => {
    const outputs = JSON.stringify(
      Array.from({ length: 200 }, (_, at) => ({ address_to: `bc1q${at}`, amount: '0.01' })),
    );
    const transfer = `{ request_id: r1, from: bc1qfrom, to: bc1q0, amount: '2', symbol: BTC, outputs: '${outputs}' }`;
    const limit = (hours: number): string => `window-limit: { per: [to], window: ${hours}h, max: 5 }`;
    const found = await outcomes(
      `policy: limits
callback: transfer
when: { symbol: BTC }
rules:
${[1, 2, 3, 4, 5].map((hours) => `  - ${limit(hours)}\n`).join('')}
  - any:
      - schedule: { zone: UTC, hours: 11:00-12:00 }
      - ${limit(6)}
`,
      `tests:
  - test: before and while it is open
    now: 2026-03-02T10:00:00Z
    callbacks:
      - { source: vault, transfer: ${transfer}, expect: { verdict: FAILURE, code: TOO_MANY_CLAIMS } }
      - { source: vault, transfer: ${transfer}, after: 90m, expect: SUCCESS }
`,
    );
    expect(found.map(({ code }) => code)).toEqual(['TOO_MANY_CLAIMS', 'APPROVED']);
  });
});
