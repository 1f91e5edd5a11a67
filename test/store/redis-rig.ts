import { onTestFinished } from 'vitest';
import { type RedisStore, type RedisStoreOptions, openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisCluster, type RedisClusterOptions, startRedisCluster } from '../redis-cluster.ts';
import { type RedisProcess } from '../redis-process.ts';
import { type RedisSentinels, type RedisSentinelsOptions, startSentinels } from '../redis-sentinel.ts';

type More = Partial<Omit<RedisStoreOptions, 'url' | 'client' | 'cluster'>>;

/** Sentinels with their servers, gone when the test is over. */
export async function sentinelsOfItsOwn(options: RedisSentinelsOptions = {}): Promise<RedisSentinels> {
  const rig = await startSentinels(options);
  onTestFinished(() => rig.stop());
  return rig;
}

export async function clusterOfItsOwn(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const rig = await startRedisCluster(options);
  onTestFinished(() => rig.stop());
  return rig;
}

const addresses = (servers: readonly RedisProcess[]): { host: string; port: number }[] =>
  servers.map(({ port }) => ({ host: '127.0.0.1', port }));

/** A store that asks the Sentinels for its primary, closed when the test is over. */
export async function storeOnSentinels(rig: RedisSentinels, more: More = {}): Promise<RedisStore> {
  const client = { sentinels: addresses(rig.sentinels), name: 'main' };
  const store = await openRedisStore({ client, ...more });
  onTestFinished(() => store.close());
  return store;
}

export async function storeOnCluster(rig: RedisCluster, more: More = {}): Promise<RedisStore> {
  const store = await openRedisStore({ cluster: addresses(rig.nodes), ...more });
  onTestFinished(() => store.close());
  return store;
}
