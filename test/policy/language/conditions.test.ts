import { describe, expect, it } from 'vitest';
import type { Callback } from '../../../src/callback/callback.ts';
import {
  A,
  B,
  NOON,
  type MoreFacts,
  evaluateAt,
  faultsOf,
  outputs,
  payment,
  pricesOf,
  release,
  transfer,
  web3,
} from '../callbacks.ts';

const PASS = 'pass: { because: nothing else is asked }';
const VIPS = { 'vips.txt': '12345\n777 # a comment\n' };

function policyWhen(when: string, kind: string, rule = PASS): string {
  return `policy: one\ncallback: ${kind}\nwhen: ${when}\nrules:\n  - ${rule}\n`;
}

function ruleWhen(when: string, kind: string): string {
  return `policy: one\ncallback: ${kind}\nrules:\n  - ${PASS}\n    when: ${when}\n`;
}

const PRICED: MoreFacts = { prices: pricesOf({ USDT1742: '1', BTC: '100000' }) };
const HOUR_MS = 3_600_000;

/** Whether each condition is met, for a policy and for a rule alike. */
const STATES: readonly (readonly [when: string, callback: Callback, met: boolean, facts: MoreFacts])[] = (
  [
    // payment() is 100 USDT1742 for the user 12345 from shop.
    ['{ amount: { above: 99.999999999999999999 } }', payment(), true],
    ['{ amount: { above: 100 } }', payment(), false],
    ['{ amount: { atLeast: 100 } }', payment(), true],
    ['{ amount: { atLeast: 100.000000000000000001 } }', payment(), false],
    ['{ amount: { atMost: 100 } }', payment(), true],
    ['{ amount: { atMost: 99.9 } }', payment(), false],
    ['{ amount: { below: 100 } }', payment(), false],
    ['{ amount: { below: 100.1 } }', payment(), true],
    ['{ amount: { above: 50, atMost: 100 } }', payment(), true],
    ['{ orderAmount: { above: 50, atMost: 99 } }', payment(), false],
    ['{ amount: { above: 1000 } }', web3({ amount: '-1' }), true],
    ['{ amount: { atMost: 1000 } }', web3({ amount: '-1' }), false],
    ['{ not: { amount: { above: 1000 } } }', web3({ amount: '-1' }), false],
    ['{ userId: { file: vips.txt } }', payment(), true],
    ['{ userId: { file: vips.txt } }', payment({ userId: '778' }), false],
    ['{ not: { userId: { file: vips.txt } } }', payment({ userId: '778' }), true],
    ['{ not: { userId: [12345, 777] } }', payment(), false],
    ['{ not: { userId: [1, 2] } }', payment(), true],
    ['{ not: { userId: 12345, symbol: BTC } }', payment(), true],
    ['{ not: { userId: 12345, symbol: USDT1742 } }', payment(), false],
    ['{ not: { not: { userId: 12345 } } }', payment(), true],
    ['{ scheme: rsa }', payment(), true, { scheme: 'rsa' }],
    ['{ scheme: [md5, rsa-envelope] }', payment(), false, { scheme: 'rsa' }],
    ['{ value: { above: 99, maxAge: 10m } }', payment(), true, PRICED],
    ['{ value: { above: 100, maxAge: 10m } }', payment(), false, PRICED],
    ['{ value: { atMost: 100, maxAge: 10m } }', payment(), true, PRICED],
    ['{ value: { atLeast: 10000000, maxAge: 10m } }', payment({ payCoinSymbol: 'BTC' }), true, PRICED],
    ['{ during: { zone: UTC, hours: 11:00-13:00 } }', payment(), true],
    ['{ during: { zone: UTC, hours: 22:00-06:00 } }', payment(), false],
    ['{ not: { during: { zone: UTC, hours: 22:00-06:00 } } }', payment(), true],
    ['{ pending_round: true }', transfer({ pending_round: true }), true],
    ['{ pending_round: false }', transfer({ pending_round: true }), false],
    [`{ to: ${A} }`, transfer({ to: A }), true],
    [`{ not: { to: ${B} } }`, transfer({ to: A }), true],
  ] as const
).map(([when, callback, met, facts = {}]) => [when, callback, met, facts]);

