import { subjectOf } from '../../src/callback/callback.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createKeys } from '../../src/store/redis/keys.ts';
import type { RedisStore } from '../../src/store/redis/open.ts';
import type { SettleResult } from '../../src/store/store.ts';
import { eventually } from '../eventually.ts';
import type { RedisCluster } from '../redis-cluster.ts';
import { clusterOfItsOwn, storeOnCluster } from './redis-rig.ts';
import { UNHURRIED, untilAnswered } from './redis-under-test.ts';
import { REVISION, change, push, request, thaw, units, usedOf, windowClaim } from './requests.ts';

const unreachable = { name: 'CountersignError', code: 'STORE_UNREACHABLE' };
const keys = createKeys('countersign');
const SOURCES = ['shop', 'vault', 'second-shop', 'third-shop', 'kiosk', 'till'];
const TIMEOUTS = { commandTimeoutMs: 1000, connectTimeoutMs: 1000 };
const ANSWERED_MS = 2 * TIMEOUTS.commandTimeoutMs + 5000;
const LIMIT = 400;

async function readyOn(rig: RedisCluster, replicas = 0): Promise<RedisStore> {
  const unhurried = await storeOnCluster(rig, UNHURRIED);
  await untilAnswered(() => unhurried.register(SOURCES));
  await unhurried.push(push('first', ''));
  await unhurried.close();
  const store = await storeOnCluster(rig, { ...TIMEOUTS, durability: { replicas, timeoutMs: 200 } });
  await untilAnswered(() => store.register(SOURCES));
  return store;
}

/** Another primary than the one that serves the key. */
async function elsewhere(rig: RedisCluster, key: string): Promise<number> {
  const owner = await rig.ownerOf(key);
  const other = rig.nodes.slice(0, 3).find(({ port }) => port !== owner);
  if (other === undefined) throw new Error('there is no other primary');
  return other.port;
}

interface Asked {
  readonly index: number;
  readonly result: SettleResult | undefined;
}

/** Asks about one subject after the other, each for one unit of a limit, until it is stopped. */
function load(store: RedisStore, limit: string, lanes = 6) {
  const asked: Asked[] = [];
  const rejections: unknown[] = [];
  const under = { way: true };
  let [next, longestMs] = [0, 0];
  async function lane(): Promise<void> {
    while (under.way) {
      const index = (next += 1);
      const sinceMs = performance.now();
      const result = await store.settle(load.request(index, limit)).catch((thrown: unknown) => {
        rejections.push(thrown);
        return undefined;
      });
      asked.push({ index, result });
      longestMs = Math.max(longestMs, performance.now() - sinceMs);
      await pause(2);
    }
  }
  const running = Array.from({ length: lanes }, lane);
  return {
    asked,
    rejections,
    longestMs: () => longestMs,
    async answered(more: number): Promise<void> {
      const count = (): number => asked.filter(({ result }) => result !== undefined).length;
      const before = count();
      await eventually(`${more} answers`, () => (count() >= before + more ? true : undefined));
    },
    async stop(): Promise<void> {
      under.way = false;
      await Promise.all(running);
    },
  };
}
load.request = (index: number, limit: string) =>
  request({ subject: `payment:${index}`, claims: [windowClaim('1', limit)] });

const approvalsIn = (asked: readonly Asked[]): readonly Asked[] =>
  asked.filter(({ result }) => result !== undefined && 'verdict' in result && result.verdict === 'SUCCESS');

/** The journal entry of the decision that stands. */
function standing(result: SettleResult | undefined): string {
  if (result === undefined || !('id' in result)) return '';
  return result.outcome === 'repeated' ? result.of : result.id;
}

