import { describe, expect, it } from 'vitest';
import type { Claim } from '../../../src/claims/claims.ts';
import { parseAmount } from '../../../src/values/amount.ts';
import { A, B, NOON, judged, outputs, payment, pricesOf, ruleFaults, transfer, web3 } from '../callbacks.ts';

const RULE = 'value-limit: { max: 10000, maxAge: 10m }';
const WINDOWED = 'value-limit: { max: 10000, maxAge: 10m, per: [userId], window: 24h }';
const LEAST = `0.${'0'.repeat(35)}1`;
const MINUTE_MS = 60_000;

const facts = (prices: Parameters<typeof pricesOf>[0], version = 3) => ({
  facts: { prices: pricesOf(prices, version) },
});
const verdict = (orderAmount: string, price: string, rule = RULE): string =>
  judged(rule, payment({ orderAmount }), facts({ USDT1742: price })).result.verdict;

function asked(claims: readonly Claim[]): readonly (bigint | undefined)[] {
  return claims.map((claim) => (claim.type === 'window' ? claim.amount : undefined));
}

describe('value-limit, of one callback', () => {
  it.each([
    ['10000', '1'],
    ['0.1', '100000'],
    [LEAST, LEAST],
    ['3', `3333.${'3'.repeat(36)}`],
    [`1${'0'.repeat(35)}`, `0.${'0'.repeat(31)}1`],
  ])('%s at %s is within 10000', (amount, price) => {
    expect(verdict(amount, price)).toBe('pass');
  });

  it.each([
    [`10000.${'0'.repeat(35)}1`, '1'],
    ['10000', `1.${'0'.repeat(35)}1`],
    ['0.1', '100000.1'],
    // 10000 and less than one unit: rounded up, it is above.
    ['0.5', `20000.${'0'.repeat(35)}1`],
    ['3', `3333.${'3'.repeat(35)}4`],
    ['9'.repeat(36), '1'],
  ])('%s at %s is above 10000', (amount, price) => {
    expect(verdict(amount, price)).toBe('refuse');
  });

  it('rounds up what is less than the least unit, so that nothing is worth nothing', () => {
    expect(verdict(LEAST, LEAST, 'value-limit: { max: 0, maxAge: 10m }')).toBe('refuse');
    expect(verdict(LEAST, LEAST, `value-limit: { max: ${LEAST}, maxAge: 10m }`)).toBe('pass');
  });

  it('says amount, price, when the price was true, value and maximum', () => {
    const { result, proposal } = judged(
      RULE,
      payment({ orderAmount: '0.2', payCoinSymbol: 'BTC' }),
      facts({ BTC: ['97000', NOON - MINUTE_MS] }),
    );
    expect(result).toMatchObject({
      verdict: 'refuse',
      because:
        'the value 19400 of 0.2 BTC at 97000 (as of 2024-03-15T11:59:00.000Z) is above the maximum 10000',
      values: {
        asset: 'BTC',
        amount: '0.2',
        price: '97000',
        asOf: '2024-03-15T11:59:00.000Z',
        value: '19400',
        max: '10000',
      },
    });
    expect(proposal).toMatchObject({ approves: false, retryable: true, prices: 3 });
  });

  it('holds for as long as the price may be used', () => {
    const { proposal } = judged(RULE, payment(), facts({ USDT1742: '1' }));
    expect(proposal).toMatchObject({
      approves: true,
      prices: 3,
      validFromMs: NOON - MINUTE_MS,
      validUntilMs: NOON + 10 * MINUTE_MS + 1,
    });
  });
});

