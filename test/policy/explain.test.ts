import { describe, expect, it } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { fromDetail, toDetail } from '../../src/policy/detail.ts';
import { evaluate } from '../../src/policy/evaluate.ts';
import { type ClaimFound, explain } from '../../src/policy/explain.ts';
import { parseAmount } from '../../src/values/amount.ts';
import { A, B, NOON, outputs, payment, release, transfer } from './callbacks.ts';

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

const used = (amount: string, holds = true, reserved = false): ClaimFound => ({
  holds,
  reserved,
  used: parseAmount(amount) ?? 0n,
});
const listed = (holds: boolean, present: readonly string[] = [], missing = false): ClaimFound => ({
  holds,
  missing,
  present,
});

const proposal = evaluate(release(YAML), payment(), NOON);
const refused = evaluate(release(YAML), payment({ orderAmount: '1000.5' }), NOON);
const FINE = [used('49900'), used('3'), listed(true)];

describe('an explanation', () => {
  it('of an approval has what every rule said', () => {
    expect(explain(proposal, { code: 'APPROVED', claims: FINE })).toEqual({
      deciding: undefined,
      because: 'approved: all 4 rules that enforce pass',
      rules: [
        {
          policy: 'usdt',
          rule: 'amount-limit#1',
          mode: 'enforce',
          verdict: 'SUCCESS',
          because: 'the amount 100 is within the limit',
        },
        {
          policy: 'usdt',
          rule: 'window-limit#2',
          mode: 'enforce',
          verdict: 'SUCCESS',
          because: '49900 used and 100 asked are within the limit of 50000 in 24h',
        },
        {
          policy: 'usdt',
          rule: 'velocity-limit#3',
          mode: 'enforce',
          verdict: 'SUCCESS',
          because: '3 used and 1 asked are within the limit of 10 in day (UTC)',
        },
        {
          policy: 'usdt',
          rule: 'deny-list#4',
          mode: 'enforce',
          verdict: 'SUCCESS',
          because: 'userId 12345 is not on the list blocked-users',
        },
        {
          policy: 'usdt',
          rule: 'amount-limit#5',
          mode: 'observe',
          verdict: 'FAILURE',
          because: 'the amount 100 is above the maximum 10',
        },
      ],
    });
  });

  it.each([
    [
      [used('49950', false), used('3'), listed(true)],
      'window-limit#2',
      '49950 used and 100 asked are above the limit of 50000 in 24h (100 more for userId 12345 in 24h, of at most 50000)',
    ],
    [
      [used('0'), used('10', false), listed(true)],
      'velocity-limit#3',
      '10 used and 1 asked are above the limit of 10 in day (UTC) (1 more for userId 12345 in day (UTC), of at most 10)',
    ],
    [
      [used('0'), used('0'), listed(false, ['12345'])],
      'deny-list#4',
      'userId 12345 is on the list blocked-users',
    ],
    [
      [used('0'), used('0'), listed(false, [], true)],
      'deny-list#4',
      'there is no list blocked-users; make it with `countersign list add`',
    ],
    [[used('50000', false), used('10', false), listed(false)], 'window-limit#2', '50000 used and 100 asked'],
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
      'the refusal that was decided first stands, until the policies or a list it depends on have changed',
    );
  });

  it('says of a claim that was not checked that it was not, and counts it as a failure', () => {
    const { rules, because, deciding } = explain(proposal, { code: 'FROZEN', claims: [] });
    expect(deciding).toBeUndefined();
    expect(because).toBe('approvals are frozen; `countersign unfreeze` starts them again');
    expect(rules[1]).toMatchObject({
      verdict: 'FAILURE',
      because: 'the store was not asked: 100 more for userId 12345 in 24h, of at most 50000',
    });
  });

  it('does not take one kind of answer for another', () => {
    const { rules } = explain(proposal, { code: 'APPROVED', claims: [listed(true), used('0'), used('0')] });
    expect(rules[1]?.because).toContain('does not fit the claim');
  });

  it('says that a reservation was made before', () => {
    const { rules } = explain(proposal, {
      code: 'APPROVED',
      claims: [used('49950', true, true), used('1'), listed(true)],
    });
    expect(rules[1]?.because).toBe('already reserved under the limit of 50000 in 24h');
  });

  it.each(['NO_POLICY', 'NOTHING_IN_FORCE', 'TERMS_CHANGED'])('has a sentence for %s', (code) => {
    const { because, deciding } = explain({ results: [], claims: [] }, { code, claims: [] });
    expect(deciding).toBeUndefined();
    expect(because.length).toBeGreaterThan(30);
  });

  it('does not call a code that it does not know an approval', () => {
    expect(explain({ results: [], claims: [] }, { code: 'QUORUM', claims: [] }).because).toBe(
      'refused: QUORUM',
    );
  });

  it('names the address of a withdrawal to several', () => {
    const yaml =
      'policy: a\ncallback: transfer\nwhen: { symbol: ETH }\nrules:\n  - window-limit: { per: [to], window: 1h, max: 5 }\n  - allow-list: { of: to, list: partners }\n';
    const callback = transfer({ amount: '5', ...outputs([A, '3'], [B, '2']) });
    const both = evaluate(release(yaml), callback, NOON);
    const explained = explain(both, {
      code: 'RULE_REFUSED',
      claims: [used('0'), used('4', false), listed(false, [A.toLowerCase()])],
    });
    expect(explained.deciding?.because).toContain(
      `4 used and 2 asked for to ${B.toLowerCase()} are above the limit of 5 in 1h`,
    );
    expect(explained.rules[1]?.because).toBe(`to ${B.toLowerCase()} is not on the list partners`);
    const half = explain(both, { code: 'RULE_REFUSED', claims: [used('0')] });
    expect(half.rules[0]?.because).toContain('the store was not asked');
    const near = explain(both, { code: 'APPROVED', claims: [used('2'), used('0'), listed(true, [])] });
    expect(near.rules[0]?.because).toContain(`2 used and 3 asked for to ${A.toLowerCase()}`);
  });
});

describe('a proposal in the journal', () => {
  it.each([
    ['with claims', proposal],
    ['that refuses', refused],
    ['with nothing in force', evaluate(undefined, payment(), NOON)],
    ['with no policy', evaluate(release(YAML), transfer(), NOON)],
  ])('is read back as it was: %s', (_, each) => {
    expect(fromDetail(JSON.parse(JSON.stringify(toDetail(each))))).toEqual(each);
  });

  it('has amounts as decimal text', () => {
    const text = JSON.stringify(toDetail(proposal));
    expect(text).toContain('"amount":"100","max":"50000"');
  });

  it.each([
    ['nothing', undefined],
    ['a text', 'proposal'],
    ['an unknown member', { ...fromDetail(toDetail(proposal)), score: 1 }],
    [
      'an amount that is none',
      JSON.parse(
        JSON.stringify(toDetail(proposal)).replace('"max":"50000","window":{', '"max":"-1","window":{'),
      ) as unknown,
    ],
    [
      'an unknown verdict',
      JSON.parse(JSON.stringify(toDetail(proposal)).replace('"pass"', '"maybe"')) as unknown,
    ],
  ])('is not read from %s', (_, detail) => {
    expect(() => fromDetail(detail)).toThrow(CountersignError);
    expect(() => fromDetail(detail)).toThrow(/holds no proposal that can be read/);
  });
});
