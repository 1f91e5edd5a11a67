import { describe, expect, it, onTestFinished } from 'vitest';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { SettleResult, Store } from '../../src/store/store.ts';
import { startRedisServer } from '../redis-server.ts';
import { UNHURRIED, rawClient, readyOn, redisOfItsOwn, storeOn, untilAnswered } from './redis-under-test.ts';
import {
  announcement,
  change,
  idOf,
  notice,
  priceChange,
  push,
  request,
  revisionOf,
  units,
  usedOf,
  windowClaim,
  thaw,
} from './requests.ts';

/** More than a busy machine adds, and less than the times for commands that are not to be waited for. */
const PROMPTLY_MS = 10_000;

const unreachable = { name: 'CountersignError', code: 'STORE_UNREACHABLE' };

const verbs: readonly (readonly [string, (store: Store) => Promise<unknown>])[] = [
  ['settle', (store) => store.settle(request())],
  ['notice', (store) => store.recordNotification(notice())],
  ['register', (store) => store.register(['shop'])],
  ['health', (store) => store.health()],
  ['control', (store) => store.control()],
  ['push', (store) => store.push(push('second', revisionOf('first')))],
  ['document', (store) => store.document('x')],
  ['history', (store) => store.history(1)],
  ['freeze', (store) => store.freeze({ reason: 'drill', by: 'ada' })],
  ['unfreeze', (store) => store.unfreeze({ by: 'ada', ids: ['f1'] })],
  ['changeList', (store) => store.changeList(change('list', ['a']))],
  ['lists', (store) => store.lists('shop')],
  ['listEntries', (store) => store.listEntries('shop', 'list')[Symbol.asyncIterator]().next()],
  ['expectOrder', (store) => store.expectOrder(announcement())],
  ['order', (store) => store.order('shop', 'payment:1')],
  ['cancelOrder', (store) => store.cancelOrder({ source: 'shop', subject: 'payment:1', by: 'ada' })],
  ['prices', (store) => store.prices()],
  ['changePrices', (store) => store.changePrices(priceChange({ BTC: '1' }))],
  ['priceHistory', (store) => store.priceHistory({ after: 0, limit: 1 })],
  [
    'record',
    (store) =>
      store.record({
        source: 'shop',
        type: 'late',
        subject: '',
        verdict: '',
        code: '',
        of: '',
        detail: '{}',
      }),
  ],
  ['entry', (store) => store.entry('shop', '1-0')],
  ['entries', (store) => store.entries({ source: 'shop', limit: 1 })],
  ['entries of a subject', (store) => store.entries({ source: 'shop', subject: 'payment:1', limit: 1 })],
  ['journalSize', (store) => store.journalSize('shop')],
];

/** One unit for each of many subjects. */
const load = (index: number) => request({ subject: `payment:${index}`, claims: [windowClaim('1', '1000')] });

