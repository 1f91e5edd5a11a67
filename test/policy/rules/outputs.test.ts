import { describe, expect, it } from 'vitest';
import { A, B, C, judged, outputs, ruleFaults, transfer } from '../callbacks.ts';

const toThree = transfer({ amount: '6', ...outputs([A, '1'], [B, '2'], [C, '3']) });

describe('outputs', () => {
  it.each([
    ['{ max: 3 }', toThree],
    ['{ max: 999999 }', toThree],
    ['{ max: 1 }', transfer()],
    ['{ max: 1 }', transfer({ amount: '3', ...outputs([A, '1'], [A, '2']) })],
    ['{ max: 3, maxEach: 3 }', toThree],
    ['{ max: 1, maxEach: 1.5 }', transfer()],
    ['{ max: 3, by: asset, maxEach: { ETH: 3, BTC: 0 } }', toThree],
  ])('%s lets pass', (parameters, callback) => {
    expect(judged(`outputs: ${parameters}`, callback).result.verdict).toBe('pass');
  });

  it.each([
    ['{ max: 2 }', toThree, 'it pays 3 addresses, more than 2'],
    ['{ max: 1 }', toThree, 'it pays 3 addresses, more than 1'],
    ['{ max: 3, maxEach: 2 }', toThree, `to ${C}: 3 is above the maximum 2 for one address`],
    ['{ max: 3, maxEach: 1 }', toThree, `to ${B.toLowerCase()} and 1 more: 2 is above the maximum 1`],
    [`{ max: 3, maxEach: 2.${'9'.repeat(36)} }`, toThree, '3 is above the maximum 2.9'],
    ['{ max: 1, maxEach: 1.4 }', transfer(), '1.5 is above the maximum 1.4 for one address'],
    [
      '{ max: 2, maxEach: 2 }',
      transfer({ amount: '3', ...outputs([A, '1.5'], [A, '1.5']) }),
      '3 is above the maximum 2 for one address',
    ],
    ['{ max: 3, by: asset, maxEach: { BTC: 3 } }', toThree, 'ETH is not in the table'],
    ['{ max: 3, by: asset, maxEach: { eth: 3 } }', toThree, 'ETH is not in the table'],
    ['{ max: 3, by: asset, maxEach: { ETH: 2, BTC: 3 } }', toThree, '3 is above the maximum 2'],
  ])('%s refuses: %#', (parameters, callback, because) => {
    const { result, proposal } = judged(`outputs: ${parameters}`, callback);
    expect(result.verdict).toBe('refuse');
    expect(result.because).toContain(because);
    expect(proposal.retryable).toBe(false);
  });

  it('says which address is paid too much, and how many there are', () => {
    expect(judged('outputs: { max: 5, maxEach: 2.5 }', toThree).result.values).toEqual({
      addresses: '3',
      max: '5',
      maxEach: '2.5',
      to: C,
      amount: '3',
    });
  });

  it.each([
    ['{}', 'max is missing'],
    ['{ maxEach: 1 }', 'max is missing'],
    ['{ max: 0 }', '"0" is not valid; write a whole number above zero'],
    ['{ max: 1.5 }', '"1.5" is not valid'],
    ['{ max: 1000000 }', 'of at most 6 digits'],
    ['{ max: 1, maxEach: -1 }', '"-1" is not valid'],
    ['{ max: 1, by: asset }', 'by: asset is given, but no limit is a table; write a table, like maxEach: {'],
    ['{ max: 1, by: asset, maxEach: 1 }', 'by: asset is given, but no limit is a table'],
    ['{ max: 1, maxEach: { ETH: 1 } }', 'maxEach: a table is given, but by: asset is missing'],
    ['{ max: 1, each: 1 }', 'known here: max, maxEach, by'],
  ])('%s is a fault', (parameters, fault) => {
    const faults = ruleFaults(`outputs: ${parameters}`, 'transfer');
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(fault);
  });

  it.each(['payment', 'web3'])('is not for a %s', (kind) => {
    expect(ruleFaults('outputs: { max: 1 }', kind)).toEqual([
      expect.stringContaining(`can't judge a ${kind}`),
    ]);
  });
});
