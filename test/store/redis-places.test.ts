import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { groupedKey } from '../../src/claims/window.ts';
import { createKeys } from '../../src/store/redis/keys.ts';
import type { RedisStore } from '../../src/store/redis/open.ts';
import { type RedisCluster, startRedisCluster } from '../redis-cluster.ts';
import { rawClient, readyOn, redisOfItsOwn, storeOn } from './redis-under-test.ts';
import { storeOnCluster } from './redis-rig.ts';
import { OTHER_TERMS, change, keyOf, push, request, thaw, units, usedOf, windowClaim } from './requests.ts';

let rig: RedisCluster;
beforeAll(async () => {
  rig = await startRedisCluster();
});
afterAll(() => rig.stop());

const SALES = groupedKey('sales', keyOf('counter'));
type Groups = Readonly<Record<string, string>>;

/** Stores with a prefix of their own, each as a process with these groups in its settings would open it. */
function processes() {
  const prefix = `places-${randomUUID()}`;
  const opened = (groups: Groups): Promise<RedisStore> =>
    storeOnCluster(rig, { prefix, groups: new Map(Object.entries(groups)), commandTimeoutMs: 5000 });
  const service = async (groups: Groups, sources: readonly string[] = ['shop', 'kiosk']) => {
    const store = await opened(groups);
    await store.checkSafety();
    await store.register(sources);
    return store;
  };
  return { prefix, opened, service };
}

const BOTH = { shop: 'sales', kiosk: 'sales' };

describe('the sources of a group on a Cluster', () => {
  it('are in one slot, and so on one server', async () => {
    const keys = createKeys('countersign', () => 'sales');
    const [shop, kiosk] = [keys.of('shop'), keys.of('kiosk')];
    const slots = [shop.control, kiosk.subject('payment:1'), shop.counter(keyOf('x')), kiosk.counter(SALES)];
    expect(new Set(await Promise.all(slots.map((key) => rig.slotOf(key)))).size).toBe(1);
    expect(shop.control).not.toBe(kiosk.control);
    expect(shop.counter(keyOf('x'))).not.toBe(kiosk.counter(keyOf('x')));
    expect(shop.counter(SALES)).toBe(kiosk.counter(SALES));
  });

  it('never share a key with a source that has the name of the group, or with another group', () => {
    const grouped = createKeys('countersign', (source) => (source === 'shop' ? 'sales' : undefined));
    const all = ['shop', 'sales'].flatMap((source) => {
      const { control, lists, journal, subject, counter } = grouped.of(source);
      return [control, lists, journal, subject('payment:1'), counter(keyOf('x')), counter(SALES)];
    });
    // Only the counter of the group itself is common.
    expect(new Set(all).size).toBe(all.length - 1);
  });

  it('count together after a restart, also by a process whose settings have no groups', async () => {
    const { service, opened } = processes();
    const first = await service(BOTH);
    await first.push(push('first', ''));
    const claims = [windowClaim('6', '10', { key: SALES })];
    expect(await first.settle(request({ source: 'shop', claims }))).toMatchObject({ verdict: 'SUCCESS' });
    const again = await service(BOTH);
    expect(await usedOf(again, { source: 'kiosk', key: SALES })).toBe(units('6'));
    const command = await opened({});
    expect(await command.settle(request({ source: 'shop', claims }))).toMatchObject({ outcome: 'repeated' });
    await command.changeList(change('blocked', ['1']));
    expect(await again.lists('shop')).toMatchObject([{ list: 'blocked' }]);
  });
});

