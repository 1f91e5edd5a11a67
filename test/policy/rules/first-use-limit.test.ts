import { describe, expect, it } from 'vitest';
import type { MarkClaim } from '../../../src/claims/mark.ts';
import {
  A,
  B,
  C,
  evaluateAt,
  NOON,
  judged,
  onePolicy,
  outputs,
  payment,
  release,
  ruleFaults,
  transfer,
  web3,
} from '../callbacks.ts';

const ETH = '{ symbol: ETH }';
const RULE = 'first-use-limit: { of: to, max: 1.5, for: 24h }';
const TABLE = 'first-use-limit: { of: to, by: asset, max: { ETH: 1.5, BTC: 0.01 } }';
type Judged = Parameters<typeof judged>;

/** The mark claims of a rule, for callbacks in ETH. */
function marks(rule: string, callback: Judged[1], when: string = ETH): readonly MarkClaim[] {
  const { claims } = judged(rule, callback, { when });
  expect(claims.length).toBeGreaterThan(0);
  return claims.filter((claim) => claim.type === 'mark');
}

const keyOf = (rule: string, callback: Judged[1], when?: string): string | undefined =>
  marks(rule, callback, when)[0]?.key;

describe('first-use-limit', () => {
  it('claims the mark of an address, exempt up to the maximum', () => {
    const { result, claims } = judged(RULE, transfer({ amount: '1.5' }), { when: ETH });
    expect(result).toMatchObject({
      verdict: 'claim',
      because: `1.5 requested, of at most 1.5 for a first use of to ${A.toLowerCase()}`,
      values: { member: 'to', values: A.toLowerCase(), asked: '1.5', max: '1.5', for: '24h' },
    });
    expect(claims).toEqual([
      {
        type: 'mark',
        result: 0,
        decides: true,
        retryable: true,
        key: expect.stringMatching(/^[0-9a-f]{32}$/),
        ageMs: 86_400_000,
        exempt: true,
      },
    ]);
  });

  it.each([
    ['0.000000000000000000000000000000000001', true],
    ['1.499999999999999999999999999999999999', true],
    ['1.5', true],
    ['1.500000000000000000000000000000000001', false],
    ['1000000', false],
  ])('exempts %s: %s', (amount, exempt) => {
    expect(marks(RULE, transfer({ amount }))).toMatchObject([{ exempt }]);
  });

  it('knows a value at once without `for`', () => {
    const { result, claims } = judged('first-use-limit: { of: to, max: 1 }', transfer(), { when: ETH });
    expect(claims).toMatchObject([{ ageMs: 0 }]);
    expect(result.values).not.toHaveProperty('for');
  });

  it('judges each address of a withdrawal by what it is paid, whatever is paid in all', () => {
    const callback = transfer({ amount: '4.5', ...outputs([A, '1.5'], [B, '1.6'], [C, '1.4']) });
    const { result, claims } = judged(RULE, callback, { when: ETH });
    expect(claims).toMatchObject([{ exempt: true }, { exempt: false }, { exempt: true }]);
    expect(new Set(marks(RULE, callback).map(({ key }) => key)).size).toBe(3);
    expect(result.values).toMatchObject({ to: `${A} ${B} ${C}`.toLowerCase(), asked: '1.5 1.6 1.4' });
    expect(marks(RULE, callback)[1]?.key).toBe(keyOf(RULE, transfer({ to: B })));
  });

  it('sums what one address is paid, however it is split and written', () => {
    const split = transfer({ amount: '3', ...outputs([A, '1'], [A.toLowerCase(), '1'], [B, '1']) });
    expect(marks(RULE, split)).toMatchObject([{ exempt: false }, { exempt: true }]);
  });

  it('judges by the total if `to` is not among the members', () => {
    const callback = transfer({ amount: '3', memo: 'm', ...outputs([A, '1'], [B, '2']) });
    expect(marks('first-use-limit: { of: memo, max: 2 }', callback)).toMatchObject([{ exempt: false }]);
    expect(marks('first-use-limit: { of: memo, max: 3 }', callback)).toMatchObject([{ exempt: true }]);
    expect(marks('first-use-limit: { of: memo, max: 3 }', callback)).toHaveLength(1);
  });

  it('takes several members together', () => {
    const rule = 'first-use-limit: { of: [to, memo], max: 1.5 }';
    const keys = ['1', '2'].map((memo) => keyOf(rule, transfer({ memo })));
    expect(new Set(keys).size).toBe(2);
    expect(keyOf(rule, transfer({ memo: '1', to: A.toLowerCase() }))).toBe(keys[0]);
  });

  it('knows a value under its policy, members and symbol alone, whatever the limits are', () => {
    const key = keyOf(RULE, transfer());
    expect(keyOf('first-use-limit: { of: to, max: 7 }', transfer({ amount: '2', request_id: 'r-2' }))).toBe(
      key,
    );
    expect(keyOf(TABLE, transfer())).toBe(key);
    expect(keyOf(RULE, transfer({ to: B }))).not.toBe(key);
    expect(keyOf('first-use-limit: { of: from, max: 7 }', transfer({ from: A, to: C }))).not.toBe(key);
    expect(keyOf(TABLE, transfer({ symbol: 'BTC' }), '{}')).not.toBe(key);
    const other = onePolicy(RULE, 'transfer', ETH).replace('policy: one', 'policy: two');
    expect(evaluateAt(release(other), transfer(), NOON).claims).not.toMatchObject([{ key }]);
  });

  it('holds each coin against its own maximum, and refuses one that has none', () => {
    expect(marks(TABLE, transfer({ amount: '1.5' }), '{}')).toMatchObject([{ exempt: true }]);
    expect(marks(TABLE, transfer({ amount: '1.5', symbol: 'BTC' }), '{}')).toMatchObject([{ exempt: false }]);
    for (const symbol of ['USDT', 'eth', 'Btc', 'constructor']) {
      const { result, claims } = judged(TABLE, transfer({ symbol }));
      expect(result).toMatchObject({ verdict: 'refuse', because: `${symbol} is not in the table` });
      expect(claims).toEqual([]);
    }
  });

  it('refuses an unlimited amount, and takes a web3 zero for within', () => {
    const unlimited = judged(RULE, web3({ amount: -1 }), { when: ETH });
    expect(unlimited.result).toMatchObject({ verdict: 'refuse', because: 'the amount is unlimited' });
    expect(unlimited.claims).toEqual([]);
    expect(unlimited.proposal.retryable).toBe(false);
    expect(marks(RULE, web3({ amount: '0' }))).toMatchObject([{ exempt: true }]);
    expect(marks(RULE, web3({ amount: '1.6' }))).toMatchObject([{ exempt: false }]);
  });

  it('works for the users of payments', () => {
    const rule = 'first-use-limit: { of: userId, max: 100 }';
    const when = '{ symbol: USDT1742 }';
    expect(marks(rule, payment(), when)).toMatchObject([{ exempt: true }]);
    expect(marks(rule, payment({ orderAmount: '100.01' }), when)).toMatchObject([{ exempt: false }]);
    expect(keyOf(rule, payment({ userId: '12345', appOrderId: '2' }), when)).toBe(
      keyOf(rule, payment(), when),
    );
    expect(keyOf(rule, payment({ userId: '12346' }), when)).not.toBe(keyOf(rule, payment(), when));
  });

  it.each(['memo', '[to, memo]', 'txid'])('refuses a callback that lacks %s', (of) => {
    const { result, claims } = judged(`first-use-limit: { of: ${of}, max: 10 }`, transfer(), { when: ETH });
    expect(result).toMatchObject({ verdict: 'refuse', because: expect.stringContaining('is missing') });
    expect(claims).toEqual([]);
  });

  it.each([
    ['{ max: 100 }', 'of is missing'],
    ['{ of: to }', 'max is missing'],
    ['{ of: to, max: -1 }', 'write a plain decimal'],
    ['{ of: to, max: 1e3 }', 'write a plain decimal'],
    ['{ of: to, max: 1, for: 0s }', 'write a duration from 1s to 92d'],
    ['{ of: to, max: 1, for: 93d }', 'write a duration from 1s to 92d'],
    ['{ of: to, max: 1, for: week }', 'write a duration from 1s to 92d'],
    ['{ of: userId, max: 1 }', 'has no member "userId"'],
    ['{ of: [memo, to], max: 1 }', 'a memo may have blanks'],
    ['{ of: to, max: 1, window: 24h }', '"window" is not known here'],
    ['{ of: to, max: { ETH: 1 } }', 'add by: asset'],
    ['{ of: to, max: 1, by: asset }', 'by: asset is given, but no limit is a table'],
    ['{ of: to, max: {}, by: asset }', 'the table is empty'],
  ])('%s is a fault', (parameters, fault) => {
    expect(ruleFaults(`first-use-limit: ${parameters}`, 'transfer', ETH).join('\n')).toContain(fault);
  });

  it.each([undefined, '{ source: vault }', '{ symbol: [ETH, BTC] }'])(
    'one maximum for several coins is a fault: when %s',
    (when) => {
      expect(ruleFaults('first-use-limit: { of: to, max: 1 }', 'transfer', when)).toEqual([
        expect.stringContaining('one maximum would be for amounts of different coins'),
      ]);
    },
  );
});