describe('the Redis store during faults of Redis', () => {
  it('opens while Redis is down, rejects every verb at once, and connects by itself', async () => {
    const server = await redisOfItsOwn();
    await server.kill();
    const store = await storeOn(server, { connectTimeoutMs: 2000, commandTimeoutMs: 20_000 });
    for (const [, ask] of verbs) {
      const askedAtMs = performance.now();
      const asked = ask(store);
      await expect(asked).rejects.toMatchObject(unreachable);
      await expect(asked).rejects.toThrow(/does not answer: connect ECONNREFUSED.*comes back by itself/);
      expect(performance.now() - askedAtMs).toBeLessThan(PROMPTLY_MS);
    }
    await server.restart();
    await untilAnswered(() => store.health());
    await store.register(['shop']);
    expect(await store.settle(request())).toMatchObject({ outcome: 'stale' });
  });

  it('keeps every acknowledged decision when Redis is killed, and decides none twice', async () => {
    const server = await redisOfItsOwn({ durable: true });
    const store = await readyOn(server);
    const subjects = Array.from({ length: 300 }, (_, index) => index);
    const acknowledged = new Map<number, string>();
    const rejections: unknown[] = [];
    let killed: Promise<void> | undefined;
    const ask = async (index: number): Promise<void> => {
      try {
        acknowledged.set(index, idOf(await store.settle(load(index))));
        if (acknowledged.size === 100) killed = server.kill();
      } catch (thrown) {
        rejections.push(thrown);
      }
    };
    for (let from = 0; from < subjects.length; from += 20) {
      await Promise.all(subjects.slice(from, from + 20).map(ask));
    }
    await killed;
    expect(acknowledged.size).toBeGreaterThanOrEqual(100);
    expect(rejections.length).toBeGreaterThan(0);
    for (const rejection of rejections) expect(rejection).toMatchObject(unreachable);

    await server.restart();
    await untilAnswered(() => store.health());
    const again = new Map<number, SettleResult>();
    for (const index of subjects) again.set(index, await store.settle(load(index)));
    for (const [index, id] of acknowledged) {
      expect(again.get(index)).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS', of: id });
    }
    for (const result of again.values()) expect(result).toMatchObject({ verdict: 'SUCCESS' });
    expect(await usedOf(store)).toBe(units('300'));
  });

  it.each(verbs)('rejects within the time for a command while Redis is silent: %s', async (_name, ask) => {
    const server = await redisOfItsOwn();
    const unhurried = await readyOn(server);
    await unhurried.changeList(change('list', ['a']));
    const store = await storeOn(server, { commandTimeoutMs: 150, connectTimeoutMs: 150 });
    await untilAnswered(() => store.health());
    server.pause();
    const askedAtMs = performance.now();
    await expect(ask(store)).rejects.toMatchObject(unreachable);
    expect(performance.now() - askedAtMs).toBeLessThan(PROMPTLY_MS);
    server.resume();
    await untilAnswered(() => store.health());
    await thaw(unhurried);
    const { revision } = await unhurried.control();
    const decided = await untilAnswered(() => store.settle(request({ revision, subject: 'payment:2' })));
    expect(decided).toMatchObject({ code: 'APPROVED' });
  });

  it('rejects at once, not after a wait, once it knows that Redis is silent', async () => {
    const server = await redisOfItsOwn();
    await readyOn(server);
    const store = await storeOn(server, { commandTimeoutMs: 15_000, connectTimeoutMs: 15_000 });
    await store.health();
    server.pause();
    for (let attempt = 0; attempt < 5; attempt++) {
      await expect(store.settle(request())).rejects.toMatchObject(unreachable);
    }
    const askedAtMs = performance.now();
    await expect(store.settle(request())).rejects.toMatchObject(unreachable);
    expect(performance.now() - askedAtMs).toBeLessThan(PROMPTLY_MS);
    server.resume();
    expect(await untilAnswered(() => store.settle(request()))).toMatchObject({ verdict: 'SUCCESS' });
  });

  it('sends its scripts again after a SCRIPT FLUSH, and no decision is lost or made twice', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const client = rawClient(server);
    const results: SettleResult[] = [];
    for (let from = 0; from < 200; from += 20) {
      const asked = Array.from({ length: 20 }, (_, index) => store.settle(load(from + index)));
      await client.script('FLUSH');
      results.push(...(await Promise.all(asked)));
    }
    expect(results.filter(({ outcome }) => outcome === 'decided')).toHaveLength(200);
    expect(await usedOf(store)).toBe(units('200'));
    expect(await store.journalSize('shop')).toBe(201);
  });

  it('asks Redis once for a decision', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    await store.settle(load(0));
    const client = rawClient(server);
    const evaluations = async (): Promise<number> =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await client.info('commandstats'))?.[1]);
    const before = await evaluations();
    await store.settle(load(1));
    expect(await evaluations()).toBe(before + 1);
  });

  // A Cluster's node waits for two seconds before it serves, after each start.
  it('comes back by itself to a Cluster that was silent, and to one that was killed', async () => {
    const server = await redisOfItsOwn({
      durable: true,
      args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
    });
    await rawClient(server).call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
    const timeouts = { commandTimeoutMs: 300, connectTimeoutMs: 300 };
    const cluster = [{ host: '127.0.0.1', port: server.port }];
    const unhurried = await openRedisStore({ cluster, ...UNHURRIED });
    onTestFinished(() => unhurried.close());
    await untilAnswered(() => unhurried.register(['shop']));
    await unhurried.push(push('first', ''));
    const first = await unhurried.settle(load(0));
    const store = await openRedisStore({ cluster, ...timeouts });
    onTestFinished(() => store.close());
    await untilAnswered(() => store.health());

    server.pause();
    for (let attempt = 0; attempt < 3; attempt++) {
      const askedAtMs = performance.now();
      await expect(store.settle(load(0))).rejects.toMatchObject(unreachable);
      expect(performance.now() - askedAtMs).toBeLessThan(PROMPTLY_MS);
    }
    server.resume();
    await untilAnswered(() => store.settle(load(0)));
    await server.restart();
    expect(await untilAnswered(() => store.settle(load(0)))).toMatchObject({ of: idOf(first) });
  });

  it('hears of changes again after the connection was lost', async () => {
    const server = await redisOfItsOwn({ durable: true });
    const store = await readyOn(server);
    const other = await storeOn(server);
    let heard = 0;
    const stop = store.watch(() => (heard += 1));
    await server.restart();
    await untilAnswered(async () => {
      await other.freeze({ reason: 'drill', by: 'ada' });
      expect(heard).toBeGreaterThan(0);
    });
    const before = heard;
    await untilAnswered(async () => {
      await thaw(other);
      expect(heard).toBeGreaterThan(before);
    });
    stop();
  });

  it('shares a limit between two clients to the last unit', async () => {
    const server = await redisOfItsOwn();
    const stores = [await readyOn(server), await storeOn(server)] as const;
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        stores[index % 2 === 0 ? 0 : 1].settle(
          request({ subject: `payment:${index}`, claims: [windowClaim('1', '37')] }),
        ),
      ),
    );
    const approved = results.filter((result) => 'verdict' in result && result.verdict === 'SUCCESS');
    expect(approved).toHaveLength(37);
    expect(await usedOf(stores[0])).toBe(units('37'));
  });

  it('says what is missing if there is no redis-server to test with', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = '/nonexistent';
    try {
      await expect(startRedisServer()).rejects.toThrow(/install Redis 7\.0 or newer/);
    } finally {
      process.env['PATH'] = path;
    }
  });
});