/** What is not known: a member or a price is missing, or too old. `not` of it is not known either. */
const UNKNOWN: readonly (readonly [when: string, callback: Callback, because: string, facts: MoreFacts])[] = (
  [
    ['{ memo: x }', transfer(), 'memo is missing'],
    ['{ not: { memo: x } }', transfer(), 'memo is missing'],
    ['{ memo: { file: vips.txt } }', transfer(), 'memo is missing'],
    ['{ value: { above: 1, maxAge: 10m } }', payment(), 'there is no price for USDT1742'],
    ['{ not: { value: { above: 1, maxAge: 10m } } }', payment(), 'there is no price for USDT1742'],
    [
      '{ value: { above: 1, maxAge: 1m } }',
      payment(),
      'is older than 1m',
      { prices: pricesOf({ USDT1742: ['1', NOON - 60_001] }) },
    ],
    [
      '{ value: { above: 1, maxAge: 1m } }',
      payment(),
      'is dated in the future',
      { prices: pricesOf({ USDT1742: ['1', NOON + 60_001] }) },
    ],
    ['{ scheme: rsa }', payment(), 'its scheme is not known'],
  ] as const
).map(([when, callback, because, facts = {}]) => [when, callback, because, facts]);

describe('a condition of a policy', () => {
  it.each(STATES)('%s', (when, callback, met, facts) => {
    const proposal = evaluateAt(release(policyWhen(when, callback.kind), VIPS), callback, NOON, facts);
    const refusal = met ? undefined : 'NO_POLICY';
    expect(proposal).toMatchObject({ approves: met, refusal });
    expect(proposal.results).toHaveLength(met ? 1 : 0);
  });

  it.each(UNKNOWN)(
    '%s is not known, so the policy applies and covers nothing',
    (when, callback, because, facts) => {
      const passing = evaluateAt(release(policyWhen(when, callback.kind), VIPS), callback, NOON, facts);
      expect(passing).toMatchObject({ approves: false, refusal: 'NO_POLICY' });
      expect(passing.results[0]).toMatchObject({ rule: 'when', mode: 'observe', verdict: 'refuse' });
      expect(passing.results[0]?.because).toContain(because);
      const refusing = release(policyWhen(when, callback.kind, 'amount-limit: { max: 0.01 }'), VIPS);
      expect(evaluateAt(refusing, callback, NOON, facts)).toMatchObject({
        approves: false,
        refusal: undefined,
      });
    },
  );

  it('of which one is not met does not apply, whatever is not known beside it', () => {
    const when = '{ value: { above: 1, maxAge: 10m }, amount: { above: 1000 } }';
    expect(evaluateAt(release(policyWhen(when, 'payment')), payment(), NOON).results).toEqual([]);
  });

  it.each(['{ to: [A] }', '{ not: { to: [A] } }', '{ to: { file: listed.txt } }'])(
    'that some outputs meet and others do not refuses: %s',
    (when) => {
      const yaml = policyWhen(when.replace('A', A), 'transfer');
      const callback = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });
      const proposal = evaluateAt(release(yaml, { 'listed.txt': A }), callback, NOON);
      expect(proposal).toMatchObject({ approves: false, refusal: undefined });
      expect(proposal.results[0]).toMatchObject({
        rule: 'when',
        verdict: 'refuse',
        values: { member: 'to' },
      });
    },
  );
});

