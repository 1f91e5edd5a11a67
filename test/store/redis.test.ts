import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { describeStore } from './conformance.ts';
import { openOn } from './redis-under-test.ts';

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

async function serveAllSlots({ port }: RedisServerProcess): Promise<void> {
  const client = new Redis({ host: '127.0.0.1', port, enableReadyCheck: false });
  await client.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  const served = async (): Promise<boolean> =>
    String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok');
  while (!(await served())) await new Promise((resolve) => setImmediate(resolve));
  client.disconnect();
}
