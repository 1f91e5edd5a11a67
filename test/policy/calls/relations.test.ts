import { describe, expect, it } from 'vitest';
import type { Release } from '../../../src/policy/release.ts';
import { NOON, evaluateAt, faultsOf, pricesOf, release } from '../callbacks.ts';
import { ME, PARTNER, ROUTER, THIEF, call, callbackOf, multicall } from './transactions.ts';
import { tablesOf, string } from '../../cases.ts';

const ABI = `swap(uint256 amountIn, uint256 amountOutMin, address to, uint256 deadline)
swaps((uint256 amountIn, uint256 amountOutMin)[] each, uint256 total)
lists(uint256[] amountsIn, uint256[] amountsOut)
expire(uint48 until, int256 when)
`;
const FILES = { 'own.abi': ABI };
const ASSETS = `assets:
  USDT: { chain: evm, decimals: 6 }
  USDC: { chain: evm, decimals: 6 }
  ETH: { chain: evm, decimals: 18 }
  BTC: { chain: bitcoin, decimals: 8 }
`;
const UNIT = 1_000_000n;
const ETHER = 10n ** 18n;
const SWAP = 'swap(uint256,uint256,address,uint256)';
/** The end of what holds for ever. */
const FOREVER = Number.MAX_SAFE_INTEGER;
const NOON_S = BigInt(NOON / 1000);

const policy = (...entries: readonly string[]): string => `policy: one
callback: web3
when: { main_chain_symbol: ETH }
rules:
  - contract-calls:
      abis: own.abi
      multicall: { depth: 1, calls: 16 }
      calls:
        - { contract: '${ROUTER}', method: 'multicall(bytes[])' }
${entries.map((each) => `        - { contract: '${ROUTER}', ${each} }\n`).join('')}`;
const swapEntry = (where: string): string => `method: '${SWAP}', where: ${where}`;
const inForce = (...entries: readonly string[]): Release => release(policy(...entries), FILES, ASSETS);
const faults = (...entries: readonly string[]): readonly string[] =>
  faultsOf(policy(...entries), FILES, ASSETS).map((fault) =>
    fault.replace(/^a\.yaml:\d+:\d+: rules\[0\]\.contract-calls\.calls\[\d\]\.?/, ''),
  );

const proposed = (
  compiled: Release,
  data: string,
  nowMs = NOON,
  facts: Parameters<typeof evaluateAt>[3] = {},
) => {
  const proposal = evaluateAt(compiled, callbackOf({ contract: ROUTER, data }), nowMs, facts);
  const [result] = proposal.results;
  if (result === undefined) throw new Error('the policy did not apply');
  return { ...result, proposal };
};

const swap = (deadline: bigint, amountIn = 1n, amountOutMin = 1n): string =>
  call(SWAP, amountIn, amountOutMin, ME, deadline);

