import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { perform } from '../../src/act/act.ts';
import { setPrices as act } from '../../src/act/prices.ts';
import { type WrittenPrice, pricesJson } from '../../src/orders/prices.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';

const NOON = Date.parse('2026-03-02T12:00:00Z');
const BTC: WrittenPrice = { asset: 'BTC', price: '97000' };

async function openStore(): Promise<Store> {
  const path = join(mkdtempSync(join(tmpdir(), 'countersign-prices-')), 'store.db');
  const store = await openEmbeddedStore({ path, clock: () => NOON });
  onTestFinished(() => store.close());
  return store;
}

const setPrices = async (store: Store, prices: readonly WrittenPrice[]) =>
  (await perform(act, { store, clock: () => NOON }, { prices }, { by: 'ana', fourEyes: undefined })).table;

describe('setting prices', () => {
  it('takes the time now unless one is given, and keeps amounts exact', async () => {
    const store = await openStore();
    const small = { asset: 'ETH', price: '0.000000000000000001', asOf: '2026-03-02T11:00:00Z' };
    const table = await setPrices(store, [BTC, small]);
    expect(pricesJson(table)).toMatchObject({
      prices: {
        BTC: { price: '97000', asOf: '2026-03-02T12:00:00.000Z' },
        ETH: { price: '0.000000000000000001', asOf: '2026-03-02T11:00:00.000Z' },
      },
    });
  });

  it('takes a time up to a minute ahead', async () => {
    const store = await openStore();
    const ahead = { ...BTC, asOf: '2026-03-02T12:01:00Z' };
    expect((await setPrices(store, [ahead])).prices.size).toBe(1);
  });

  it.each<[string, readonly WrittenPrice[], string]>([
    ['a price of zero', [{ ...BTC, price: '0' }], 'a plain decimal above zero'],
    ['a price below zero', [{ ...BTC, price: '-1' }], 'a plain decimal above zero'],
    ['a price with a comma', [{ ...BTC, price: '1,5' }], 'a plain decimal above zero'],
    ['an asset with a blank', [{ ...BTC, asset: 'B TC' }], 'is not an asset'],
    ['a time more than a minute ahead', [{ ...BTC, asOf: '2026-03-02T12:01:00.001Z' }], 'is in the future'],
    ['a time without an offset', [{ ...BTC, asOf: '2026-03-02T12:00:00' }], 'of BTC is not valid'],
    ['an asset twice', [BTC, BTC], 'BTC appears twice'],
  ])('refuses %s, and sets nothing', async (_, written, message) => {
    const store = await openStore();
    const others = [{ ...BTC, asset: 'ETH' }, ...written];
    await expect(setPrices(store, others)).rejects.toMatchObject({
      code: 'PRICE_INVALID',
      message: expect.stringContaining(message) as string,
    });
    expect((await store.prices()).version).toBe(0);
  });
});