describe('the price of a value-limit', () => {
  const at = (asOfMs: number, rule = RULE) => judged(rule, payment(), facts({ USDT1742: ['1', asOfMs] }));

  it.each([NOON, NOON - 10 * MINUTE_MS, NOON + MINUTE_MS])('will do as of %d', (asOfMs) => {
    expect(at(asOfMs).result.verdict).toBe('pass');
  });

  it('refuses when it is older than maxAge, until it is set anew', () => {
    const { result, proposal } = at(NOON - 10 * MINUTE_MS - 1);
    expect(result).toMatchObject({
      verdict: 'refuse',
      because:
        'the price of USDT1742, 1 as of 2024-03-15T11:49:59.999Z, is older than 10m; set it again with `countersign prices set`',
      values: { asset: 'USDT1742', price: '1', asOf: '2024-03-15T11:49:59.999Z', maxAge: '10m' },
    });
    expect(proposal).toMatchObject({ retryable: true, prices: 3, validFromMs: NOON });
  });

  it('refuses when it is of more than a minute to come: some clock is wrong', () => {
    const { result, proposal } = at(NOON + MINUTE_MS + 1);
    expect(result).toMatchObject({ verdict: 'refuse', values: { asOf: '2024-03-15T12:01:00.001Z' } });
    expect(result.because).toContain('is dated in the future; correct the clock');
    expect(proposal).toMatchObject({ retryable: true, prices: 3, validFromMs: 0, validUntilMs: NOON + 1 });
  });

  it.each(['0s', '93d', '10', '10 m', 'day', '', '1.5h'])('maxAge %j is a fault', (maxAge) => {
    expect(ruleFaults(`value-limit: { max: 1, maxAge: "${maxAge}" }`)).toEqual([
      expect.stringContaining('write a duration from 1s to 92d'),
    ]);
  });

  it('goes by maxAge alone, up to 92 days', () => {
    const asOfMs = NOON - 92 * 86_400_000;
    expect(at(asOfMs, 'value-limit: { max: 10000, maxAge: 92d }').result.verdict).toBe('pass');
    expect(at(asOfMs - 1, 'value-limit: { max: 10000, maxAge: 92d }').result.verdict).toBe('refuse');
  });

  it.each([RULE, WINDOWED])('that is not there refuses, and is asked for again each time: %s', (rule) => {
    const { result, proposal, claims } = judged(rule, payment(), facts({ BTC: '97000', usdt1742: '1' }));
    expect(result).toMatchObject({
      verdict: 'refuse',
      because: 'there is no price for USDT1742; set one with `countersign prices set`',
      values: { asset: 'USDT1742' },
    });
    expect(claims).toEqual([]);
    expect(proposal).toMatchObject({ retryable: true, prices: 3 });
  });

  it('refuses where no price was ever set', () => {
    expect(judged(RULE, payment()).result).toMatchObject({
      verdict: 'refuse',
      values: { asset: 'USDT1742' },
    });
  });

  it.each([
    ['is zero', { price: 0n, asOfMs: NOON }],
    ['is below zero', { price: -1n, asOfMs: NOON }],
    ['is as of no time', { price: 1n, asOfMs: Number.NaN }],
    ['is as of never', { price: 1n, asOfMs: Number.POSITIVE_INFINITY }],
  ])('that %s refuses', (_, price) => {
    const prices = { version: 1, prices: new Map([['USDT1742', price]]) };
    expect(judged(RULE, payment(), { facts: { prices } }).result.verdict).toBe('refuse');
  });

  it.each([RULE, WINDOWED.replace('userId', 'to')])('is of no use for an unlimited amount: %s', (rule) => {
    const { result } = judged(rule, web3({ amount: -1 }), facts({ ETH: '3000' }));
    expect(result).toMatchObject({ verdict: 'refuse', because: 'the amount is unlimited' });
  });

  it('is wanted also where a web3 amount is zero, and is that of the chain’s coin', () => {
    expect(judged(RULE, web3(), facts({ ETH: '3000' })).result).toMatchObject({
      verdict: 'pass',
      values: { asset: 'ETH', value: '0' },
    });
    expect(judged(RULE, web3()).result.verdict).toBe('refuse');
  });

  it.each([RULE, WINDOWED])('refuses a value of more than 36 digits before the point: %s', (rule) => {
    const callback = payment({ orderAmount: '9'.repeat(36) });
    const { result, proposal } = judged(rule, callback, facts({ USDT1742: '2' }));
    expect(result.verdict).toBe('refuse');
    expect(result.because).toContain('more than 36 digits before the point');
    expect(proposal).toMatchObject({ retryable: true, prices: 3 });
  });
});

