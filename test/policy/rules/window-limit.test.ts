import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Claim } from '../../../src/claims/claims.ts';
import type { WindowClaim } from '../../../src/claims/window.ts';
import { parseAmount } from '../../../src/values/amount.ts';
import {
  A,
  B,
  C,
  judged,
  onePolicy,
  outputs,
  payment,
  release,
  ruleFaults,
  transfer,
  web3,
  evaluateAt,
} from '../callbacks.ts';

const ONE = { when: '{ symbol: USDT1742 }' };
const ETH = { when: '{ symbol: ETH }' };

function windowsOf(claims: readonly Claim[]): readonly WindowClaim[] {
  return claims.filter((claim) => claim.type === 'window');
}

function key(rule: string, ...of: Parameters<typeof payment>): string | undefined {
  return windowsOf(judged(rule, payment(...of), ONE).claims)[0]?.key;
}

describe('window-limit', () => {
  it('claims room for the amount, to the last digit', () => {
    const orderAmount = `1.${'0'.repeat(35)}1`;
    const { result, claims, proposal } = judged(
      `window-limit: { per: [userId], window: 24h, max: 50000 }`,
      payment({ orderAmount }),
      ONE,
    );
    expect(result).toEqual({
      policy: 'one',
      rule: 'window-limit#1',
      mode: 'enforce',
      verdict: 'claim',
      because: `${orderAmount} more for userId 12345 in 24h, of at most 50000`,
      values: { userId: '12345', asked: orderAmount, max: '50000', window: '24h' },
    });
    expect(claims).toEqual([
      {
        type: 'window',
        result: 0,
        decides: true,
        retryable: true,
        key: expect.stringMatching(/^[0-9a-f]{32}$/),
        amount: parseAmount(orderAmount),
        max: parseAmount('50000'),
        window: { type: 'rolling', lengthMs: 86_400_000, bucketMs: 1_440_000 },
      },
    ]);
    expect(proposal.approves).toBe(true);
    expect([proposal.validFromMs, proposal.validUntilMs]).toEqual([0, Number.MAX_SAFE_INTEGER]);
  });

  it.each([
    ['1s', 1000, 17],
    ['90s', 90_000, 1500],
    ['1m', 60_000, 1000],
    ['7d', 604_800_000, 10_080_000],
    ['92d', 7_948_800_000, 132_480_000],
    ['400d', 34_560_000_000, 576_000_000],
  ])('counts %s in buckets', (window, lengthMs, bucketMs) => {
    const { claims } = judged(`window-limit: { window: ${window}, max: 1 }`, payment(), ONE);
    expect(windowsOf(claims)[0]?.window).toEqual({ type: 'rolling', lengthMs, bucketMs });
    expect(bucketMs * 60).toBeGreaterThanOrEqual(lengthMs);
  });

  it.each([
    ['quarter', 'UTC', '2024-01-01T00:00:00Z', '2024-04-01T00:00:00Z'],
    ['quarter', 'Asia/Kathmandu', '2023-12-31T18:15:00Z', '2024-03-31T18:15:00Z'],
    ['year', 'UTC', '2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z'],
    ['year', 'Australia/Lord_Howe', '2023-12-31T13:00:00Z', '2024-12-31T13:00:00Z'],
  ])('counts the %s in %s, and is valid within it', (window, zone, start, end) => {
    const rule = `window-limit: { window: ${window}, zone: ${zone}, max: 1 }`;
    const { claims, proposal } = judged(rule, payment(), ONE);
    const [startMs, endMs] = [Date.parse(start), Date.parse(end)];
    expect(windowsOf(claims)[0]?.window).toEqual({ type: 'calendar', startMs, endMs });
    expect([proposal.validFromMs, proposal.validUntilMs]).toEqual([startMs, endMs]);
  });

  it('counts by calendar, and is valid within the period', () => {
    const { claims, proposal } = judged(
      'window-limit: { window: day, zone: Asia/Tokyo, max: 1 }',
      payment(),
      ONE,
    );
    const [startMs, endMs] = [Date.UTC(2024, 2, 14, 15), Date.UTC(2024, 2, 15, 15)];
    expect(windowsOf(claims)[0]?.window).toEqual({ type: 'calendar', startMs, endMs });
    expect([proposal.validFromMs, proposal.validUntilMs]).toEqual([startMs, endMs]);
  });

  it('gives the period of the instant, whichever came before', () => {
    const compiled = release(onePolicy('window-limit: { window: month, max: 1 }', 'payment', ONE.when));
    for (const month of [2, 3, 2, 1, 3]) {
      const { validFromMs, validUntilMs } = evaluateAt(compiled, payment(), Date.UTC(2024, month, 15));
      expect([validFromMs, validUntilMs]).toEqual([Date.UTC(2024, month), Date.UTC(2024, month + 1)]);
    }
  });

  it('counts under one key whatever the maximum, and however window and members are spelt', () => {
    const first = key('window-limit: { per: [userId, symbol], window: 24h, max: 50000 }');
    expect(key('window-limit: { per: [userId, symbol], window: 24h, max: 1 }')).toBe(first);
    expect(key('window-limit: { per: [payCoinSymbol, userId], window: 1d, max: 1 }')).toBe(first);
    expect(key('window-limit: { per: [source, userId, symbol, symbol], window: 1440m, max: 1 }')).toBe(first);
    expect(
      key('window-limit: { per: [userId, symbol], window: 24h, max: 1 }', {
        orderAmount: '7',
        appOrderId: 'o-2',
      }),
    ).toBe(first);
  });

  it('counts under another key for another user, member, window, zone, symbol, policy or rule', () => {
    const base = 'window-limit: { per: [userId], window: day, max: 1 }';
    const keys = [
      key(base),
      key(base, { userId: '12346' }),
      key('window-limit: { window: day, max: 1 }'),
      key('window-limit: { per: [appOrderId], window: day, max: 1 }'),
      key('window-limit: { per: [userId], window: week, max: 1 }'),
      key('window-limit: { per: [userId], window: 24h, max: 1 }'),
      key('window-limit: { per: [userId], window: day, zone: Asia/Tokyo, max: 1 }'),
      key('velocity-limit: { per: [userId], window: day, max: 1 }'),
      windowsOf(judged(base, payment({ payCoinSymbol: 'X' }), { when: '{ symbol: X }' }).claims)[0]?.key,
    ];
    expect(keys).not.toContain(undefined);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('never counts two users under one key, whatever their ids', () => {
    const rule = 'window-limit: { per: [userId, appOrderId], window: 1h, max: 1 }';
    const id = fc.stringMatching(/^[0-9":,{}]{1,20}$/);
    const user = fc.stringMatching(/^[0-9]{1,20}$/);
    fc.assert(
      fc.property(user, id, user, id, (userId, appOrderId, otherUser, otherId) => {
        fc.pre(userId !== otherUser || appOrderId !== otherId);
        expect(key(rule, { userId, appOrderId })).not.toBe(
          key(rule, { userId: otherUser, appOrderId: otherId }),
        );
      }),
      { numRuns: 50 },
    );
  });

  it('counts a withdrawal in all, or for each address that it pays', () => {
    const callback = transfer({ amount: '6', ...outputs([A, '1'], [B, '2'], [A, '3']) });
    const all = windowsOf(judged('window-limit: { window: 1h, max: 9 }', callback, ETH).claims);
    expect(all.map((claim) => claim.amount)).toEqual([parseAmount('6')]);
    const each = windowsOf(judged('window-limit: { per: [to], window: 1h, max: 9 }', callback, ETH).claims);
    expect(each.map((claim) => claim.amount)).toEqual([parseAmount('4'), parseAmount('2')]);
    expect(new Set(each.map((claim) => claim.key)).size).toBe(2);
    const alone = windowsOf(
      judged('window-limit: { per: [to], window: 1h, max: 9 }', transfer(), ETH).claims,
    );
    expect(alone[0]?.key).toBe(each[0]?.key);
  });

  it('counts under the keys of earlier versions, so that no count begins anew with an upgrade', () => {
    expect(key('window-limit: { window: day, max: 1 }')).toBe('9f0a77cdc928d7960176466f0f04c8f1');
    expect(key('window-limit: { per: [userId, symbol], window: 24h, max: 1 }')).toBe(
      '24610f2905953481f1c084e083ff27a3',
    );
    expect(key('velocity-limit: { per: [userId], window: 1m, max: 1 }')).toBe(
      '3c61b5288b9b28c59cf573fa9578a745',
    );
    const rule = 'window-limit: { per: [from, to], window: week, zone: Asia/Tokyo, max: 1 }';
    const each = windowsOf(judged(rule, transfer(outputs([A, '1'], [B, '0.5'])), ETH).claims);
    expect(each.map((claim) => claim.key)).toEqual([
      '53b2fd53d3b2b156c51ae9f7b4dce055',
      'c0b4ecdf11196d700c739658bb9292dc',
    ]);
  });

  it('names every address that it counts by, and the sum', () => {
    const callback = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });
    const { result } = judged('window-limit: { per: [to, from], window: 1h, max: 9.50 }', callback, ETH);
    const [a, b, from] = [A.toLowerCase(), B.toLowerCase(), C];
    expect(result.because).toBe(`3 more for from ${from}, to ${a} and 1 more in 1h, of at most 9.5`);
    expect(result.values).toEqual({ from, to: `${a} ${b}`, asked: '3', max: '9.5', window: '1h' });
  });

  it('counts an address once however its hexadecimal is written', () => {
    const keyTo = (to: string): string | undefined =>
      windowsOf(judged('window-limit: { per: [to], window: 1h, max: 9 }', transfer({ to }), ETH).claims)[0]
        ?.key;
    expect(keyTo(A.toLowerCase())).toBe(keyTo(A));
  });

  it('refuses a callback that lacks a member it counts by', () => {
    expect(judged('window-limit: { per: [memo], window: 1h, max: 9 }', transfer(), ETH).result).toMatchObject(
      {
        verdict: 'refuse',
        because: 'memo is missing, by which this rule counts',
      },
    );
  });

  it('refuses an unlimited amount', () => {
    const { result, claims } = judged('window-limit: { window: 1h, max: 9 }', web3({ amount: '-1' }), ETH);
    expect(result).toMatchObject({ verdict: 'refuse', because: 'the amount is unlimited' });
    expect(claims).toEqual([]);
  });

  it.each([
    ['{ window: 0s, max: 1 }', '"0s" is not a window'],
    ['{ window: 401d, max: 1 }', '"401d" is not a window'],
    ['{ window: 9601h, max: 1 }', '"9601h" is not a window'],
    ['{ window: 99999999d, max: 1 }', 'is not a window'],
    ['{ window: 24, max: 1 }', '"24" is not a window'],
    ['{ window: 1.5h, max: 1 }', '"1.5h" is not a window'],
    ['{ window: 24H, max: 1 }', '"24H" is not a window'],
    ['{ window: years, max: 1 }', '"years" is not a window'],
    ['{ window: Year, max: 1 }', '"Year" is not a window'],
    ['{ window: toString, max: 1 }', '"toString" is not a window'],
    ['{ window: 365d, zone: UTC, max: 1 }', 'has no time zone'],
    ['{ max: 1 }', 'window is missing'],
    ['{ window: 1h }', 'max is missing'],
    ['{ window: 1h, zone: UTC, max: 1 }', 'has no time zone'],
    ['{ window: day, zone: Europe/Berlim, max: 1 }', 'like Europe/Berlin'],
    ['{ window: day, zone: "+01:00", max: 1 }', '"+01:00" is not a time zone'],
    ['{ window: day, zone: "", max: 1 }', '"" is not a time zone'],
    ['{ per: [userid], window: 1h, max: 1 }', 'did you mean userId?'],
    ['{ per: [to], window: 1h, max: 1 }', 'a payment callback has no member "to"'],
    ['{ per: userId, window: 1h, max: 1 }', 'a list of members to count by'],
    ['{ per: [a,b,c,d,e,f,g,h,i], window: 1h, max: 1 }', 'at most 8 members'],
  ])('%s is a fault', (parameters, fault) => {
    const faults = ruleFaults(`window-limit: ${parameters}`, 'payment', '{ symbol: USDT1742 }');
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
  });

  it.each(['{ source: shop }', '{ symbol: [BTC, ETH] }', '{ userId: 1 }'])(
    'will not sum different coins: when %s',
    (when) => {
      expect(ruleFaults('window-limit: { per: [userId], window: 1h, max: 1 }', 'payment', when)).toEqual([
        expect.stringContaining(
          'sum amounts of different coins; name exactly one symbol under when, or add symbol to per',
        ),
      ]);
    },
  );

  it.each([
    ['payment', '{ payCoinSymbol: USDT1742 }', '[userId]'],
    ['payment', '{ symbol: [USDT1742, USDT1742] }', '[userId]'],
    ['payment', '{}', '[payCoinSymbol]'],
    ['web3', '{}', '[main_chain_symbol]'],
  ])('sums one coin at a time: %s, when %s, per %s', (kind, when, per) => {
    expect(ruleFaults(`window-limit: { per: ${per}, window: 1h, max: 1 }`, kind, when)).toEqual([]);
  });
});

describe('window-limit by asset', () => {
  const RULE = 'window-limit: { by: asset, per: [userId], window: 24h, max: { USDT1742: 50000, BTC: 0.5 } }';
  const claimOf = (rule: string, payCoinSymbol: string, when?: string): WindowClaim | undefined =>
    windowsOf(judged(rule, payment({ payCoinSymbol }), when === undefined ? {} : { when }).claims)[0];

  it('claims room under the maximum of the callback’s own symbol', () => {
    expect(claimOf(RULE, 'USDT1742')?.max).toBe(parseAmount('50000'));
    expect(claimOf(RULE, 'BTC')?.max).toBe(parseAmount('0.5'));
    expect(judged(RULE, payment({ payCoinSymbol: 'BTC' })).result).toMatchObject({
      because: '100 more for symbol BTC, userId 12345 in 24h, of at most 0.5',
      values: { symbol: 'BTC', userId: '12345', asked: '100', max: '0.5', window: '24h' },
    });
  });

  it('counts each symbol under a key of its own, the same as with symbol in per, whatever the maxima', () => {
    const [usdt, btc] = [claimOf(RULE, 'USDT1742')?.key, claimOf(RULE, 'BTC')?.key];
    expect(usdt).not.toBe(btc);
    const other = 'window-limit: { by: asset, per: [symbol, userId], window: 1d, max: { USDT1742: 1 } }';
    expect(claimOf(other, 'USDT1742')?.key).toBe(usdt);
    expect(claimOf('window-limit: { per: [userId, symbol], window: 24h, max: 7 }', 'BTC')?.key).toBe(btc);
    expect(claimOf(RULE, 'BTC', '{ symbol: BTC }')?.key).toBe(btc);
    expect(claimOf(RULE, 'BTC', '{ symbol: [BTC, ETH] }')?.key).toBe(btc);
  });

  it.each(['ETH', 'btc', 'USDT174'])('refuses %s, which the table does not name', (payCoinSymbol) => {
    const { result, claims } = judged(RULE, payment({ payCoinSymbol }));
    expect(result).toMatchObject({
      verdict: 'refuse',
      because: `${payCoinSymbol} is not in the table`,
      values: { symbol: payCoinSymbol },
    });
    expect(claims).toEqual([]);
  });

  it('counts a withdrawal for each address under its symbol', () => {
    const rule = 'window-limit: { by: asset, per: [to], window: 1h, max: { ETH: 9 } }';
    const callback = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });
    const each = windowsOf(judged(rule, callback).claims);
    expect(each.map(({ amount }) => amount)).toEqual([parseAmount('1'), parseAmount('2')]);
    expect(new Set(each.map((claim) => claim.key)).size).toBe(2);
  });

  it('refuses an unlimited amount', () => {
    const { result } = judged(
      'window-limit: { by: asset, window: 1h, max: { ETH: 9 } }',
      web3({ amount: -1 }),
    );
    expect(result).toMatchObject({ verdict: 'refuse', because: 'the amount is unlimited' });
  });

  it.each([
    ['{ by: asset, window: 1h, max: 1 }', 'window-limit.by: asset is given, but no limit is a table'],
    ['{ window: 1h, max: { BTC: 1 } }', 'max: a table is given, but by: asset is missing'],
    ['{ by: asset, window: 1h }', 'max is missing'],
    ['{ by: asset, window: 1h, max: { BTC: x } }', 'max.BTC: "x" is not valid'],
  ])('%s is a fault', (parameters, fault) => {
    const faults = ruleFaults(`window-limit: ${parameters}`, 'payment', '{ symbol: BTC }');
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
  });

  it('beside a rule that counts by symbol already, it is a fault', () => {
    const twin = 'window-limit: { per: [userId, symbol], window: 24h, max: 1 }';
    expect(ruleFaults(`${RULE}\n  - ${twin}`)).toEqual([
      expect.stringContaining('the same counter as rule 1'),
    ]);
  });
});
