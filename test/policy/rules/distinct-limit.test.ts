import { describe, expect, it } from 'vitest';
import type { DistinctClaim } from '../../../src/claims/distinct.ts';
import {
  A,
  B,
  C,
  NOON,
  faultsOf,
  judged,
  onePolicy,
  outputs,
  payment,
  ruleFaults,
  transfer,
  web3,
} from '../callbacks.ts';

const RULE = 'distinct-limit: { of: to, max: 5, window: 24h }';
const NEW = 'distinct-limit: { of: to, only: new, max: 5, window: 24h }';
type Judged = Parameters<typeof judged>;

function claimsOf(...args: Judged): readonly DistinctClaim[] {
  const { claims } = judged(...args);
  expect(claims.length).toBeGreaterThan(0);
  return claims.filter((claim) => claim.type === 'distinct');
}

const keyOf = (...args: Judged): string | undefined => claimsOf(...args)[0]?.key;
const valuesOf = (...args: Judged): readonly string[] | undefined => claimsOf(...args)[0]?.values;

describe('distinct-limit', () => {
  it('claims room for the address of a withdrawal', () => {
    const { result, claims } = judged(RULE, transfer());
    expect(result).toMatchObject({
      verdict: 'claim',
      because: `to ${A.toLowerCase()} for source vault in 24h, of at most 5 different`,
      values: { member: 'to', values: A.toLowerCase(), asked: '1', max: '5', window: '24h' },
    });
    expect(claims).toMatchObject([
      {
        type: 'distinct',
        decides: true,
        retryable: true,
        max: 5,
        onlyNew: false,
        key: expect.stringMatching(/^[0-9a-f]{32}$/),
        values: [expect.stringMatching(/^[0-9a-f]{32}$/)],
        window: { type: 'rolling', lengthMs: 86_400_000 },
      },
    ]);
  });

  it('claims room for each address of a withdrawal, at once', () => {
    const callback = transfer({ amount: '6', ...outputs([A, '1'], [B, '2'], [C, '2'], [A, '1']) });
    expect(valuesOf(RULE, callback)).toHaveLength(3);
    expect(judged(RULE, callback).result.values).toMatchObject({ asked: '3' });
    expect(claimsOf(RULE, callback)).toHaveLength(1);
  });

  it('counts by other members, each with a count of its own', () => {
    const byUser = 'distinct-limit: { of: symbol, per: [userId], max: 2, window: day }';
    expect(keyOf(byUser, payment())).toBe(keyOf(byUser, payment({ payCoinSymbol: 'BTC' })));
    expect(keyOf(byUser, payment())).not.toBe(keyOf(byUser, payment({ userId: '7' })));
    expect(judged(byUser, payment()).result).toMatchObject({
      because: 'symbol USDT1742 for userId 12345 in day (UTC), of at most 2 different',
      values: { userId: '12345' },
    });
  });

  it('counts for each address by which it counts', () => {
    const rule = 'distinct-limit: { of: memo, per: [to], max: 2, window: day }';
    const callback = transfer({ amount: '3', memo: '7', ...outputs([A, '1'], [B, '2']) });
    const claims = claimsOf(rule, callback);
    expect(new Set(claims.map(({ key }) => key)).size).toBe(2);
    expect(judged(rule, callback).result.values['to']).toBe(`${A} ${B}`.toLowerCase());
  });

  it('counts several members together', () => {
    const rule = 'distinct-limit: { of: [to, memo], max: 2, window: day }';
    expect(valuesOf(rule, transfer({ memo: '1' }))).not.toEqual(valuesOf(rule, transfer({ memo: '2' })));
    expect(judged(rule, transfer({ memo: '1' })).result.values).toMatchObject({
      member: 'to memo',
      values: `${A.toLowerCase()} 1`,
    });
  });

  it.each([
    ['the window', 'distinct-limit: { of: to, max: 5, window: 7d }'],
    ['the zone', 'distinct-limit: { of: to, max: 5, window: day, zone: Europe/Berlin }'],
    ['what is counted', 'distinct-limit: { of: [to, symbol], max: 5, window: 24h }'],
    ['only', NEW],
    ['the members to count by', 'distinct-limit: { of: to, per: [symbol], max: 5, window: 24h }'],
  ])('begins a new count with another value of %s', (_name, rule) => {
    expect(keyOf(rule, transfer())).not.toBe(keyOf(RULE, transfer()));
  });

  it('keeps the count with another maximum', () => {
    const more = 'distinct-limit: { of: to, max: 6, window: 1d }';
    expect(keyOf(more, transfer())).toBe(keyOf(RULE, transfer()));
  });

  it('knows a value whatever the window, but not in another policy or for another user', () => {
    const week = 'distinct-limit: { of: to, only: new, max: 5, window: week }';
    expect(valuesOf(week, transfer())).toEqual(valuesOf(NEW, transfer()));
    const bySymbol = 'distinct-limit: { of: to, only: new, per: [symbol], max: 5, window: 24h }';
    expect(valuesOf(bySymbol, transfer())).not.toEqual(valuesOf(NEW, transfer()));
    expect(valuesOf(bySymbol, transfer({ symbol: 'BTC' }))).not.toEqual(valuesOf(bySymbol, transfer()));
  });

  it('holds in the calendar period of the instant', () => {
    const { proposal } = judged('distinct-limit: { of: to, max: 5, window: day }', transfer());
    expect(proposal).toMatchObject({ validFromMs: NOON - 43_200_000, validUntilMs: NOON + 43_200_000 });
  });

  it('counts all spellings of an address of a known chain once', () => {
    const assets = 'assets:\n  TON: { chain: ton, decimals: 9 }\n';
    const raw = '0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe';
    const friendly = 'EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs';
    const spelt = (to: string) => valuesOf(RULE, transfer({ to, symbol: 'TON' }), { assets });
    expect(spelt(raw)).toEqual(spelt(friendly));
    const wrong = judged(RULE, transfer({ to: 'EQnone', symbol: 'TON' }), { assets });
    expect(wrong.result).toMatchObject({ verdict: 'refuse', because: /is not an address of TON/ });
  });

  it('refuses a callback that lacks a member', () => {
    expect(judged('distinct-limit: { of: memo, max: 5, window: 24h }', transfer()).result).toMatchObject({
      verdict: 'refuse',
      because: 'memo is missing',
    });
    const per = 'distinct-limit: { of: to, per: [interactive_contract], max: 5, window: 24h }';
    expect(judged(per, web3({ interactive_contract: '' })).result).toMatchObject({
      verdict: 'refuse',
      because: 'interactive_contract is missing, by which this rule counts',
    });
  });

  it.each(['0', '-1', '1.5', '1001', '1000000', 'five', ''])('%s is no maximum', (max) => {
    const faults = ruleFaults(`distinct-limit: { of: userId, window: 1m, max: "${max}" }`);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain('write a whole number');
  });

  it.each([
    ['{ of: userId, max: 1, window: 1h, only: all }', 'write new, or leave it out'],
    ['{ of: nobody, max: 1, window: 1h }', 'has no member "nobody"'],
    [
      '{ of: userId, per: [userId], max: 1, window: 1h }',
      'would count the different values of userId for each',
    ],
    ['{ of: [userId, userId], max: 1, window: 1h }', 'userId appears twice'],
    ['{ of: userId, max: 1, window: 3y }', '"3y" is not a window'],
    ['{ max: 1, window: 1h }', 'of'],
  ])('%s is a fault', (parameters, fault) => {
    expect(ruleFaults(`distinct-limit: ${parameters}`).join('\n')).toContain(fault);
  });

  it('can not stand twice with one counter, but once for different and once for new values', () => {
    const both = (other: string): readonly string[] =>
      faultsOf(`${onePolicy(RULE, 'transfer')}  - ${other}\n`);
    expect(both(RULE.replace('24h', '1d')).join()).toContain('would count under the same counter as rule 1');
    expect(both(NEW)).toEqual([]);
  });
});