describe('a deadline within an hour', () => {
  const compiled = inForce(
    swapEntry('{ amountIn: any, amountOutMin: any, to: any, deadline: { within: 1h } }'),
  );
  const HOUR = 3600n;

  it.each<[string, bigint]>([
    ['now', NOON_S],
    ['in a second', NOON_S + 1n],
    ['in exactly an hour', NOON_S + HOUR],
  ])('passes: %s', (_, deadline) => {
    expect(proposed(compiled, swap(deadline)).verdict).toBe('pass');
  });

  it.each<[string, bigint, string]>([
    ['a second later', NOON_S + HOUR + 1n, 'deadline 2024-03-15T13:00:01Z is more than 1h ahead'],
    ['never', 2n ** 256n - 1n, `deadline ${2n ** 256n - 1n} is more than 1h ahead`],
    ['in milliseconds', NOON_S * 1000n, `deadline ${NOON_S * 1000n} is more than 1h ahead`],
    ['above what a number can hold', 2n ** 53n, `deadline ${2n ** 53n} is more than 1h ahead`],
    ['a second ago', NOON_S - 1n, 'deadline 2024-03-15T11:59:59Z has passed'],
    ['zero, which some contracts take for none', 0n, 'deadline 1970-01-01T00:00:00Z has passed'],
  ])('refuses: %s', (_, deadline, because) => {
    const { verdict, because: found, values, proposal } = proposed(compiled, swap(deadline));
    expect({ verdict, found }).toEqual({ verdict: 'refuse', found: because });
    expect(values).toMatchObject({ argument: 'deadline', method: SWAP });
    expect(proposal.retryable).toBe(true);
  });

  it('says for which instants that is so, and decides otherwise right outside of them', () => {
    for (const deadline of [NOON_S, NOON_S + 600n, NOON_S + HOUR, NOON_S + HOUR + 1n, NOON_S - 1n]) {
      const data = swap(deadline);
      const { verdict, proposal } = proposed(compiled, data);
      const { validFromMs, validUntilMs } = proposal;
      expect(validFromMs).toBeLessThanOrEqual(NOON);
      expect(validUntilMs).toBeGreaterThan(NOON);
      for (const atMs of [validFromMs, validUntilMs - 1]) {
        expect([deadline, atMs, proposed(compiled, data, atMs).verdict]).toEqual([deadline, atMs, verdict]);
      }
      const outside = [validFromMs - 1, validUntilMs].filter((atMs) => atMs > 0 && atMs < FOREVER);
      expect(outside.length).toBeGreaterThan(0);
      for (const atMs of outside) expect(proposed(compiled, data, atMs).verdict).not.toBe(verdict);
    }
  });

  it('holds for each call of a transaction, and for the shortest of their times', () => {
    const data = multicall(swap(NOON_S + HOUR), swap(NOON_S + 60n));
    const { verdict, proposal } = proposed(compiled, data);
    expect(verdict).toBe('pass');
    expect(proposal).toMatchObject({ validFromMs: NOON, validUntilMs: NOON + 60_001 });
    expect(proposed(compiled, multicall(swap(NOON_S), swap(NOON_S - 1n)))).toMatchObject({
      verdict: 'refuse',
      because: 'call 2: deadline 2024-03-15T11:59:59Z has passed',
    });
  });

  it('leaves a refusal for another reason as it is', () => {
    const strict = inForce(
      swapEntry(
        `{ amountIn: { max: 5, decimals: 0 }, amountOutMin: any, to: any, deadline: { within: 1h } }`,
      ),
    );
    const { verdict, proposal } = proposed(strict, swap(NOON_S + 1n, 6n));
    expect(verdict).toBe('refuse');
    expect(proposal).toMatchObject({ retryable: false, validFromMs: 0 });
    const both = proposed(strict, multicall(swap(NOON_S + 1n, 3n), swap(NOON_S + 1n, 3n)));
    expect(both.because).toContain('is 6 over all calls together');
    expect(both.proposal.retryable).toBe(false);
  });

  it('of two entries, one with another time, lets pass what one of them allows', () => {
    const two = inForce(
      swapEntry('{ amountIn: any, amountOutMin: any, to: any, deadline: { within: 1h } }'),
      swapEntry(`{ amountIn: any, amountOutMin: any, to: { values: '${ME}' }, deadline: { within: 2h } }`),
    );
    const { verdict, proposal } = proposed(two, swap(NOON_S + HOUR + 600n));
    expect({ verdict, retryable: proposal.retryable }).toEqual({ verdict: 'pass', retryable: false });
    // Within 600 seconds, the first entry allows it too.
    expect(proposal.validUntilMs).toBe(NOON + 600_000);
    expect(proposed(two, swap(NOON_S + 2n * HOUR + 1n))).toMatchObject({
      verdict: 'refuse',
      because: expect.stringContaining(
        'is more than 1h ahead; deadline 2024-03-15T14:00:01Z is more than 2h ahead',
      ),
    });
  });
});

const rowsOf = tablesOf(new URL('cases/relations.yaml', import.meta.url));

it.each(rowsOf('faults', string, string, string))('a relation is at fault with %s', (_, entry, fault) => {
  expect(faults(entry)).toEqual([fault]);
});

