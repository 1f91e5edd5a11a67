import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { startRedisServer } from '../redis-server.ts';
import { START_MS, push, request } from './requests.ts';

it('Redis is not asked for entries before the first one, for which it would look at all others', async () => {
  const redis = await startRedisServer();
  onTestFinished(() => redis.stop());
  const store = await openRedisStore({ url: redis.url, clock: () => START_MS });
  const client = new Redis(redis.url);
  onTestFinished(async () => {
    client.disconnect();
    await store.close();
  });
  await store.register(['shop']);
  await store.push(push('first', ''));
  for (const subject of ['payment:1', 'payment:2']) await store.settle(request({ subject }));
  const asked = async (): Promise<number> =>
    Number(/cmdstat_xrevrange:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
  const newest = { source: 'shop', newestFirst: true, limit: 10 } as const;
  const all = await store.entries(newest);
  expect(all.map(({ subject }) => subject)).toEqual(['payment:2', 'payment:1']);
  const before = await asked();
  const [last, first] = all;
  expect(await store.entries({ ...newest, untilMs: START_MS })).toEqual([]);
  expect(await store.entries({ ...newest, after: first?.id ?? '' })).toEqual([]);
  expect(await asked()).toBe(before);
  expect(await store.entries({ ...newest, after: last?.id ?? '' })).toEqual([first]);
  expect(await store.entries({ ...newest, untilMs: START_MS + 1 })).toEqual(all);
  expect(await asked()).toBe(before + 2);
});