describe('the store on a Redis Cluster of three primaries', () => {
  it('spreads its sources, and settles each where it lies', async () => {
    const rig = await clusterOfItsOwn();
    const store = await readyOn(rig);
    const owners = await Promise.all(SOURCES.map((source) => rig.ownerOf(keys.of(source).control)));
    expect(new Set(owners).size).toBeGreaterThan(1);
    for (const [at, source] of SOURCES.entries()) {
      expect(await store.settle(request({ source }))).toMatchObject({ verdict: 'SUCCESS' });
      expect(await rig.node(owners[at] ?? 0).ask('XLEN', keys.of(source).journal)).toBe(1);
    }
    await store.freeze({ reason: 'drill', by: 'ada' });
    for (const source of SOURCES) {
      expect(await store.settle(request({ source }))).toMatchObject({ code: 'FROZEN' });
    }
  });

  it('speaks RESP3 with every primary', async () => {
    const rig = await clusterOfItsOwn();
    const store = await readyOn(rig);
    store.watch(() => {});
    for (const source of SOURCES) await store.settle(request({ source }));
    const served = new Set(await Promise.all(SOURCES.map((source) => rig.ownerOf(keys.of(source).control))));
    for (const port of served) {
      const clients = String(await rig.node(port).ask('CLIENT', 'LIST')).split('\n');
      const ours = clients.filter((line) => /cmd=(evalsha|eval) /.test(line));
      expect(ours.length).toBeGreaterThan(0);
      expect(ours.filter((line) => !/ resp=3/.test(line))).toEqual([]);
    }
  });

  it('keeps to a limit, and decides none twice, while the slot of a source moves to and fro under load', async () => {
    const rig = await clusterOfItsOwn();
    const store = await readyOn(rig);
    const under = load(store, String(LIMIT));
    await under.answered(50);
    for (let move = 0; move < 4; move++) {
      await rig.moveSlot(keys.of('shop').control, await elsewhere(rig, keys.of('shop').control));
      await under.answered(30);
    }
    await under.stop();
    for (const rejection of under.rejections) expect(rejection).toMatchObject(unreachable);
    expect(under.longestMs()).toBeLessThan(ANSWERED_MS);

    // A rejected question may have been decided, and a second one shows it. Approvals are repeated.
    const again: Asked[] = [];
    for (const { index } of under.asked) {
      again.push({ index, result: await store.settle(load.request(index, '100000')) });
    }
    for (const { index, result } of approvalsIn(under.asked)) {
      expect(await store.settle(load.request(index, '100000'))).toMatchObject({
        outcome: 'repeated',
        verdict: 'SUCCESS',
        of: standing(result),
      });
    }
    const approved = approvalsIn(again).length;
    expect(approvalsIn(under.asked).length).toBeGreaterThan(0);
    expect(approvalsIn(under.asked).length).toBeLessThanOrEqual(LIMIT);
    // A busy machine may ask for more than the limit; a refusal for the limit stands.
    expect(approved).toBeGreaterThanOrEqual(Math.min(under.asked.length, LIMIT));
    expect(await usedOf(store)).toBe(units(String(approved)));
  });

  it('answers correctly or rejects while a slot moves, and recovers after it', async () => {
    const rig = await clusterOfItsOwn();
    const store = await readyOn(rig);
    const known = Array.from({ length: 8 }, (_, index) => load.request(index, '1000'));
    const decided = await Promise.all(known.map((each) => store.settle(each)));
    const move = await rig.beginMove(keys.of('shop').control, await elsewhere(rig, keys.of('shop').control));
    const [wrong, rejections]: [string[], unknown[]] = [[], []];
    for (const [at, each] of known.entries()) {
      const again = await store.settle(each).catch((thrown: unknown) => void rejections.push(thrown));
      if (again !== undefined && standing(again) !== standing(decided[at]))
        wrong.push(subjectOf(each.callback));
      if (at % 2 === 1) await move.moveKeys(5);
    }
    expect(wrong).toEqual([]);
    for (const rejection of rejections) expect(rejection).toMatchObject(unreachable);
    await expect(store.settle(request({ subject: 'payment:new' }))).rejects.toMatchObject(unreachable);
    await move.finish();
    expect(await untilAnswered(() => store.settle(request({ subject: 'payment:new' })))).toMatchObject({
      verdict: 'SUCCESS',
    });
    for (const [at, each] of known.entries()) {
      const again = await store.settle(each);
      expect(again).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS', of: standing(decided[at]) });
    }
    expect(await usedOf(store)).toBe(units(String(known.length)));
  });

  it('rejects what lies on a primary that is dead, at once, and comes back by itself', async () => {
    const rig = await clusterOfItsOwn({ durable: true });
    const store = await readyOn(rig);
    const first = await store.settle(request());
    const owner = await rig.ownerOf(keys.of('shop').control);
    await rig.killNode(owner);
    await expect(store.settle(request())).rejects.toMatchObject(unreachable);
    const askedAtMs = performance.now();
    await expect(store.settle(request())).rejects.toMatchObject(unreachable);
    expect(performance.now() - askedAtMs).toBeLessThan(ANSWERED_MS);
    await expect(store.freeze({ reason: 'drill', by: 'ada' })).rejects.toMatchObject(unreachable);
    await rig.restart(owner);
    await untilAnswered(() => thaw(store));
    expect(await untilAnswered(() => store.settle(request({ revision: REVISION })))).toMatchObject({
      outcome: 'repeated',
      of: standing(first),
    });
  });
});

