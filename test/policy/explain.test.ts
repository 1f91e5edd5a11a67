import { describe, expect, it } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { proposalFromJson, proposalToJson } from '../../src/policy/proposal.ts';
import type { ClaimResult } from '../../src/claims/claims.ts';
import { explain, explainBriefly } from '../../src/policy/explain.ts';
import { parseAmount } from '../../src/values/amount.ts';
import { A, B, NOON, evaluateAt, judged, outputs, payment, release, transfer } from './callbacks.ts';

const YAML = `policy: usdt
callback: payment
when: { symbol: USDT1742 }
rules:
  - amount-limit: { max: 1000 }
  - window-limit: { per: [userId], window: 24h, max: 50000 }
  - velocity-limit: { per: [userId], window: day, max: 10 }
  - deny-list: { of: userId, list: blocked-users }
  - amount-limit: { max: 10 }
    mode: observe
`;

const used = (amount: string, holds = true, reserved = '0'): ClaimResult => ({
  type: 'window',
  holds,
  reserved: parseAmount(reserved) ?? 0n,
  used: parseAmount(amount) ?? 0n,
});
const listed = (holds: boolean, present: readonly string[] = [], missing = false): ClaimResult => ({
  type: 'list',
  holds,
  missing,
  present,
});

const proposal = evaluateAt(release(YAML), payment(), NOON);
const refused = evaluateAt(release(YAML), payment({ orderAmount: '1000.5' }), NOON);
const FINE = [used('49900'), used('3'), listed(true)];

describe('an explanation', () => {
  it.each(['APPROVED', 'RULE_REFUSED', 'NO_POLICY', 'FROZEN', 'TERMS_CHANGED'])(
    'of %s is the same in brief',
    (code) => {
      for (const each of [proposal, refused]) {
        for (const claims of [FINE, [used('49950', false), used('3'), listed(true)], []]) {
          const { deciding, because } = explain(each, { code, claims });
          expect(explainBriefly(each, { code, claims })).toMatchObject({ deciding, because });
        }
      }
    },
  );

  it('of an approval has what every rule said', () => {
    const { deciding, because, rules } = explain(proposal, { code: 'APPROVED', claims: FINE });
    expect([deciding, because]).toEqual([undefined, 'approved: all 4 rules that enforce pass']);
    expect(
      rules.map((each) => `${each.policy}/${each.rule} ${each.mode} ${each.verdict} ${each.because}`),
    ).toEqual([
      'usdt/amount-limit#1 enforce SUCCESS the amount 100 is within the limit',
      'usdt/window-limit#2 enforce SUCCESS 49900 used and 100 requested are within the limit of 50000 in 24h',
      'usdt/velocity-limit#3 enforce SUCCESS 3 used and 1 requested are within the limit of 10 in day (UTC)',
      'usdt/deny-list#4 enforce SUCCESS userId 12345 is not on the list blocked-users',
      'usdt/amount-limit#5 observe FAILURE the amount 100 is above the maximum 10',
    ]);
    expect(rules[4]).toMatchObject({ values: { amount: '100', max: '10' }, asked: true });
  });

  it.each([
    [
      [used('49950', false), used('3'), listed(true)],
      'window-limit#2',
      '49950 used and 100 requested are above the limit of 50000 in 24h (100 more for userId 12345 in 24h, of at most 50000)',
    ],
    [
      [used('0'), used('10', false), listed(true)],
      'velocity-limit#3',
      '10 used and 1 requested are above the limit of 10 in day (UTC) (1 more for userId 12345 in day (UTC), of at most 10)',
    ],
    [
      [used('0'), used('0'), listed(false, ['12345'])],
      'deny-list#4',
      'userId 12345 is on the list blocked-users',
    ],
    [
      [used('0'), used('0'), listed(false, [], true)],
      'deny-list#4',
      'there is no list blocked-users; `countersign list show` shows the lists, `countersign list add` creates one',
    ],
    [
      [used('50000', false), used('10', false), listed(false)],
      'window-limit#2',
      '50000 used and 100 requested',
    ],
  ])('of a refusal names the first rule that refused', (claims, rule, because) => {
    const explained = explain(proposal, { code: 'RULE_REFUSED', claims });
    expect(explained.deciding).toMatchObject({ policy: 'usdt', rule });
    expect(explained.deciding?.because).toContain(because);
    expect(explained.because).toBe(`usdt/${rule} refuses: ${explained.deciding?.because}`);
  });

  it('prefers a rule that refused by itself if it comes first', () => {
    const { deciding } = explain(refused, {
      code: 'RULE_REFUSED',
      claims: [used('0', false), used('0'), listed(true)],
    });
    expect(deciding).toEqual({
      policy: 'usdt',
      rule: 'amount-limit#1',
      because: 'the amount 1000.5 is above the maximum 1000',
    });
  });

  it('never names a rule that observes', () => {
    const { deciding, because } = explain(proposal, { code: 'RULE_REFUSED', claims: FINE });
    expect(deciding).toBeUndefined();
    expect(because).toBe(
      'an earlier refusal still applies, until the policies or a list that it depends on change',
    );
  });

  it('says of a claim that was not checked that it was not, and counts it as a failure', () => {
    const { rules, because, deciding } = explain(proposal, { code: 'FROZEN', claims: [] });
    expect(deciding).toBeUndefined();
    expect(because).toBe('approvals are frozen; `countersign unfreeze` resumes approvals');
    expect(rules[1]).toMatchObject({
      verdict: 'FAILURE',
      because: 'the store did not check it: 100 more for userId 12345 in 24h, of at most 50000',
    });
  });

  it('does not take one kind of answer for another', () => {
    const { rules } = explain(proposal, { code: 'APPROVED', claims: [listed(true), used('0'), used('0')] });
    expect(rules[1]?.because).toContain('does not fit the claim');
  });

  it('says what was reserved before', () => {
    const before = (amount: string, holds: boolean) => {
      const claims = [used(amount, holds, '90'), used('1'), listed(true)];
      return explain(proposal, { code: 'APPROVED', claims }).rules[1]?.because;
    };
    expect(before('49900', true)).toBe(
      '49900 used by others and 100 requested are within the limit of 50000 in 24h; it had reserved 90 before',
    );
    expect(before('49950', false)).toBe(
      '49950 used by others and 100 requested are above the limit of 50000 in 24h; it had reserved 90 before ' +
        '(100 more for userId 12345 in 24h, of at most 50000)',
    );
  });

  it.each(['NO_POLICY', 'NOTHING_IN_FORCE', 'TOO_MANY_CLAIMS', 'TERMS_CHANGED'])(
    'has a sentence for %s',
    (code) => {
      const { because, deciding } = explain({ results: [], claims: [] }, { code, claims: [] });
      expect(deciding).toBeUndefined();
      expect(because.length).toBeGreaterThan(30);
    },
  );

  it('does not call a code that it does not know an approval', () => {
    expect(explain({ results: [], claims: [] }, { code: 'QUORUM', claims: [] }).because).toBe(
      'refused: QUORUM',
    );
  });

  it('names the address of a withdrawal to several', () => {
    const yaml =
      'policy: a\ncallback: transfer\nwhen: { symbol: ETH }\nrules:\n  - window-limit: { per: [to], window: 1h, max: 5 }\n  - allow-list: { of: to, list: partners }\n';
    const callback = transfer({ amount: '5', ...outputs([A, '3'], [B, '2']) });
    const both = evaluateAt(release(yaml), callback, NOON);
    const explained = explain(both, {
      code: 'RULE_REFUSED',
      claims: [used('0'), used('4', false), listed(false, [A.toLowerCase()])],
    });
    expect(explained.deciding?.because).toContain(
      `4 used and 2 requested for the address ${B.toLowerCase()} are above the limit of 5 in 1h`,
    );
    expect(explained.rules[1]?.because).toBe(`to ${B.toLowerCase()} is not on the list partners`);
    const half = explain(both, { code: 'RULE_REFUSED', claims: [used('0')] });
    expect(half.rules[0]?.because).toContain('the store did not check it');
    const near = explain(both, { code: 'APPROVED', claims: [used('2'), used('0'), listed(true, [])] });
    expect(near.rules[0]?.because).toContain(`2 used and 3 requested for the address ${A.toLowerCase()}`);
  });
});

