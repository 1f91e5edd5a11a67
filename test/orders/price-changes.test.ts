import { describe, expect, it } from 'vitest';
import { afterText, beforeText, priceChanges } from '../../src/orders/price-changes.ts';
import type { PriceHistoryEntry, PriceHistoryQuery } from '../../src/store/store.ts';

/** A history whose oldest changes were deleted, if it does not begin at 1. */
function historyOf(entries: readonly PriceHistoryEntry[]) {
  const read: number[] = [];
  return {
    read,
    priceHistory({ before = 0, limit }: PriceHistoryQuery) {
      const found = entries
        .toReversed()
        .filter(({ version }) => version < before)
        .slice(0, limit);
      read.push(found.length);
      return Promise.resolve(found);
    },
  };
}

const set = (version: number, ...assets: readonly string[]): PriceHistoryEntry => ({
  version,
  atMs: version,
  by: 'ada',
  remove: [],
  set: assets.map((asset) => ({ asset, price: BigInt(version) * 10n ** 36n, asOfMs: 0 })),
});
const texts = (changes: Awaited<ReturnType<typeof priceChanges>>['changes']) =>
  changes.map((change) => `${change.asset} ${beforeText(change)} ${afterText(change)}`);
const never = (): boolean => false;

describe('changes of prices', () => {
  it('are none without a history', async () => {
    expect(await priceChanges(historyOf([]), { most: 5, isOver: never })).toEqual({
      changes: [],
      more: false,
    });
  });

  it('have what each price was before, also if that is many changes ago', async () => {
    const history = historyOf([
      set(1, 'OLD', 'BTC'),
      ...Array.from({ length: 60 }, (_, at) => set(at + 2, 'BTC')),
      set(62, 'OLD'),
    ]);
    const { changes, more } = await priceChanges(history, { most: 2, isOver: never });
    expect(texts(changes)).toEqual(['OLD 1 62', 'BTC 60 61']);
    expect(more).toBe(true);
  });

  it('end at the bound, and say that a price before is not known', async () => {
    const history = historyOf(Array.from({ length: 100 }, (_, at) => set(at + 1, `A${at}`)));
    const { changes, more } = await priceChanges(history, { most: 50, isOver: (looked) => looked >= 20 });
    expect(history.read).toEqual([20]);
    expect(changes).toHaveLength(20);
    expect(texts(changes)[0]).toBe('A99 ? 100');
    expect(more).toBe(true);
  });

  it('end where the history was deleted', async () => {
    const history = historyOf([set(31, 'BTC'), set(32, 'BTC', 'ETH')]);
    const { changes, more } = await priceChanges(history, { most: 50, isOver: never });
    expect(texts(changes)).toEqual(['BTC 31 32', 'ETH ? 32', 'BTC ? 31']);
    expect(more).toBe(false);
  });

  it('are found also where versions were left out, as after a restart of Redis', async () => {
    const history = historyOf([set(1, 'BTC'), set(2, 'BTC'), set(1_795_642_532_177_205, 'BTC')]);
    const { changes, more } = await priceChanges(history, { most: 50, isOver: never });
    expect(texts(changes)).toEqual(['BTC 2 1795642532177205', 'BTC 1 2', 'BTC none 1']);
    expect(more).toBe(false);
  });

  it('say that a price before is not known if the history ends with a whole page', async () => {
    const history = historyOf(Array.from({ length: 20 }, (_, at) => set(at + 30, 'BTC')));
    const { changes, more } = await priceChanges(history, { most: 50, isOver: never });
    expect([texts(changes).at(-1), more]).toEqual(['BTC ? 30', false]);
  });

  it('of as many as are wanted are all there are, if the history begins with them', async () => {
    const { changes, more } = await priceChanges(historyOf([set(1, 'A', 'B')]), { most: 2, isOver: never });
    expect([texts(changes), more]).toEqual([['A none 1', 'B none 1'], false]);
  });
});
