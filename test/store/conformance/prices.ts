import { describe, expect } from 'vitest';
import type { PriceTable } from '../../../src/policy/facts.ts';
import type { PriceChange, Store } from '../../../src/store/store.ts';
import { REVISION, START_MS, priceChange, push, request, revisionOf, units, thaw } from '../requests.ts';
import { type OpenStore, testsOn } from './store-under-test.ts';

const SMALLEST = `0.${'0'.repeat(35)}1`;
const LARGEST = `${'9'.repeat(36)}.${'9'.repeat(36)}`;

function table(version: number, prices: Readonly<Record<string, string>>): PriceTable {
  const entries = Object.entries(prices).map(
    ([asset, price]) => [asset, { price: units(price), asOfMs: START_MS }] as const,
  );
  return { version, prices: new Map(entries) };
}

const assets = (count: number, from = 0): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`A${from + index}`, '1']));

export function describePrices(open: OpenStore): void {
  const it = testsOn(open);

  describe('prices', () => {
    it('are none at first, in version 0', async ({ empty: { store } }) => {
      expect(await store.prices()).toEqual({ version: 0, prices: new Map() });
      expect(await store.priceHistory({ after: 0, limit: 10 })).toEqual([]);
      expect(await store.control()).toMatchObject({ prices: 0 });
    });

    it('are set, to the last digit, for every handle', async ({ empty: { store, another } }) => {
      const prices = { BTC: '97000.5', DUST: SMALLEST, HUGE: LARGEST, 'a "b"\\é': '1', constructor: '2' };
      const changed = await store.changePrices(priceChange(prices));
      expect(changed).toEqual(table(1, prices));
      const other = await another();
      expect(await other.prices()).toEqual(changed);
      expect(await other.control()).toMatchObject({ prices: 1 });
    });

    it('rise in version by one with each change, and keep what the change does not name', async ({
      empty: { store },
    }) => {
      await store.changePrices(priceChange({ BTC: '1', ETH: '2' }));
      expect(await store.changePrices(priceChange({ ETH: '3', SOL: '4' }))).toEqual(
        table(2, { BTC: '1', ETH: '3', SOL: '4' }),
      );
      expect(await store.changePrices(priceChange({ ETH: '3' }))).toEqual(
        table(3, { BTC: '1', ETH: '3', SOL: '4' }),
      );
      expect(await store.changePrices(priceChange({ XRP: '5' }, { remove: ['BTC', 'SOL'] }))).toEqual(
        table(4, { ETH: '3', XRP: '5' }),
      );
      expect(await store.changePrices(priceChange({}, { remove: ['unheard of'] }))).toEqual(
        table(5, { ETH: '3', XRP: '5' }),
      );
      expect(await store.changePrices(priceChange({}, { remove: ['ETH', 'XRP'] }))).toEqual(table(6, {}));
      expect(await store.prices()).toEqual(table(6, {}));
    });

    it('keep the instant of which each is true', async ({ empty: { store } }) => {
      const price = units('1');
      await store.changePrices({
        set: [
          { asset: 'OLD', price, asOfMs: 0 },
          { asset: 'NEW', price, asOfMs: START_MS + 1 },
        ],
        remove: [],
        by: 'ada',
      });
      expect((await store.prices()).prices).toEqual(
        new Map([
          ['OLD', { price, asOfMs: 0 }],
          ['NEW', { price, asOfMs: START_MS + 1 }],
        ]),
      );
    });

    const faulty: readonly (readonly [string, PriceChange])[] = [
      ['of nothing', priceChange({})],
      ['of more than 1000 assets', priceChange(assets(1001))],
      ['of more than 1000 assets in all', priceChange(assets(1000), { remove: ['BTC'] })],
      [
        'that sets an asset twice',
        priceChange({}, { set: [...priceChange({ BTC: '1' }).set, ...priceChange({ BTC: '2' }).set] }),
      ],
      ['that removes an asset twice', priceChange({}, { remove: ['BTC', 'BTC'] })],
      ['that sets and removes an asset', priceChange({ BTC: '1' }, { remove: ['BTC'] })],
      ['to a price of zero', priceChange({ BTC: '0' })],
      [
        'to a price below zero',
        { set: [{ asset: 'BTC', price: -1n, asOfMs: START_MS }], remove: [], by: 'ada' },
      ],
    ];
    it.for(faulty)('refuse a change %s, whole', async ([, change], { empty: { store } }) => {
      await store.changePrices(priceChange({ ETH: '1' }));
      const before = await store.control();
      await expect(store.changePrices(change)).rejects.toMatchObject({ code: 'USAGE' });
      expect(await store.prices()).toEqual(table(1, { ETH: '1' }));
      expect(await store.control()).toEqual(before);
      expect(await store.priceHistory({ after: 0, limit: 10 })).toHaveLength(1);
    });

    it('take 1000 assets at once', async ({ empty: { store } }) => {
      expect((await store.changePrices(priceChange(assets(1000)))).prices.size).toBe(1000);
      const next = await store.changePrices(
        priceChange(assets(500, 1000), { remove: Object.keys(assets(500)) }),
      );
      expect(next.prices.size).toBe(1000);
    });

    it('keep their history: oldest first, after a version, as many as are asked for', async ({
      empty: { store, clock, another },
    }) => {
      const changes = [
        priceChange({ BTC: '97000.000000000000000000000000000000000001', ETH: '2' }),
        priceChange({ SOL: '4' }, { remove: ['ETH', 'a "b"\\é'], by: 'bob' }),
        priceChange({}, { remove: ['BTC'] }),
      ];
      for (const change of changes) {
        await store.changePrices(change);
        clock.advance(10);
      }
      const all = changes.map((change, index) => ({
        ...change,
        version: index + 1,
        atMs: START_MS + 10 * index,
      }));
      const other = await another();
      expect(await other.priceHistory({ after: 0, limit: 1000 })).toEqual(all);
      expect(await other.priceHistory({ after: 0, limit: 2 })).toEqual(all.slice(0, 2));
      expect(await other.priceHistory({ after: 1, limit: 1 })).toEqual(all.slice(1, 2));
      expect(await other.priceHistory({ after: 2, limit: 1000 })).toEqual(all.slice(2));
      expect(await other.priceHistory({ after: 3, limit: 1000 })).toEqual([]);
      const newest = all.toReversed();
      expect(await other.priceHistory({ before: Number.MAX_SAFE_INTEGER, limit: 1000 })).toEqual(newest);
      expect(await other.priceHistory({ before: 4, limit: 2 })).toEqual(newest.slice(0, 2));
      expect(await other.priceHistory({ before: 3, limit: 1 })).toEqual(newest.slice(1, 2));
      expect(await other.priceHistory({ before: 1, limit: 1000 })).toEqual([]);
    });

    it.for([
      { after: 0, limit: 0 },
      { after: 0, limit: 1001 },
      { after: 0, limit: 1.5 },
      { after: -1, limit: 1 },
      { after: 0.5, limit: 1 },
      { before: 0, limit: 1 },
      { before: 1.5, limit: 1 },
      { before: 2, limit: 0 },
    ])('refuse a look into the history with %j', async (query, { empty: { store } }) => {
      await expect(store.priceHistory(query)).rejects.toMatchObject({ code: 'USAGE' });
    });

    it('are kept by a push, a freeze and an unfreeze, as they keep those', async ({ store, settle }) => {
      await store.freeze({ reason: 'drill', by: 'ada' });
      await store.changePrices(priceChange({ BTC: '1' }));
      expect(await store.control()).toMatchObject({
        revision: REVISION,
        prices: 1,
        frozen: [{ reason: 'drill' }],
      });
      expect(await settle({ prices: 1 })).toMatchObject({ code: 'FROZEN' });
      expect(await thaw(store)).toMatchObject({ revision: REVISION, prices: 1 });
      const { control } = await store.push(push('second', REVISION));
      expect(control).toMatchObject({ revision: revisionOf('second'), prices: 1, frozen: [] });
      expect(await store.freeze({ reason: 'again', by: 'ada' })).toMatchObject({ control: { prices: 1 } });
      expect(await store.prices()).toEqual(table(1, { BTC: '1' }));
      expect(await store.history(10)).toHaveLength(2);
    });

    it('can be set before anything is in force', async ({ empty: { store } }) => {
      await store.register(['shop']);
      await store.changePrices(priceChange({ BTC: '1' }));
      await store.push(push('first', ''));
      expect(await store.settle(request({ prices: 1 }))).toMatchObject({ code: 'APPROVED' });
      expect(await store.settle(request({ subject: 'payment:2', prices: 2 }))).toMatchObject({
        outcome: 'stale',
      });
    });

    it('move the sequence of what is in force on, and are watched', async ({ store, another }) => {
      const other = await another();
      const before = await store.control();
      const noticed = new Promise<void>((resolve) => {
        const stop = store.watch(() => {
          stop();
          resolve();
        });
      });
      await other.changePrices(priceChange({ BTC: '1' }));
      await noticed;
      const after = await store.control();
      expect(after).toEqual({ ...before, sequence: after.sequence, prices: 1 });
      expect(after.sequence).toBeGreaterThan(before.sequence);
    });

    it('are kept when the store is opened again', async ({ store, reopen }) => {
      await store.changePrices(priceChange({ BTC: '1', ETH: '2' }));
      const [prices, control, history] = [
        await store.prices(),
        await store.control(),
        await store.priceHistory({ after: 0, limit: 10 }),
      ];
      const again = await reopen();
      expect(await again.prices()).toEqual(prices);
      expect(await again.control()).toEqual(control);
      expect(await again.priceHistory({ after: 0, limit: 10 })).toEqual(history);
      expect(await again.settle(request({ prices: 1 }))).toMatchObject({ code: 'APPROVED' });
    });
  });

  describe('settle of a proposal that looked at prices', () => {
    it('decides with no older version once a change has resolved, for no source', async ({
      store,
      another,
    }) => {
      await store.changePrices(priceChange({ BTC: '1' }));
      await store.changePrices(priceChange({ BTC: '2' }));
      const other = await another();
      const settles = (name: string): Promise<readonly string[]> =>
        Promise.all(
          Array.from({ length: 50 }, async (_, index) => {
            const [asked, source] = index % 2 === 0 ? [store, 'shop'] : [other, 'vault'];
            const result = await asked.settle(
              request({ source, subject: `payment:${name}-${index}`, prices: 2 }),
            );
            return result.outcome;
          }),
        );
      const before = settles('before');
      await other.changePrices(priceChange({ BTC: '3' }));
      expect(new Set(await settles('after'))).toEqual(new Set(['stale']));
      for (const outcome of await before) expect(['decided', 'stale']).toContain(outcome);
    });
  });

  describe('changes of prices at once', () => {
    it('each make a version of their own, and none is lost', async ({ store, another }) => {
      const stores: readonly Store[] = [store, await another()];
      const tables = await Promise.all(
        Array.from({ length: 20 }, (_, index) =>
          stores[index % 2]!.changePrices(priceChange({ [`A${index}`]: '1' })),
        ),
      );
      expect(tables.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual(
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
      for (const { version, prices } of tables) expect(prices.size).toBe(version);
      expect((await store.prices()).prices.size).toBe(20);
      const history = await store.priceHistory({ after: 0, limit: 1000 });
      expect(history.map(({ version }) => version)).toEqual(
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
    });
  });
}
