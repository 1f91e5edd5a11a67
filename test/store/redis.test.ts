import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { type RedisServer } from '../../src/store/redis/connection.ts';
import { type RedisStore, openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { describeStore } from './conformance.ts';
import { type OpenStore, createTestClock } from './conformance/store-under-test.ts';
import { START_MS } from './requests.ts';

// REDIS_URL names a server to use instead of one that the tests start; it keeps what they write, under
// `countersign-test`.
const given = process.env['REDIS_URL'];
let standalone: RedisServerProcess | undefined;
let clusterNode: RedisServerProcess;

beforeAll(async () => {
  if (given === undefined) standalone = await startRedisServer();
  clusterNode = await startRedisServer({
    args: ['--cluster-enabled', 'yes', '--cluster-announce-ip', '127.0.0.1'],
  });
  await serveAllSlots(clusterNode);
});

afterAll(async () => {
  await standalone?.stop();
  await clusterNode.stop();
});

describeStore(
  'Redis',
  openOn(() => ({ url: given ?? standalone?.url ?? '' })),
);
// One node that serves every slot refuses a step whose keys lie in several, as any Cluster does.
describeStore(
  'Redis Cluster',
  openOn(() => ({ cluster: [{ host: '127.0.0.1', port: clusterNode.port }] })),
);

function openOn(server: () => RedisServer): OpenStore {
  return async (groups) => {
    const clock = createTestClock(START_MS);
    const prefix = `countersign-test-${randomUUID()}`;
    const stores: RedisStore[] = [];
    const another = async (): Promise<RedisStore> => {
      const store = await openRedisStore({
        ...server(),
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
  };
}

async function serveAllSlots({ port }: RedisServerProcess): Promise<void> {
  const client = new Redis({ host: '127.0.0.1', port, enableReadyCheck: false });
  await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  const served = async (): Promise<boolean> =>
    String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok');
  while (!(await served())) await new Promise((resolve) => setImmediate(resolve));
  client.disconnect();
}
