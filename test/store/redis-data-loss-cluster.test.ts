import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createKeys } from '../../src/store/redis/keys.ts';
import { lossesIn } from '../../src/store/freezes.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { eventually } from '../eventually.ts';
import { startRedisCluster } from '../redis-cluster.ts';
import { untilAnswered } from './redis-under-test.ts';
import { push, request, thaw } from './requests.ts';

const keys = createKeys('countersign');
const SOURCES = ['shop', 'vault', 'other', 'more'];

async function clustered() {
  const cluster = await startRedisCluster({ primaries: 3 });
  onTestFinished(() => cluster.stop());
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
  const store = await openRedisStore({ cluster: nodes });
  onTestFinished(() => store.close());
  await untilAnswered(() => store.register(SOURCES));
  await store.push(push('first', ''));
  for (const source of SOURCES) {
    expect(await store.settle(request({ source }))).toMatchObject({ code: 'APPROVED' });
  }
  /** Empties the one shard that holds the key. */
  const empty = async (key: string): Promise<void> => {
    const client = new Redis({ host: '127.0.0.1', port: await cluster.ownerOf(key) });
    onTestFinished(() => client.disconnect());
    await client.flushall();
  };
  return { store, empty };
}

describe('one shard of a Cluster that was emptied', () => {
  it.each([
    ['of a source', keys.of('shop').control],
    ['of what is in force', keys.inForce],
  ])('freezes every source, until an operator says go on: the one %s', async (_name, key) => {
    const { store, empty } = await clustered();
    await empty(key);
    await eventually('it is frozen', async () => {
      const { frozen } = await store.control();
      return lossesIn(frozen).length > 0 || undefined;
    });
    for (const source of SOURCES) {
      expect(await store.settle(request({ source }))).toMatchObject({ code: 'FROZEN' });
    }
    const { revision } = await store.control();
    if (revision === '') await store.push(push('first', ''));
    await thaw(store);
    for (const source of SOURCES) {
      const again = request({ source, subject: 'payment:after' });
      expect(await store.settle(again)).toMatchObject({ code: 'APPROVED' });
    }
    expect((await store.control()).frozen).toEqual([]);
  });
});