describe('a condition of a rule', () => {
  it.each(STATES)('%s', (when, callback, met, facts) => {
    const proposal = evaluateAt(release(ruleWhen(when, callback.kind), VIPS), callback, NOON, facts);
    expect(proposal).toMatchObject({ approves: met, refusal: met ? undefined : 'NO_POLICY' });
  });

  it.each(UNKNOWN)(
    '%s is not known, so the rule judges and covers nothing',
    (when, callback, because, facts) => {
      const proposal = evaluateAt(release(ruleWhen(when, callback.kind), VIPS), callback, NOON, facts);
      expect(proposal).toMatchObject({ approves: false, refusal: 'NO_POLICY' });
      expect(proposal.results.map(({ rule, verdict }) => [rule, verdict])).toEqual([
        ['pass#1', 'refuse'],
        ['pass#1', 'pass'],
      ]);
      expect(proposal.results[0]?.because).toContain(because);
    },
  );

  it('that is not met takes only its own rule away', () => {
    const yaml = `policy: one
callback: payment
rules:
  - amount-limit: { max: 1 }
    when: { userId: 999 }
  - amount-limit: { max: 1000 }
`;
    expect(evaluateAt(release(yaml), payment(), NOON)).toMatchObject({ approves: true });
    expect(evaluateAt(release(yaml), payment({ userId: '999' }), NOON)).toMatchObject({ approves: false });
  });

  it('of a rule that only observes covers nothing', () => {
    const yaml = `policy: one\ncallback: payment\nrules:\n  - ${PASS}\n    when: { symbol: USDT1742 }\n    mode: observe\n`;
    expect(evaluateAt(release(yaml), payment(), NOON)).toMatchObject({
      approves: false,
      refusal: 'NO_POLICY',
    });
  });

  it('that is over keeps no refusal: the proposal is valid only as long as the condition is', () => {
    const yaml = `policy: one
callback: payment
rules:
  - pass: { because: by day }
  - amount-limit: { max: 10 }
    when: { during: { zone: UTC, hours: 11:00-13:00 } }
`;
    expect(evaluateAt(release(yaml), payment(), NOON)).toMatchObject({
      approves: false,
      retryable: true,
      validFromMs: NOON - HOUR_MS,
      validUntilMs: NOON + HOUR_MS,
    });
    expect(evaluateAt(release(yaml), payment(), NOON + HOUR_MS)).toMatchObject({
      approves: true,
      validFromMs: NOON + HOUR_MS,
    });
  });

  it('that looks at a price binds the decision to the prices, met or not', () => {
    const yaml = ruleWhen('{ value: { above: 1000, maxAge: 10m } }', 'payment');
    expect(evaluateAt(release(yaml), payment(), NOON, PRICED)).toMatchObject({ prices: 1, retryable: true });
  });

  it('gives the rule a count of its own', () => {
    const yaml = `policy: one
callback: payment
when: { symbol: USDT1742 }
rules:
  - window-limit: { max: 1000, window: day }
  - window-limit: { max: 100, window: day }
    when: { during: { zone: UTC, hours: 11:00-13:00 } }
`;
    const { claims } = evaluateAt(release(yaml), payment(), NOON);
    expect(new Set(claims.map((claim) => 'key' in claim && claim.key)).size).toBe(2);
  });
});

describe('a fault in a condition', () => {
  it.each([
    ['{ amount: {} }', 'the range has no bound'],
    ['{ amount: { above: 1, atLeast: 2 } }', 'above and atLeast are both given'],
    ['{ amount: { below: 1, atMost: 2 } }', 'below and atMost are both given'],
    ['{ amount: { above: 5, below: 5 } }', 'no amount is in the range'],
    ['{ amount: { above: 5, atMost: 5 } }', 'no amount is in the range'],
    ['{ amount: { atLeast: 6, atMost: 5 } }', 'no amount is in the range'],
    ['{ amount: { above: 1e3 } }', 'when.amount.above: "1e3" is not valid'],
    ['{ amount: { over: 1 } }', '"over" is not known here'],
    ['{ value: { above: 1 } }', 'maxAge is missing'],
    ['{ value: 5 }', 'when.value: "5" is not valid; write a mapping of above'],
    ['{ during: { zone: Mars/Base, hours: 09:00-10:00 } }', '"Mars/Base" is not a time zone'],
    ['{ during: { zone: UTC } }', 'it has neither days, hours nor holidays'],
    ['{ not: {} }', 'it has no conditions'],
    ['{ not: x }', '"x" is not valid'],
    ['{ not: { not: { not: { not: { not: { userId: 1 } } } } } }', 'more than 4 `not` in one another'],
    ['{ not: { usrId: 1 } }', 'no member "usrId"'],
    ['{ constructor: 1 }', 'no member "constructor"'],
    ['{ toString: 1 }', 'no member "toString"'],
    ['{ userId: { file: gone.txt } }', 'there is no file gone.txt'],
    ['{ userId: { file: bad.txt } }', `userId can't be "x"`],
    ['{ scheme: RSA! }', 'write a scheme, like md5'],
    ['{ userId: 1, not: { userId: x } }', '"x" is not valid'],
  ])('%s', (when, message) => {
    for (const yaml of [policyWhen(when, 'payment'), ruleWhen(when, 'payment')]) {
      const faults = faultsOf(yaml, { 'bad.txt': 'x' });
      expect(faults).toHaveLength(1);
      expect(faults[0]).toContain(message);
    }
  });

  it('a scheme is no condition of a co-signer, whose callbacks are not signed', () => {
    expect(faultsOf(policyWhen('{ scheme: rsa }', 'transfer'))[0]).toContain('has no member "scheme"');
  });
});