describe('the store on a Redis Cluster with replicas, waiting for one', () => {
  it('loses no approval that it gave when the primary of the source is killed under load', async () => {
    const rig = await clusterOfItsOwn({ replicas: 1 });
    const store = await readyOn(rig, 1);
    const under = load(store, '1000000');
    await under.answered(50);
    const old = await rig.ownerOf(keys.of('shop').control);
    await rig.killNode(old);
    await rig.failedOver(old);
    // It comes back as a replica of the one that took over, which then has one again.
    await rig.restart(old);
    await under.answered(50);
    await under.stop();
    for (const rejection of under.rejections) expect(rejection).toMatchObject(unreachable);
    const owner = await rig.ownerOf(keys.of('shop').control);
    expect(owner).not.toBe(old);
    const entries = await rig.node(owner).ask('XRANGE', keys.of('shop').journal, '-', '+');
    const held = new Set((Array.isArray(entries) ? entries : []).map(([id]) => String(id)));
    const given = approvalsIn(under.asked).map(({ result }) => standing(result));
    expect(given.filter((id) => !held.has(id))).toEqual([]);
    expect(await untilAnswered(() => store.control())).toMatchObject({ frozen: [] });
  });

  it('waits in each source for the replica of its own primary', async () => {
    const rig = await clusterOfItsOwn({ replicas: 1 });
    const store = await readyOn(rig, 1);
    const owners = new Map<string, number>();
    for (const source of SOURCES) owners.set(source, await rig.ownerOf(keys.of(source).control));
    const shop = owners.get('shop') ?? 0;
    const other = SOURCES.find((source) => owners.get(source) !== shop);
    // The replicas stand behind the primaries, in their order.
    const replica = rig.nodes[3 + rig.nodes.findIndex(({ port }) => port === shop)];
    replica?.pause();
    const others = request({ source: other ?? '' });
    expect(await untilAnswered(() => store.settle(others))).toMatchObject({ verdict: 'SUCCESS' });
    const asked = store.settle(request());
    await expect(asked).rejects.toMatchObject({ ...unreachable, data: { replicas: 1, had: 0 } });
    await expect(store.freeze({ reason: 'drill', by: 'ada' })).rejects.toMatchObject(unreachable);
    await expect(store.changeList(change('list', ['a']))).rejects.toMatchObject(unreachable);
    replica?.resume();
    await untilAnswered(() => thaw(store));
    expect(await untilAnswered(() => store.settle(request()))).toMatchObject({
      outcome: 'repeated',
      verdict: 'SUCCESS',
    });
  });

  it('continues after the slot of its source moved, with the replica of the new primary', async () => {
    const rig = await clusterOfItsOwn({ replicas: 1 });
    const store = await readyOn(rig, 1);
    const first = await untilAnswered(() => store.settle(request()));
    const to = await elsewhere(rig, keys.of('shop').control);
    await rig.moveSlot(keys.of('shop').control, to);
    const again = await untilAnswered(() => store.settle(request()));
    expect(again).toMatchObject({ outcome: 'repeated', of: standing(first) });
    const replica = rig.nodes[3 + rig.nodes.findIndex(({ port }) => port === to)];
    replica?.pause();
    await expect(store.settle(request())).rejects.toMatchObject(unreachable);
    replica?.resume();
  });
});
