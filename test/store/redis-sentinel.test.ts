import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createKeys } from '../../src/store/redis/keys.ts';
import type { RedisStore } from '../../src/store/redis/open.ts';
import type { SettleResult } from '../../src/store/store.ts';
import { eventually } from '../eventually.ts';
import type { RedisProcess } from '../redis-process.ts';
import type { RedisSentinels } from '../redis-sentinel.ts';
import { sentinelsOfItsOwn, storeOnSentinels } from './redis-rig.ts';
import { UNHURRIED, untilAnswered } from './redis-under-test.ts';
import { push, request } from './requests.ts';

const unreachable = { name: 'CountersignError', code: 'STORE_UNREACHABLE' };
const shop = createKeys('countersign').of('shop');
/** A command takes less, also on a busy machine; more means that something waited for a connection. */
const TIMEOUTS = { commandTimeoutMs: 400, connectTimeoutMs: 400 };
const ANSWERED_MS = 2 * TIMEOUTS.commandTimeoutMs + 5000;

async function readyOn(rig: RedisSentinels, replicas: number): Promise<RedisStore> {
  const durability = { replicas, timeoutMs: 100 };
  const unhurried = await storeOnSentinels(rig, UNHURRIED);
  await untilAnswered(() => unhurried.register(['shop', 'vault']));
  await unhurried.push(push('first', ''));
  await unhurried.close();
  const store = await storeOnSentinels(rig, { ...TIMEOUTS, durability });
  await untilAnswered(() => store.register(['shop', 'vault']));
  return store;
}

interface Load {
  /** Ids of the approvals that were given. */
  readonly given: string[];
  readonly rejections: unknown[];
  longestMs(): number;
  stop(): Promise<void>;
}

/** Asks for new approvals, several at once, until it is stopped. */
function load(store: RedisStore, lanes = 8): Load {
  const given: string[] = [];
  const rejections: unknown[] = [];
  let [asked, longestMs] = [0, 0];
  const under = { way: true };
  async function lane(): Promise<void> {
    while (under.way) {
      const sinceMs = performance.now();
      try {
        const result: SettleResult = await store.settle(request({ subject: `payment:${(asked += 1)}` }));
        if (result.outcome === 'decided' && result.verdict === 'SUCCESS') given.push(result.id);
      } catch (thrown) {
        rejections.push(thrown);
      }
      longestMs = Math.max(longestMs, performance.now() - sinceMs);
      await pause(2);
    }
  }
  const running = Array.from({ length: lanes }, lane);
  return {
    given,
    rejections,
    longestMs: () => longestMs,
    async stop() {
      under.way = false;
      await Promise.all(running);
    },
  };
}

/** The ids of what the server itself holds. */
async function journalOf(server: RedisProcess): Promise<ReadonlySet<string>> {
  const entries = await server.ask('XRANGE', shop.journal, '-', '+');
  return new Set((Array.isArray(entries) ? entries : []).map(([id]) => String(id)));
}

async function missingOn(server: RedisProcess, ids: readonly string[]): Promise<readonly string[]> {
  const held = await journalOf(server);
  return ids.filter((id) => !held.has(id));
}

const approvesAgain = (given: readonly string[]): Promise<true> => {
  const before = given.length;
  return eventually('approvals are given again', () => (given.length > before + 20 ? true : undefined));
};

