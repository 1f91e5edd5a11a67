import { describe, expect, it } from 'vitest';
import { compileRelease } from '../../../src/policy/compile.ts';
import { NO_ASSETS, NOON, evaluateAt, faultsOf, release } from '../callbacks.ts';
import { ADDRESSES, ME, ROUTER, call, callbackOf, multicall } from './transactions.ts';
import { tablesOf, string } from '../../cases.ts';
import { asCallData } from './written.ts';

const ABI = `payout(address[] to, uint256[] amounts)
stake(uint256 assets, address receiver)
shift(int256 delta)
settle((address to, uint256 amount)[] legs, uint256 deadline)
`;

const entry = (method: string, where: string): string => `policy: one
callback: web3
when: { main_chain_symbol: ETH }
rules:
  - contract-calls:
      abis: own.abi
      multicall: { depth: 1, calls: 16 }
      calls:
        - { contract: '${ROUTER}', method: 'multicall(bytes[])' }
        - { contract: '${ROUTER}', method: '${method}', where: ${where} }
`;
const FILES = { 'own.abi': ABI };
const faults = (method: string, where: string): readonly string[] => faultsOf(entry(method, where), FILES);

const verdict = (method: string, where: string, data: string): string => {
  const inForce = release(entry(method, where), FILES);
  const proposal = evaluateAt(inForce, callbackOf({ contract: ROUTER, data }), NOON);
  return proposal.results[0]?.verdict ?? 'none';
};

const payout = (...amounts: readonly bigint[]): string =>
  call(
    'payout(address[],uint256[])',
    amounts.map(() => ME),
    amounts,
  );

const shift = (delta: bigint): string => call('shift(int256)', delta);

const rowsOf = tablesOf(new URL('cases/limits-are-of-the-transaction.yaml', import.meta.url), ADDRESSES);

describe('a limit on an argument of an own ABI is at fault', () => {
  it.each(rowsOf('faults', string, string, string, string))(
    'without decimals: %s',
    (_, method, where, fault) => {
      expect(faults(method, where)).toEqual([expect.stringContaining(fault)]);
    },
  );

  it('but sound with decimals, with each: true, and where it limits each value', () => {
    expect(faults('shift(int256)', '{ delta: { max: 1000, decimals: 0 } }')).toEqual([]);
    expect(faults('shift(int256)', '{ delta: { max: 1000, each: true } }')).toEqual([]);
    expect(faults('shift(int256)', '{ delta: { min: 1 } }')).toEqual([]);
    expect(faults('shift(int256)', '{ delta: { min: 0 } }')).toEqual([]);
    expect(faults('shift(int256)', '{ delta: { values: [1, 2] } }')).toEqual([]);
    expect(faults('shift(int256)', '{ delta: { min: -5, decimals: 0 } }')).toEqual([]);
    expect(faults('shift(int256)', '{ delta: { min: -5, each: true } }')).toEqual([]);
    expect(faults('shift(int256)', '{ delta: { min: -5, max: 5, each: true } }')).toEqual([]);
  });

  it('with each: true it limits each value', () => {
    const where = '{ delta: { min: -5, each: true } }';
    const calls = Array.from({ length: 16 }, () => shift(-5n));
    expect(verdict('shift(int256)', where, multicall(...calls))).toBe('pass');
    expect(verdict('shift(int256)', where, multicall(shift(-5n), shift(-6n)))).toBe('refuse');
    expect(verdict('shift(int256)', where, multicall(shift(900n), shift(-5n)))).toBe('pass');
  });
});

describe('a maximum with decimals is for the whole transaction', () => {
  it.each(rowsOf('sums', string, string, string, asCallData, string))(
    '%s',
    (_, method, where, data, expected) => {
      expect(verdict(method, where, data)).toBe(expected);
    },
  );

  it('and so is a minimum below zero, which limits what goes the other way', () => {
    const where = '{ delta: { min: -1000, max: 1000, decimals: 0 } }';
    expect(verdict('shift(int256)', where, multicall(shift(-400n), shift(-600n)))).toBe('pass');
    expect(verdict('shift(int256)', where, multicall(shift(-400n), shift(-601n)))).toBe('refuse');
    // What goes one way makes no room for what goes the other.
    expect(verdict('shift(int256)', where, multicall(shift(1000n), shift(-1000n), shift(1n)))).toBe('refuse');
  });

  it('also without a maximum, which leaves amounts above zero without a limit', () => {
    const where = '{ delta: { min: -5, decimals: 0 } }';
    expect(verdict('shift(int256)', where, multicall(shift(-2n), shift(-3n)))).toBe('pass');
    expect(verdict('shift(int256)', where, multicall(shift(-5n), shift(-1n)))).toBe('refuse');
    expect(verdict('shift(int256)', where, multicall(shift(900n), shift(900n), shift(-5n)))).toBe('pass');
  });
});

describe('a revision that was put in force before such a limit was a fault', () => {
  it('still compiles, and holds a minimum below zero over the whole transaction', () => {
    const sound = release(entry('shift(int256)', '{ delta: { min: -5, decimals: 0 } }'), FILES, NO_ASSETS);
    const older = compileRelease(sound.document.replace('"decimals":"0",', ''));
    if (!older.ok) throw new Error(JSON.stringify(older.faults));
    expect(older.release.document).not.toContain('decimals');
    const resultOf = (...deltas: readonly bigint[]) => {
      const data = multicall(...deltas.map(shift));
      return evaluateAt(older.release, callbackOf({ contract: ROUTER, data }), NOON).results[0];
    };
    expect(resultOf(-2n, -3n, 900n)?.verdict).toBe('pass');
    expect(resultOf(-5n, -1n)).toMatchObject({
      verdict: 'refuse',
      because: 'call 2: delta of shift(int256) is -6 over all calls together, below the minimum -5',
      values: { sum: '-6', min: '-5' },
    });
    expect(resultOf(...Array.from({ length: 16 }, () => -5n))?.verdict).toBe('refuse');
    expect(resultOf(-6n)?.verdict).toBe('refuse');
  });

  it('still compiles, and holds the maximum over the whole transaction', () => {
    const sound = release(
      entry('payout(address[],uint256[])', '{ to: any, amounts: { max: 1000, decimals: 0 } }'),
      FILES,
      NO_ASSETS,
    );
    const older = compileRelease(sound.document.replace('"decimals":"0",', ''));
    if (!older.ok) throw new Error(JSON.stringify(older.faults));
    const of = (data: string): string | undefined =>
      evaluateAt(older.release, callbackOf({ contract: ROUTER, data }), NOON).results[0]?.verdict;
    expect(of(payout(400n, 600n))).toBe('pass');
    expect(of(payout(1000n, 1000n))).toBe('refuse');
    expect(of(multicall(payout(1000n), payout(1n)))).toBe('refuse');
  });
});
