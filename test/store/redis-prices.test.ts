import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKeys } from '../../src/store/redis/keys.ts';
import { loadScript } from '../../src/store/redis/script.ts';
import type { Store } from '../../src/store/store.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import {
  freshPrefix,
  rawClient,
  readyOn,
  redisOfItsOwn,
  storeOn,
  untilAnswered,
} from './redis-under-test.ts';
import {
  HOUR_MS,
  REVISION,
  START_MS,
  priceChange,
  push,
  request,
  revisionOf,
  units,
  thaw,
} from './requests.ts';

let server: RedisServerProcess;
beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());

let subjects = 0;

/** Which of the versions each of the sources settles with. */
async function settledWith(store: Store, versions: readonly number[]): Promise<readonly number[]> {
  const { revision } = await store.control();
  const asked = versions.flatMap((prices) => ['shop', 'vault'].map((source) => ({ prices, source })));
  const results = await Promise.all(
    asked.map(({ prices, source }) =>
      store.settle(request({ source, prices, revision, subject: `payment:${++subjects}` })),
    ),
  );
  return asked.flatMap(({ prices }, index) => (results[index]?.outcome === 'stale' ? [] : [prices]));
}

describe('a change of prices on Redis', () => {
  it('is completed by the next look of anybody if it broke off before it was spread', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await store.changePrices(priceChange({ BTC: '1' }));
    const { inForce, prices, priceHistory } = createKeys(prefix);
    const { source } = loadScript('change-prices-3');
    const change = ['', '1000', '{"set":[["BTC","2",0]],"remove":[],"by":"ada"}', '0', 'BTC', '2 0'];
    await rawClient(server).eval(source, 3, inForce, prices, priceHistory, ...change);
    const half = request({ subject: 'payment:half', prices: 2 });
    expect(await store.settle(half)).toMatchObject({ outcome: 'stale' });

    expect(await store.control()).toMatchObject({ prices: 2 });
    expect(await settledWith(store, [1, 2])).toEqual([2, 2]);
    expect(await store.prices()).toEqual({
      version: 2,
      prices: new Map([['BTC', { price: 2n, asOfMs: 0 }]]),
    });
  });

  it('is stale only for a source that lost its copy of the version, until the next control', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await store.changePrices(priceChange({ BTC: '1' }));
    await rawClient(server).hdel(createKeys(prefix).of('shop').control, 'prices');
    const asked = (source: string) => request({ source, prices: 1, subject: 'payment:lost' });
    expect(await store.settle(asked('shop'))).toMatchObject({ outcome: 'stale' });
    expect(await store.settle(asked('vault'))).toMatchObject({ code: 'APPROVED' });
    expect(await store.settle(request())).toMatchObject({ code: 'APPROVED' });
    await store.control();
    expect(await store.settle(asked('shop'))).toMatchObject({ code: 'APPROVED' });
  });

  it('never gives way to an older one that comes late', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await store.changePrices(priceChange({ BTC: '1' }));
    await store.changePrices(priceChange({ BTC: '2' }));
    const { source } = loadScript('update-copy-2');
    const { control, journal } = createKeys(prefix).of('shop');
    const client = rawClient(server);
    for (const [sequence, prices] of [
      ['2', '1'],
      ['3', '1'],
      ['1', '9'],
    ] as const) {
      const given = [sequence, REVISION, '', prices, '', '', '', '', '0', ''];
      expect(await client.eval(source, 2, control, journal, ...given)).toBe('3');
    }
    expect(await settledWith(store, [0, 1, 2, 9])).toEqual([0, 0, 2, 2]);
  });

  it.each([1, 2, 3])(
    'holds for every source, also after a failover that lost %i changes of what is in force',
    async (lost) => {
      const prefix = freshPrefix();
      const store = await readyOn(server, { prefix });
      const client = rawClient(server);
      await store.changePrices(priceChange({ BTC: '1' }));
      const { inForce, prices, priceHistory } = createKeys(prefix);
      const before = await Promise.all([client.hgetall(inForce), client.hgetall(prices)]);
      for (let round = 0; round < lost; round++) await store.changePrices(priceChange({ BTC: '2' }));
      await client.hset(inForce, before[0]);
      await client.hset(prices, { ...before[1], server: 'another' });
      await client.del(priceHistory);

      const { version } = await store.changePrices(priceChange({ BTC: '3' }));
      expect(version).toBeGreaterThan(1 + lost);
      expect(await store.control()).toMatchObject({ prices: version });
      expect(await settledWith(store, [1, 2, 3, 4, version])).toEqual([version, version]);
      expect(await store.priceHistory({ after: 0, limit: 10 })).toMatchObject([{ version }]);
    },
  );

  it('spreads a push after a failover that lost changes', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    const client = rawClient(server);
    const { inForce } = createKeys(prefix);
    const before = await client.hgetall(inForce);
    await store.freeze({ reason: 'drill', by: 'ada' });
    await thaw(store);
    await client.hset(inForce, before);
    await store.push(push('second', REVISION));
    for (const source of ['shop', 'vault']) {
      expect(await store.settle(request({ source }))).toMatchObject({ outcome: 'stale' });
      const asked = request({ source, revision: revisionOf('second') });
      expect(await store.settle(asked)).toMatchObject({ code: 'APPROVED' });
    }
  });

  it.each(['before', 'after'])(
    'never has the version of another that a failover lost, the first one being made %s there was a replica',
    async (first) => {
      const replica = await redisOfItsOwn();
      const primary = await redisOfItsOwn({ args: ['--repl-diskless-sync-delay', '0'] });
      const client = rawClient(primary);
      const promoted = rawClient(replica);
      const prefix = freshPrefix();
      const store = await readyOn(primary, { prefix });
      const replicated = async (): Promise<void> => {
        await promoted.replicaof('127.0.0.1', primary.port);
        await untilAnswered(async () => {
          await client.set('waited for', 'here');
          expect(await client.wait(1, 100)).toBe(1);
        });
      };
      if (first === 'after') await replicated();
      await store.changePrices(priceChange({ BTC: '1' }));
      await replicated();
      await promoted.replicaof('NO', 'ONE');
      const lost = await store.changePrices(priceChange({ BTC: '666' }));
      expect(lost.version).toBeGreaterThan(1);

      const next = await storeOn(replica, { prefix });
      expect(await next.prices()).toMatchObject({ version: 1 });
      const { version, prices } = await next.changePrices(priceChange({ ETH: '2' }));
      expect(version).toBeGreaterThan(lost.version);
      expect(prices.get('BTC')?.price).toBe(units('1'));
      expect(await settledWith(next, [1, lost.version, version])).toEqual([version, version]);
      const { version: after } = await next.changePrices(priceChange({ ETH: '3' }));
      expect(after).toBe(version + 1);
    },
  );

  it('keeps its version through a restart, and the next one leaps past what may be lost', async () => {
    const restarted = await redisOfItsOwn({ durable: true });
    const store = await readyOn(restarted);
    await store.changePrices(priceChange({ BTC: '1' }));
    await restarted.restart();
    await untilAnswered(() => store.health());
    expect(await store.prices()).toMatchObject({ version: 1 });
    expect(await settledWith(store, [1])).toEqual([1, 1]);
    const { version } = await store.changePrices(priceChange({ BTC: '2' }));
    expect(version).toBeGreaterThan(1000);
    expect(await store.priceHistory({ after: 1, limit: 10 })).toMatchObject([{ version }]);
  });

  it('is lost to nobody among pushes and freezes that are made at once', async () => {
    const prefix = freshPrefix();
    const stores = [
      await readyOn(server, { prefix }),
      await storeOn(server, { prefix }),
      await storeOn(server, { prefix }),
    ];
    const each = (make: (store: Store, index: number) => Promise<unknown>) =>
      stores.flatMap((store, index) => Array.from({ length: 5 }, (_, at) => make(store, index * 5 + at)));
    await Promise.all([
      ...each((store, index) => store.changePrices(priceChange({ [`A${index}`]: '1' }))),
      ...each((store) => store.freeze({ reason: 'drill', by: 'ada' })),
      ...each((store, index) => store.push(push(`release ${index}`, REVISION))),
      ...each((store) => thaw(store)),
    ]);
    const [store] = stores;
    if (store === undefined) throw new Error('no store');
    await thaw(store);
    const control = await store.control();
    expect(control).toMatchObject({ prices: 15, frozen: [] });
    expect(await store.history(100)).toHaveLength(2);
    expect((await store.prices()).prices.size).toBe(15);
    expect(await settledWith(store, [14, 15])).toEqual([15, 15]);
    const copies = await Promise.all(
      ['shop', 'vault'].map((source) =>
        rawClient(server).hget(createKeys(prefix).of(source).control, 'sequence'),
      ),
    );
    expect(copies).toEqual([String(control.sequence), String(control.sequence)]);
  });

  it('keeps its history for as long as the journal', async () => {
    const clock = { nowMs: START_MS };
    const retention = { subjectsMs: HOUR_MS, journalMs: HOUR_MS };
    const store = await readyOn(server, { prefix: freshPrefix(), retention, clock: () => clock.nowMs });
    const versions = async () =>
      (await store.priceHistory({ after: 0, limit: 1000 })).map(({ version }) => version);
    for (let round = 0; round < 3; round++) await store.changePrices(priceChange({ BTC: '1' }));
    clock.nowMs += HOUR_MS;
    await store.changePrices(priceChange({ BTC: '1' }));
    expect(await versions()).toEqual([1, 2, 3, 4]);
    clock.nowMs += 1;
    await store.changePrices(priceChange({ BTC: '1' }));
    expect(await versions()).toEqual([3, 4, 5]);
    await store.changePrices(priceChange({ BTC: '1' }));
    expect(await versions()).toEqual([4, 5, 6]);
  });

  it.each([
    ['is no price', { 'a:BTC': 'cheap' }],
    ['is zero', { 'a:BTC': '0 1' }],
    ['has a point', { 'a:BTC': '1.5 1' }],
    ['has no instant', { 'a:BTC': '1' }],
    ['has a version that is no number', { version: 'new' }],
  ])('is read by nobody if what Redis holds %s', async (_name, damage) => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await store.changePrices(priceChange({ BTC: '1' }));
    await rawClient(server).hset(createKeys(prefix).prices, damage);
    await expect(store.prices()).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });

  it('has a version above all before, also if the table was lost', async () => {
    const prefix = freshPrefix();
    const store = await readyOn(server, { prefix });
    await store.changePrices(priceChange({ BTC: '1' }));
    await rawClient(server).del(createKeys(prefix).prices);
    expect(await store.prices()).toEqual({ version: 0, prices: new Map() });
    const { version, prices } = await store.changePrices(priceChange({ ETH: '1' }));
    expect(version).toBeGreaterThan(1);
    expect([...prices.keys()]).toEqual(['ETH']);
    expect(await settledWith(store, [0, 1, version])).toEqual([0, 0, version, version]);
  });
});
