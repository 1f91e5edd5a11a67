import { afterAll, beforeAll } from 'vitest';
import { type RedisCluster, startRedisCluster } from '../redis-cluster.ts';
import { describeStore } from './conformance.ts';
import { openOn } from './redis-under-test.ts';

let rig: RedisCluster;

beforeAll(async () => {
  rig = await startRedisCluster();
});
afterAll(() => rig.stop());

// The sources of the suite, and what holds for all of them, lie on different servers.
describeStore(
  'Redis Cluster, three primaries,',
  openOn(() => ({ cluster: rig.nodes.map(({ port }) => ({ host: '127.0.0.1', port })) })),
);