describe('an explanation of what the store found', () => {
  /** What the one rule of a policy says, with these answers to its claims. */
  const told = (
    rule: string,
    callback: Parameters<typeof judged>[1],
    ...found: readonly ClaimResult[]
  ): string => {
    const { proposal: asked } = judged(rule, callback, { when: `{ symbol: ${callback.symbol} }` });
    const holds = found.every((each) => each.holds);
    const explained = explain(asked, { code: holds ? 'APPROVED' : 'RULE_REFUSED', claims: found });
    expect(explained.deciding === undefined).toBe(holds);
    return explained.rules[0]?.because ?? '';
  };
  const [a, b] = [A.toLowerCase(), B.toLowerCase()];
  const both = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });

  const COOLING = 'cooling-period: { of: to, list: partners, for: 24h }';
  it.each([
    [true, false, [[a, NOON]], `to ${a} is on the list partners for at least 24h`],
    [
      false,
      true,
      [],
      'there is no list partners; `countersign list show` shows the lists, `countersign list add` creates one',
    ],
    [false, false, [], `to ${a} is not on the list partners`],
    [
      false,
      false,
      [[a, NOON]],
      `to ${a} is on the list partners only since 2024-03-15T12:00:00.000Z, and counts from 2024-03-16T12:00:00.000Z on`,
    ],
  ] as const)('tells of an entry that must be old enough: %s, %s, %j', (holds, missing, added, because) => {
    expect(told(COOLING, transfer(), { type: 'aged', holds, missing, added })).toBe(because);
  });

  it('tells of the entry that is not there, or else of the youngest', () => {
    const found = { type: 'aged', holds: false, missing: false } as const;
    expect(told(COOLING, both, { ...found, added: [[a, NOON]] })).toBe(`to ${b} is not on the list partners`);
    const added = [
      [a, NOON + 1000],
      [b, NOON],
    ] as const;
    expect(told(COOLING, both, { ...found, added })).toContain(`to ${a} is on the list partners only since`);
  });

  const FIRST = 'first-use-limit: { of: to, max: 1, for: 24h }';
  it.each([
    [transfer({ amount: '1' }), true, 0, 'within the limit for a first use'],
    [transfer({ amount: '2' }), true, NOON, 'known: first approved at 2024-03-15T12:00:00.000Z'],
    [
      transfer({ amount: '2' }),
      false,
      0,
      `2 requested, of at most 1 for a first use of to ${a}: never approved before`,
    ],
    [
      transfer({ amount: '2' }),
      false,
      NOON,
      `2 requested, of at most 1 for a first use of to ${a}: first approved at 2024-03-15T12:00:00.000Z, and is new until 2024-03-16T12:00:00.000Z`,
    ],
  ])('tells of a first use: case %#', (callback, holds, markedAtMs, because) => {
    expect(told(FIRST, callback, { type: 'mark', holds, markedAtMs })).toBe(because);
  });

  it('tells of the address that is new', () => {
    const known: ClaimResult = { type: 'mark', holds: true, markedAtMs: NOON };
    expect(told(FIRST, both, known, { type: 'mark', holds: false, markedAtMs: 0 })).toBe(
      `3 requested, of at most 1 for a first use of to ${a} and 1 more; the address ${b} was never approved before`,
    );
    expect(told(FIRST, both, known, known)).toContain('within the limit for a first use for the address');
  });

  it.each([
    ['agrees', [], 'the announced order agrees'],
    ['missing', [], 'no such order was announced; announce it with `countersign orders expect`'],
    ['cancelled', [], 'the announced order was cancelled'],
    ['expired', [], 'the announced order has expired'],
    ['used', [], 'the announced order was used before, by an approval that is no longer kept'],
    [
      'differs',
      ['amount', 'memo'],
      'the callback differs from the announced order in amount 100, memo (none)',
    ],
  ] as const)('tells of an order that %s', (order, differs, because) => {
    const found: ClaimResult = { type: 'order', holds: order === 'agrees', order, differs };
    expect(told('expected-order: {}', payment(), found)).toBe(because);
  });

  const approved = 'what it speeds up was approved at 2024-03-15T12:00:00.000Z';
  it.each([
    [true, NOON, 1, `${approved}, within 24h; speed-up 2 of at most 2`],
    [false, NOON, 1, `${approved}, more than 24h ago`],
    [false, NOON, 2, `${approved}; 2 speed-ups of it are approved, of at most 2`],
    [false, 0, 0, 'there is no approval of what it speeds up'],
    [false, 0, 3, 'there is no approval of what it speeds up'],
  ])('tells of a speed-up: %s, %i, %i', (holds, approvedAtMs, speedUps, because) => {
    const found: ClaimResult = { type: 'speed-up', holds, approvedAtMs, speedUps };
    expect(told('speed-up: { max: 2, within: 24h }', transfer({ pending_round: true }), found)).toBe(because);
  });

  it.each<[string, ClaimResult]>([
    [COOLING, listed(true)],
    [FIRST, used('0')],
    [FIRST, { type: 'aged', holds: true, missing: false, added: [] }],
    [COOLING, { type: 'mark', holds: true, markedAtMs: 1 }],
  ])('does not take one kind of answer for another: %s', (rule, found) => {
    expect(told(rule, transfer(), found)).toContain('does not fit the claim');
  });
});