describe('value-limit, in a window', () => {
  it('claims room for the value, and explains how it came to it', () => {
    const { result, claims, proposal } = judged(
      WINDOWED,
      payment({ orderAmount: '0.5', payCoinSymbol: 'BTC' }),
      facts({ BTC: '97000' }),
    );
    expect(result).toEqual({
      policy: 'one',
      rule: 'value-limit#1',
      mode: 'enforce',
      verdict: 'claim',
      because:
        '0.5 BTC at 97000 (as of 2024-03-15T12:00:00.000Z): 48500 more for userId 12345 in 24h, of at most 10000',
      values: {
        userId: '12345',
        asked: '48500',
        window: '24h',
        asset: 'BTC',
        amount: '0.5',
        price: '97000',
        asOf: '2024-03-15T12:00:00.000Z',
        value: '48500',
        max: '10000',
      },
    });
    expect(claims).toMatchObject([
      {
        type: 'window',
        retryable: true,
        amount: parseAmount('48500'),
        max: parseAmount('10000'),
        window: { type: 'rolling', lengthMs: 86_400_000 },
      },
    ]);
    expect(proposal).toMatchObject({ approves: true, prices: 3, validUntilMs: NOON + 10 * MINUTE_MS + 1 });
  });

  it('counts all coins under one key, whatever max, maxAge and the symbols under when', () => {
    const keyOf = (rule: string, payCoinSymbol: string, when?: string): unknown => {
      const { claims } = judged(rule, payment({ payCoinSymbol }), {
        ...facts({ BTC: '97000', USDT1742: '1' }),
        ...(when === undefined ? {} : { when }),
      });
      return claims.map((claim) => claim.type === 'window' && claim.key);
    };
    const first = keyOf(WINDOWED, 'USDT1742');
    expect(keyOf(WINDOWED, 'BTC')).toEqual(first);
    expect(keyOf(WINDOWED, 'BTC', '{ symbol: BTC }')).toEqual(first);
    expect(keyOf('value-limit: { max: 1, maxAge: 1h, per: [userId], window: 1d }', 'BTC')).toEqual(first);
    expect(keyOf('value-limit: { max: 1, maxAge: 1h, per: [userId], window: day }', 'BTC')).not.toEqual(
      first,
    );
    expect(keyOf('value-limit: { max: 1, maxAge: 1h, per: [symbol], window: 1d }', 'BTC')).not.toEqual(first);
    const { claims } = judged('window-limit: { per: [userId], window: 24h, max: 1 }', payment(), {
      when: '{ symbol: USDT1742 }',
    });
    expect(claims).not.toMatchObject([{ key: String(first) }]);
  });

  it('counts the value of each address’s own payout with to in per, and of all together without', () => {
    const callback = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });
    const rule = 'value-limit: { max: 10000, maxAge: 10m, window: 24h }';
    const options = facts({ ETH: '3000.5' });
    expect(asked(judged(rule, callback, options).claims)).toEqual([parseAmount('9001.5')]);
    const each = judged(rule.replace('window', 'per: [to], window'), callback, options);
    expect(asked(each.claims)).toEqual([parseAmount('3000.5'), parseAmount('6001')]);
  });

  it('is valid no longer than its period and its price both are', () => {
    const rule = 'value-limit: { max: 10000, maxAge: 24h, window: day }';
    const { proposal } = judged(rule, payment(), facts({ USDT1742: '1' }));
    expect(proposal).toMatchObject({
      validFromMs: NOON - MINUTE_MS,
      validUntilMs: Date.UTC(2024, 2, 16),
    });
  });

  it('refuses for good where a member is missing by which it counts', () => {
    const rule = 'value-limit: { max: 1, maxAge: 10m, per: [memo], window: 24h }';
    const { result, proposal } = judged(rule, transfer(), facts({ ETH: '1' }));
    expect(result).toMatchObject({
      verdict: 'refuse',
      because: 'memo is missing, by which this rule counts',
    });
    expect(proposal).toMatchObject({ retryable: false, prices: 3 });
  });
});

describe('a value-limit that is written wrongly', () => {
  it.each([
    ['{ max: 1 }', 'maxAge is missing'],
    ['{ maxAge: 10m }', 'max is missing'],
    ['{ max: { BTC: 1 }, maxAge: 10m }', 'a mapping is not valid'],
    [
      '{ max: 1, maxAge: 10m, per: [userId] }',
      'per is only for counting in a window, and there is no window',
    ],
    ['{ max: 1, maxAge: 10m, zone: UTC }', 'zone is only for counting in a window, and there is no window'],
    ['{ max: 1, maxAge: 10m, window: 0s }', '"0s" is not a window'],
    ['{ max: 1, maxAge: 10m, window: 24h, zone: UTC }', 'has no time zone'],
    ['{ max: 1, maxAge: 10m, window: 24h, per: [to] }', 'a payment callback has no member "to"'],
    ['{ max: 1, maxage: 10m }', 'did you mean maxAge?'],
  ])('%s is a fault', (parameters, fault) => {
    expect(ruleFaults(`value-limit: ${parameters}`).join('\n')).toContain(fault);
  });

  it('twice under one counter is a fault', () => {
    const rule = 'value-limit: { max: 1, maxAge: 10m, window: 24h }';
    expect(ruleFaults(`${rule}\n  - ${rule.replace('10m', '1h')}`)).toEqual([
      expect.stringContaining('the same counter as rule 1'),
    ]);
  });
});
