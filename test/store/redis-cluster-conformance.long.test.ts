import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll } from 'vitest';
import { type RedisStore, openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisCluster, startRedisCluster } from '../redis-cluster.ts';
import { describeStore } from './conformance.ts';
import { createTestClock } from './conformance/store-under-test.ts';
import { START_MS } from './requests.ts';

let rig: RedisCluster;

beforeAll(async () => {
  rig = await startRedisCluster();
});
afterAll(() => rig.stop());

// The sources of the suite, and what holds for all of them, lie on different servers.
describeStore('Redis Cluster, three primaries,', async (groups) => {
  const clock = createTestClock(START_MS);
  const prefix = `countersign-test-${randomUUID()}`;
  const stores: RedisStore[] = [];
  const another = async (): Promise<RedisStore> => {
    const store = await openRedisStore({
      cluster: rig.nodes.map(({ port }) => ({ host: '127.0.0.1', port })),
      prefix,
      clock: () => clock.nowMs,
      ...(groups && { groups }),
      commandTimeoutMs: 20_000,
    });
    stores.push(store);
    return store;
  };
  const close = async (): Promise<void> => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
  };
  return {
    store: await another(),
    clock,
    another,
    close,
    async reopen() {
      await close();
      return another();
    },
  };
});