describe('a proposal in the journal', () => {
  it.each([
    ['with claims', proposal],
    ['that refuses', refused],
    ['with nothing in force', evaluateAt(undefined, payment(), NOON)],
    ['with no policy', evaluateAt(release(YAML), transfer(), NOON)],
  ])('is read back as it was: %s', (_, each) => {
    expect(proposalFromJson(JSON.parse(JSON.stringify(proposalToJson(each))))).toEqual(each);
  });

  it('has amounts as decimal text', () => {
    const text = JSON.stringify(proposalToJson(proposal));
    expect(text).toContain('"amount":"100","max":"50000"');
  });

  it.each([
    ['nothing', undefined],
    ['a text', 'proposal'],
    ['an unknown member', { ...proposalFromJson(proposalToJson(proposal)), score: 1 }],
    [
      'an amount that is none',
      JSON.parse(
        JSON.stringify(proposalToJson(proposal)).replace('"max":"50000","window":{', '"max":"-1","window":{'),
      ) as unknown,
    ],
    [
      'an unknown verdict',
      JSON.parse(JSON.stringify(proposalToJson(proposal)).replace('"pass"', '"maybe"')) as unknown,
    ],
  ])('is not read from %s', (_, detail) => {
    expect(() => proposalFromJson(detail)).toThrow(CountersignError);
    expect(() => proposalFromJson(detail)).toThrow(/holds no proposal that can be read/);
  });
});