describe('the store on Redis under Sentinel', () => {
  it('loses no approval when the primary is killed, rejects meanwhile, and recovers', async () => {
    const rig = await sentinelsOfItsOwn();
    const store = await readyOn(rig, 1);
    let heard = 0;
    const stopWatching = store.watch(() => (heard += 1));
    const under = load(store);
    await approvesAgain(under.given);
    const old = await rig.killPrimary();
    const port = await rig.reconfigured();
    await approvesAgain(under.given);
    await under.stop();

    expect(port).not.toBe(old);
    expect(under.rejections.length).toBeGreaterThan(0);
    for (const rejection of under.rejections) expect(rejection).toMatchObject(unreachable);
    expect(under.longestMs()).toBeLessThan(ANSWERED_MS);
    expect(await missingOn(rig.node(port), under.given)).toEqual([]);
    expect(await untilAnswered(() => store.control())).toMatchObject({ frozen: [] });
    const before = heard;
    await untilAnswered(() => store.freeze({ reason: 'drill', by: 'ada' }));
    await eventually('the freeze is heard of', () => (heard > before ? true : undefined));
    stopWatching();
  });

  it('leaves a silent primary that was replaced, and approves nothing on it when it comes back', async () => {
    const rig = await sentinelsOfItsOwn();
    const store = await readyOn(rig, 1);
    const under = load(store);
    await approvesAgain(under.given);
    const old = await rig.pausePrimary();
    const port = await rig.reconfigured();
    rig.node(old).resume();
    await rig.replicated(2);
    await approvesAgain(under.given);
    await under.stop();

    for (const rejection of under.rejections) expect(rejection).toMatchObject(unreachable);
    expect(under.longestMs()).toBeLessThan(ANSWERED_MS);
    expect(await missingOn(rig.node(port), under.given)).toEqual([]);
    expect(await untilAnswered(() => store.control())).toMatchObject({ frozen: [] });
  });

  it('does not stay with a primary that was replaced while nobody asked', async () => {
    const rig = await sentinelsOfItsOwn();
    const store = await readyOn(rig, 1);
    const old = await rig.pausePrimary();
    const port = await rig.reconfigured();
    rig.node(old).resume();
    const under = load(store);
    await approvesAgain(under.given);
    await under.stop();
    expect(await missingOn(rig.node(port), under.given)).toEqual([]);
  });

  it('loses none in a planned failover if all replicas must have it', async () => {
    const rig = await sentinelsOfItsOwn();
    const store = await readyOn(rig, 2);
    const old = await rig.primary();
    const under = load(store);
    await approvesAgain(under.given);
    await rig.sentinels[0]?.ask('SENTINEL', 'FAILOVER', 'main');
    const port = await eventually('another primary', async () => {
      const current = await rig.primary();
      return current === old ? undefined : current;
    });
    await rig.replicated(2);
    await approvesAgain(under.given);
    await under.stop();
    for (const rejection of under.rejections) expect(rejection).toMatchObject(unreachable);
    expect(await missingOn(rig.node(port), under.given)).toEqual([]);
    expect(await untilAnswered(() => store.control())).toMatchObject({ frozen: [] });
  });

  it('rejects at once what a server answers that is a replica now, and asks the Sentinels again', async () => {
    const rig = await sentinelsOfItsOwn();
    const store = await readyOn(rig, 0);
    const [other] = rig.nodes.slice(1);
    await rig.node(await rig.primary()).ask('REPLICAOF', '127.0.0.1', other?.port ?? 0);
    const asked = store.settle(request());
    await expect(asked).rejects.toMatchObject(unreachable);
    await expect(asked).rejects.toThrow(/is a replica; name the primary, or the Sentinels|does not answer/);
    const askedAtMs = performance.now();
    await expect(store.settle(request())).rejects.toMatchObject(unreachable);
    expect(performance.now() - askedAtMs).toBeLessThan(ANSWERED_MS);
    expect(await untilAnswered(() => store.settle(request()))).toMatchObject({
      verdict: 'SUCCESS',
    });
  });

  it('names the Sentinels when none of them answers, and comes back with them', async () => {
    const rig = await sentinelsOfItsOwn({ replicas: 0, sentinels: 2 });
    const port = await rig.primary();
    for (const sentinel of rig.sentinels) await sentinel.kill();
    const store = await storeOnSentinels(rig, TIMEOUTS);
    const asked = store.health();
    await expect(asked).rejects.toMatchObject(unreachable);
    await expect(asked).rejects.toThrow(
      new RegExp(
        `Sentinels 127.0.0.1:${rig.sentinels[0]?.port}.*` +
          'the Sentinel 127.0.0.1:.* does not answer: connect ECONNREFUSED',
      ),
    );
    await Promise.all(rig.sentinels.map((sentinel) => sentinel.restart()));
    expect(await rig.primary()).toBe(port);
    await untilAnswered(() => store.health());
  });

  it('speaks RESP3 with the primary, and leaves no connection behind when it is closed', async () => {
    const rig = await sentinelsOfItsOwn({ replicas: 1, sentinels: 2 });
    const store = await readyOn(rig, 1);
    store.watch(() => {});
    const ours = async (server: RedisProcess | undefined): Promise<readonly string[]> =>
      String(await server?.ask('CLIENT', 'LIST'))
        .split('\n')
        .filter((line) => line.includes('cmd=') && !line.includes('cmd=client'))
        .filter((line) => / flags=[NP] /.test(line));
    // For commands, for barriers and for notices.
    const connections = await eventually('three connections', async () => {
      const found = (await ours(rig.nodes[0])).filter((line) => line.includes('resp=3'));
      return found.length === 3 && found.some((line) => / sub=1 /.test(line)) ? found : undefined;
    });
    expect(connections.filter((line) => / sub=1 /.test(line))).toHaveLength(1);
    await store.close();
    await eventually('the primary has lost them', async () =>
      (await ours(rig.nodes[0])).some((line) => line.includes('resp=3')) ? undefined : true,
    );
    await eventually('the Sentinels have lost theirs', async () => {
      const left = await Promise.all(rig.sentinels.map((sentinel) => ours(sentinel)));
      return left.flat().some((line) => line.includes('resp=3')) ? undefined : true;
    });
  });
});
