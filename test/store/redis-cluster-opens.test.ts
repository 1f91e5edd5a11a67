import { once } from 'node:events';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createClient } from '../../src/store/redis/client.ts';
import { type RedisCluster, startRedisCluster } from '../redis-cluster.ts';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startRedisCluster({ primaries: 1 });
});
afterAll(() => cluster.stop());

const TIMES = 300;

it('connects to a Cluster at the first attempt, in whatever order its connections are made', async () => {
  const [node] = cluster.nodes;
  if (node === undefined) throw new Error('the Cluster has no node');
  let again = 0;
  for (let time = 0; time < TIMES; time++) {
    const { redis: client, end } = createClient(
      { cluster: [{ host: '127.0.0.1', port: node.port }] },
      { commandTimeoutMs: 5000, connectTimeoutMs: 5000 },
    );
    client.on('reconnecting', () => (again += 1));
    // As a connection does, so that commands find their server connected.
    client.on('+node', (redis: { connect(): Promise<void> }) => void redis.connect().catch(() => undefined));
    await once(client, 'ready');
    end();
  }
  expect(again).toBe(0);
});