describe('an amount that is at least a share of another', () => {
  const where = (out: string, amountIn = '{ max: 100000, asset: USDT }'): string =>
    swapEntry(`{ amountIn: ${amountIn}, amountOutMin: ${out}, to: any, deadline: any }`);
  const compiled = inForce(where(`{ asset: USDT, atLeast: { share: 99.5 %, of: amountIn } }`));
  const verdict = (amountIn: bigint, out: bigint, of = compiled): string =>
    proposed(of, swap(0n, amountIn, out)).verdict;

  it.each<[bigint, bigint, string]>([
    [1000n * UNIT, 995n * UNIT, 'pass'],
    [1000n * UNIT, 995n * UNIT - 1n, 'refuse'],
    [1000n * UNIT, 1000n * UNIT, 'pass'],
    [1000n * UNIT, 0n, 'refuse'],
    // 99.5 % of one unit is more than nothing.
    [1n, 0n, 'refuse'],
    [1n, 1n, 'pass'],
    [201n, 199n, 'refuse'],
    [200n, 199n, 'pass'],
    [0n, 0n, 'refuse'],
    [0n, 5n, 'refuse'],
  ])('exactly: of %s, %s: %s', (amountIn, out, expected) => {
    expect(verdict(amountIn, out)).toBe(expected);
  });

  it('exactly also with other decimals, to the last digit', () => {
    const other = inForce(
      where(
        `{ decimals: 18, atLeast: { share: 99.500000000000000001 %, of: amountIn } }`,
        '{ max: 100000, decimals: 6 }',
      ),
    );
    const least = 995_000_000_000_000_000_010n;
    expect(verdict(1000n * UNIT, least, other)).toBe('pass');
    expect(verdict(1000n * UNIT, least - 1n, other)).toBe('refuse');
  });

  it('says what is missing', () => {
    expect(proposed(compiled, swap(0n, 1000n * UNIT, 990n * UNIT))).toMatchObject({
      verdict: 'refuse',
      because: 'amountOutMin 990 is below 99.5 % of amountIn 1000',
      values: { argument: 'amountOutMin', found: '990' },
      proposal: { retryable: false, prices: 0, validFromMs: 0 },
    });
    expect(proposed(compiled, swap(0n, 0n, 1n)).because).toBe(
      'amountIn is 0, and a share of nothing limits nothing',
    );
  });

  it('in each item of a list', () => {
    const SWAPS = 'swaps((uint256,uint256)[],uint256)';
    const each = inForce(
      `method: '${SWAPS}', where: { each.amountIn: { max: 9, decimals: 0 }, each.amountOutMin: { decimals: 0, atLeast: { share: 50%, of: each.amountIn } }, total: any }`,
    );
    const swaps = (...items: readonly (readonly [bigint, bigint])[]): string =>
      proposed(each, call(SWAPS, items, 0n)).verdict;
    expect(swaps([4n, 2n], [2n, 1n])).toBe('pass');
    expect(swaps([4n, 1n], [2n, 2n])).toBe('refuse');
    expect(swaps([4n, 2n], [2n, 0n])).toBe('refuse');
    expect(swaps()).toBe('refuse');
  });

  it('in each item of a list, of an argument outside of it', () => {
    const SWAPS = 'swaps((uint256,uint256)[],uint256)';
    const each = inForce(
      `method: '${SWAPS}', where: { each.amountIn: any, each.amountOutMin: { decimals: 0, atLeast: { share: 50 %, of: total } }, total: { max: 100, decimals: 0 } }`,
    );
    expect(
      proposed(
        each,
        call(
          SWAPS,
          [
            [0n, 5n],
            [0n, 6n],
          ],
          10n,
        ),
      ).verdict,
    ).toBe('pass');
    expect(
      proposed(
        each,
        call(
          SWAPS,
          [
            [0n, 5n],
            [0n, 4n],
          ],
          10n,
        ),
      ).verdict,
    ).toBe('refuse');
  });

  it('also if the amount is unlimited where that is allowed', () => {
    const unlimited = inForce(
      `${where(`{ asset: USDT, atLeast: { share: 99.5 %, of: amountIn } }`)}, unlimited: allowed`,
    );
    expect(verdict(2n ** 255n, 5n, unlimited)).toBe('refuse');
    expect(verdict(2n ** 255n, 2n ** 255n, unlimited)).toBe('pass');
  });

  describe('of another token, by their prices', () => {
    const byPrice = inForce(where(`{ asset: ETH, atLeast: { share: 99 %, of: amountIn, maxAge: 10m } }`));
    const prices = pricesOf({ USDT: '1.0001', ETH: '3500' });
    const found = (amountIn: bigint, out: bigint, nowMs = NOON, table = prices) =>
      proposed(byPrice, swap(0n, amountIn, out), nowMs, { prices: table });

    it('exactly', () => {
      // 99 % of 3500 USDT at 1.0001 is 3465.3465, which is 0.990099 ETH.
      expect(found(3500n * UNIT, 990_099_000_000_000_000n).verdict).toBe('pass');
      expect(found(3500n * UNIT, 990_098_999_999_999_999n)).toMatchObject({
        verdict: 'refuse',
        because:
          'amountOutMin 0.990098999999999999 is below 99 % of amountIn 3500 (ETH at 3500, USDT at 1.0001)',
      });
    });

    it('that are not older than allowed, as of the version in force', () => {
      const { proposal } = found(3500n * UNIT, ETHER);
      expect(proposal).toMatchObject({ prices: 1, validFromMs: NOON - 60_000, validUntilMs: NOON + 600_001 });
      expect(found(3500n * UNIT, ETHER, NOON + 600_000).verdict).toBe('pass');
      expect(found(3500n * UNIT, ETHER, NOON + 600_001)).toMatchObject({
        verdict: 'refuse',
        because: expect.stringContaining('is older than 10m'),
        proposal: { retryable: true, prices: 1 },
      });
    });

    it.each<[string, Parameters<typeof pricesOf>[0], string]>([
      ['either is missing', { USDT: '1' }, 'there is no price for ETH'],
      ['the other is missing', { ETH: '3500' }, 'there is no price for USDT'],
      ['one is zero', { USDT: '1', ETH: '0' }, 'is not above zero'],
      ['one is dated in the future', { USDT: ['1', NOON + 60_001], ETH: '1' }, 'is dated in the future'],
    ])('and refuses if %s', (_, table, because) => {
      const result = found(3500n * UNIT, ETHER, NOON, pricesOf(table));
      expect(result).toMatchObject({ verdict: 'refuse', proposal: { retryable: true, prices: 1 } });
      expect(result.because).toContain(because);
      // It counts for no lock-out, because it says nothing about the transaction.
      expect(result.proposal.failed).toBe(true);
    });

    it('and a refusal counts for lock-outs if something other than a price refuses as well', () => {
      const both = inForce(
        where('{ asset: ETH, atLeast: { share: 99 %, of: amountIn, maxAge: 10m } }').replace(
          'deadline: any',
          'deadline: { within: 1h }',
        ),
      );
      const refused = (deadline: bigint, table: Parameters<typeof pricesOf>[0]) =>
        proposed(both, swap(deadline, 3500n * UNIT, 1n), NOON, { prices: pricesOf(table) }).proposal;
      const inTime = NOON_S + 60n;
      expect(refused(NOON_S - 1n, {})).toMatchObject({ approves: false });
      expect(refused(NOON_S - 1n, {}).failed).toBeUndefined();
      expect(refused(inTime, {}).failed).toBe(true);
      expect(refused(inTime, { USDT: '1', ETH: '3500' }).failed).toBeUndefined();
    });

    it('declares the strictest age, for whoever keeps the prices', () => {
      const two = inForce(
        where(`{ asset: ETH, atLeast: { share: 99 %, of: amountIn, maxAge: 1h } }`),
        where(`{ asset: USDC, atLeast: { share: 99 %, of: amountIn, maxAge: 90s } }`),
      );
      expect(two.policies[0]?.rules[0]?.maxPriceAge).toEqual({ text: '90s', ms: 90_000 });
      expect(compiled.policies[0]?.rules[0]?.maxPriceAge).toBeUndefined();
    });
  });
});

describe('an address that is the caller', () => {
  const compiled = inForce(
    swapEntry('{ amountIn: any, amountOutMin: any, to: { is: caller }, deadline: any }'),
  );
  it('is the sender of a call of its own, and of a call that a contract makes of itself', () => {
    expect(proposed(compiled, swap(0n)).verdict).toBe('pass');
    expect(proposed(compiled, multicall(swap(0n))).verdict).toBe('pass');
    for (const other of [THIEF, PARTNER, ROUTER]) {
      const { verdict, because } = proposed(compiled, call(SWAP, 1n, 1n, other, 0n));
      expect({ verdict, because }).toEqual({
        verdict: 'refuse',
        because: `to ${other} is not the caller ${ME}`,
      });
    }
  });
});