describe('a source that has data', () => {
  /** A source without a group, with an approval. */
  async function withApproval(groups: Groups) {
    const made = processes();
    const store = await made.service(groups);
    await store.push(push('first', ''));
    expect(await store.settle(request({ source: 'shop' }))).toMatchObject({ verdict: 'SUCCESS' });
    return { ...made, store };
  }

  it.each<[string, Groups, Groups, RegExp]>([
    [
      'can not join a group',
      {},
      BOTH,
      /has the group sales .* its data is in a slot of its own.*delete its group, or/,
    ],
    [
      'can not join another group',
      BOTH,
      { shop: 'other' },
      /its data is in the slot of the group sales.*write the group sales, or none/,
    ],
  ])('%s: no service starts, and a repeat is still known', async (_, before, after, because) => {
    const { opened } = await withApproval(before);
    const changed = await opened(after);
    await expect(changed.checkSafety()).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      message: expect.stringMatching(because),
    });
    // Whatever else uses the store finds the approval where it is.
    await changed.register(['shop', 'kiosk']);
    expect(await changed.settle(request({ source: 'shop' }))).toMatchObject({ outcome: 'repeated' });
    expect(await changed.settle(request({ source: 'shop', terms: OTHER_TERMS }))).toMatchObject({
      code: 'TERMS_CHANGED',
    });
  });

  it('can leave its group, and come back', async () => {
    const { service } = await withApproval(BOTH);
    for (const groups of [{}, BOTH]) {
      const store = await service(groups);
      expect(await store.settle(request({ source: 'shop' }))).toMatchObject({ outcome: 'repeated' });
    }
  });

  it('stays where it is if it was known before places were recorded', async () => {
    const { prefix, opened, store } = await withApproval({});
    const keys = createKeys(prefix);
    await store.connection.call('hdel', [keys.inForce, 'groups']);
    const changed = await opened(BOTH);
    await expect(changed.checkSafety()).rejects.toMatchObject({ code: 'STORE_UNSAFE' });
    expect(await changed.settle(request({ source: 'shop' }))).toMatchObject({ outcome: 'repeated' });
  });

  it('is in one place only if services with different groups start at once', async () => {
    for (let round = 0; round < 10; round++) {
      const { opened } = processes();
      const stores = await Promise.all([opened({}), opened(BOTH), opened({ shop: 'other' })]);
      await Promise.all(stores.map((store) => store.register(['shop'])));
      await stores[0].push(push('first', ''));
      const outcomes = await Promise.all(stores.map((store) => store.settle(request({ source: 'shop' }))));
      expect(outcomes.map(({ outcome }) => outcome).toSorted()).toEqual(['decided', 'repeated', 'repeated']);
    }
  });
});

it('a freeze reaches a source of a group that a running process and the command do not know', async () => {
  const { service, opened } = processes();
  const first = await service({}, ['alone']);
  await first.push(push('first', ''));
  const late = await service({ kiosk: 'sales' }, ['kiosk']);
  for (const freezing of [first, await opened({})]) {
    await freezing.freeze({ reason: 'drill', by: 'ada' });
    expect(await late.settle(request({ source: 'kiosk' }))).toMatchObject({ code: 'FROZEN' });
    await thaw(late);
    expect(await late.settle(request({ source: 'kiosk' }))).toMatchObject({ verdict: 'SUCCESS' });
  }
});

it('what a group counted is not lost unnoticed: an emptied Cluster freezes, and keeps the places', async () => {
  const { prefix, service } = processes();
  const store = await service(BOTH);
  await store.push(push('first', ''));
  await store.settle(request({ source: 'shop', claims: [windowClaim('6', '10', { key: SALES })] }));
  const keys = createKeys(prefix, () => 'sales');
  const all = [keys.of('shop').control, keys.of('kiosk').control, keys.inForce, keys.sources];
  for (const key of all) await store.connection.call('del', [key]);
  await expect(store.settle(request({ source: 'kiosk' }))).rejects.toMatchObject({ code: 'STORE_LOST' });
  expect((await store.control()).frozen).toMatchObject([{ kind: 'loss' }]);
  const again = await service(BOTH);
  expect(await again.settle(request({ source: 'kiosk' }))).toMatchObject({ code: 'FROZEN' });
});

describe('without a Cluster', () => {
  it('a source joins and changes groups, keeps its data, and begins a new count', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server, {});
    const other = groupedKey('other', keyOf('counter'));
    await store.settle(request({ claims: [windowClaim('6', '10', { key: SALES })] }));
    const again = await store.settle(request({ claims: [windowClaim('6', '10', { key: other })] }));
    expect(again).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS' });
    expect(await usedOf(store, { key: SALES })).toBe(units('6'));
    expect(await usedOf(store, { key: other })).toBe(units('6'));
  });

  it('data of a Cluster with groups is refused, as its keys would not be found', async () => {
    const server = await redisOfItsOwn();
    const store = await storeOn(server);
    const client = rawClient(server);
    await client.hset(
      'countersign:{global}:in-force',
      'groups',
      JSON.stringify({ vault: '', shop: 'sales' }),
    );
    await expect(store.checkSafety()).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      message: expect.stringContaining('the source shop comes from a Redis Cluster'),
    });
    await client.hset('countersign:{global}:in-force', 'groups', JSON.stringify({ vault: '' }));
    await expect(store.checkSafety()).resolves.toBeUndefined();
  });
});
