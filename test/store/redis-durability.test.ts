import { describe, expect, it, onTestFinished } from 'vitest';
import { createConnection } from '../../src/store/redis/connection.ts';
import { createKeys } from '../../src/store/redis/keys.ts';
import type { RedisStore } from '../../src/store/redis/open.ts';
import {
  type Durability,
  type Write,
  createAcknowledgements,
  createReplicaWait,
} from '../../src/store/redis/replication.ts';
import type { SettleRequest, Store } from '../../src/store/store.ts';
import { eventually } from '../eventually.ts';
import type { RedisProcess } from '../redis-process.ts';
import { startSentinels } from '../redis-sentinel.ts';
import { readyOn, storeOn, untilAnswered } from './redis-under-test.ts';
import {
  type Asked,
  OTHER_TERMS,
  REVISION,
  TERMS,
  announcement,
  change,
  idOf,
  notice,
  priceChange,
  push,
  request,
  requestChange,
  revisionOf,
  signing,
  thaw,
  storedTerms,
} from './requests.ts';

const unreachable = { name: 'CountersignError', code: 'STORE_UNREACHABLE' };
const keys = createKeys('countersign');

interface Replicated {
  readonly url: string;
  readonly primary: RedisProcess;
  readonly replicas: readonly RedisProcess[];
}

/** A primary with replicas that follow it, and nobody who fails over. */
async function replicated(replicas: number, config: readonly string[] = []): Promise<Replicated> {
  const rig = await startSentinels({ replicas, sentinels: 0, config });
  onTestFinished(() => rig.stop());
  const [primary, ...others] = rig.nodes;
  if (primary === undefined) throw new Error('no primary');
  return { url: `redis://127.0.0.1:${primary.port}`, primary, replicas: others };
}

/** Waits for long: what is to be given is given on a busy machine as well. */
const PATIENT: Durability = { replicas: 1, timeoutMs: 4000 };
/** Is soon over: only for what is not to be given. */
const HASTY: Durability = { replicas: 1, timeoutMs: 50 };

/** A store that waits for replicas, and knows `shop` and `vault`, with REVISION in force. */
async function durableOn(
  server: { readonly url: string },
  durability = PATIENT,
  commandTimeoutMs = 5000,
): Promise<RedisStore> {
  if ((await (await storeOn(server)).control()).revision === '') await readyOn(server);
  return storeOn(server, { durability, commandTimeoutMs });
}

const pauseAll = (servers: readonly RedisProcess[]): void => servers.forEach((server) => server.pause());
const resumeAll = (servers: readonly RedisProcess[]): void => servers.forEach((server) => server.resume());

/** What the server itself holds of an entry, asked on its own. */
async function heldBy(server: RedisProcess, id: string, source = 'shop'): Promise<number> {
  const found = await server.ask('XRANGE', keys.of(source).journal, id, id);
  return Array.isArray(found) ? found.length : 0;
}

const refusal = (over: Partial<Asked> = {}): SettleRequest => request({ approves: false, ...over });

async function calls(server: RedisProcess, command: string): Promise<number> {
  const info = String(await server.ask('INFO', 'commandstats'));
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(info)?.[1] ?? 0);
}

describe('an approval that must be on a replica', () => {
  it('is there when it is given, each of hundreds at once', async () => {
    const { url, replicas } = await replicated(1);
    const store = await durableOn({ url });
    const [replica] = replicas;
    if (replica === undefined) throw new Error('no replica');
    const held: number[] = [];
    await Promise.all(
      Array.from({ length: 300 }, async (_, index) => {
        const result = await store.settle(request({ subject: `payment:${index}` }));
        expect(result).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
        held.push(index % 50 === 0 ? await heldBy(replica, idOf(result)) : 1);
      }),
    );
    expect(held).toEqual(Array(300).fill(1));
    const all = await replica.ask('XLEN', keys.of('shop').journal);
    expect(all).toBe(300);
  });

  it('shares its wait with all others that came meanwhile', async () => {
    const { url, primary, replicas } = await replicated(1);
    // No wait may end before all have come: a replica is paused until then, however long that takes.
    const store = await durableOn({ url }, { replicas: 1, timeoutMs: 60_000 }, 90_000);
    const before = await calls(primary, 'wait');
    pauseAll(replicas);
    const settled = Promise.all(
      Array.from({ length: 400 }, (_, index) => store.settle(request({ subject: `payment:${index}` }))),
    );
    await eventually('the primary has all', async () =>
      (await primary.ask('XLEN', keys.of('shop').journal)) === 400 ? true : undefined,
    );
    // It is answered after all of them, on the same connection: now all of them wait.
    await store.control();
    resumeAll(replicas);
    await settled;
    // One of up to a hundred that came first, and then one for each hundred.
    expect([4, 5]).toContain((await calls(primary, 'wait')) - before);
  });

  it('is not given when no replica has it in time, which the message explains', async () => {
    const { url, replicas } = await replicated(1);
    const store = await durableOn({ url }, HASTY);
    pauseAll(replicas);
    const asked = store.settle(request());
    await expect(asked).rejects.toMatchObject({ ...unreachable, data: { replicas: 1, had: 0 } });
    await expect(asked).rejects.toThrow(
      'the SUCCESS of shop for payment:1 is on the primary, but may not be on its replicas: 0 of the 1 ' +
        'replica that store.durability.replicas requires have it after 50 ms (store.durability.timeoutMs); ' +
        'look at `INFO replication` of the primary, and start or repair its replicas. ' +
        'Ask again: the answer is SUCCESS once they have it',
    );
  });

  it('is not given when fewer replicas than asked for have it', async () => {
    const { url, replicas } = await replicated(2);
    const store = await durableOn({ url }, { replicas: 2, timeoutMs: 2000 });
    pauseAll(replicas.slice(1));
    const asked = store.settle(request());
    await expect(asked).rejects.toMatchObject({ ...unreachable, data: { replicas: 2, had: 1 } });
    await expect(asked).rejects.toThrow(/1 of the 2 replicas/);
  });

  it('is given when one of two replicas is gone and one is asked for', async () => {
    const { url, replicas } = await replicated(2);
    const store = await durableOn({ url });
    pauseAll(replicas.slice(1));
    expect(await store.settle(request())).toMatchObject({ verdict: 'SUCCESS' });
  });

  it('is in the journal with a late entry, and a repeat gets it once the replica is back', async () => {
    const { url, replicas } = await replicated(1);
    const store = await durableOn({ url }, HASTY);
    pauseAll(replicas);
    await expect(store.settle(request())).rejects.toMatchObject(unreachable);
    await expect(store.settle(request())).rejects.toMatchObject(unreachable);
    const entries = await eventually('both late entries are written', async () => {
      const found = await store.entries({ source: 'shop', limit: 10 });
      return found.filter(({ type }) => type === 'late').length === 2 ? found : undefined;
    });
    const late = entries.filter(({ type }) => type === 'late');
    const given = entries.filter(({ type }) => type !== 'late');
    expect(given.map(({ type, verdict }) => [type, verdict])).toEqual([
      ['decision', 'SUCCESS'],
      ['repeat', 'SUCCESS'],
    ]);
    expect(late.map(({ of, verdict, code, subject }) => ({ of, verdict, code, subject }))).toEqual(
      given.map(({ id }) => ({ of: id, verdict: 'FAILURE', code: 'NOT_DURABLE', subject: 'payment:1' })),
    );
    expect(late[0]?.detail).toMatch(/0 of the 1 replica .* after 50 ms/);

    resumeAll(replicas);
    const again = await untilAnswered(() => store.settle(request()));
    expect(again).toMatchObject({ outcome: 'repeated', verdict: 'SUCCESS', of: given[0]?.id });
  });

  it('waits without holding up what need not wait', async () => {
    const { url, replicas } = await replicated(1);
    const store = await durableOn({ url }, { replicas: 1, timeoutMs: 3000 });
    pauseAll(replicas);
    let over = false;
    const ended = Promise.allSettled([store.settle(request()).finally(() => (over = true))]);
    for (let index = 0; index < 20; index++) {
      const subject = `payment:refused-${index}`;
      expect(await store.settle(refusal({ subject }))).toMatchObject({ code: 'RULE_REFUSED' });
      expect(await store.control()).toMatchObject({ revision: REVISION });
      expect(await store.journalSize('shop')).toBeGreaterThan(index);
    }
    expect(over).toBe(false);
    expect(await ended).toMatchObject([{ status: 'rejected', reason: unreachable }]);
  });

  it('is not decided at all where min-replicas-to-write is not met', async () => {
    const { url, primary, replicas } = await replicated(1, [
      'min-replicas-to-write 1',
      'min-replicas-max-lag 2',
    ]);
    const store = await durableOn({ url });
    await replicas[0]?.kill();
    await eventually('the primary misses its replica', async () =>
      String(await primary.ask('INFO', 'replication')).includes('connected_slaves:0') ? true : undefined,
    );
    const asked = store.settle(request());
    await expect(asked).rejects.toMatchObject(unreachable);
    await expect(asked).rejects.toThrow(/min-replicas-to-write/);
    expect(await store.journalSize('shop')).toBe(0);
  });

  it('is not given if the primary dies, and no answer takes longer than a command may', async () => {
    const { url, primary, replicas } = await replicated(1);
    const store = await durableOn({ url }, { replicas: 1, timeoutMs: 900 }, 1000);
    pauseAll(replicas);
    const asked = Array.from({ length: 20 }, (_, index) =>
      store.settle(request({ subject: `payment:${index}` })),
    );
    const askedAtMs = performance.now();
    const ended = Promise.allSettled(asked);
    await eventually('they are decided', async () => (await store.journalSize('shop')) === 20 || undefined);
    await primary.kill();
    for (const outcome of await ended) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: unreachable });
    }
    expect(performance.now() - askedAtMs).toBeLessThan(15_000);
  });

  it('rejects within the time for a command while the primary is silent', async () => {
    const { url, primary } = await replicated(1);
    const store = await durableOn({ url }, { replicas: 1, timeoutMs: 100 }, 200);
    primary.pause();
    const askedAtMs = performance.now();
    await expect(store.settle(request())).rejects.toMatchObject(unreachable);
    expect(performance.now() - askedAtMs).toBeLessThan(5000);
    primary.resume();
    expect(await untilAnswered(() => store.settle(request()))).toMatchObject({ verdict: 'SUCCESS' });
  });

  it('is given again after the scripts were flushed and the connections were killed', async () => {
    const { url, primary } = await replicated(1);
    const store = await durableOn({ url });
    await store.settle(request());
    await primary.ask('SCRIPT', 'FLUSH');
    await primary.ask('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const again = await untilAnswered(() => store.settle(request({ subject: 'payment:2' })));
    expect(again).toMatchObject({ verdict: 'SUCCESS' });
  });

  it('may also be a notice, or a self-check that matches', async () => {
    const { url, replicas } = await replicated(1);
    const [patient, store] = [await durableOn({ url }), await durableOn({ url }, HASTY)];
    await patient.settle(signing());
    const check = { source: 'shop', type: 'self-check', subject: '', code: 'SELF_CHECK', of: '' } as const;
    expect(await patient.recordNotification(notice())).toMatchObject({ verdict: 'SUCCESS' });
    await patient.record({ ...check, verdict: 'SUCCESS', detail: '{}' });
    pauseAll(replicas);
    await expect(store.recordNotification(notice())).rejects.toMatchObject(unreachable);
    await expect(store.record({ ...check, verdict: 'SUCCESS', detail: '{}' })).rejects.toMatchObject(
      unreachable,
    );
    expect(await store.recordNotification(notice({ subject: 'transfer:2' }))).toMatchObject({
      verdict: 'FAILURE',
    });
    expect(await store.record({ ...check, verdict: 'FAILURE', detail: '{}' })).toMatch(/^\d+-\d+$/);
  });

  it('lets a store be closed that waits', async () => {
    const { url, replicas } = await replicated(1);
    const store = await durableOn({ url }, { replicas: 1, timeoutMs: 500 });
    pauseAll(replicas);
    const ended = Promise.allSettled([store.settle(request())]);
    await eventually('it is decided', async () => (await store.journalSize('shop')) === 1 || undefined);
    await store.close();
    expect(await ended).toMatchObject([{ status: 'rejected', reason: unreachable }]);
  });

  it('leaves nothing behind for ever', async () => {
    const { url, primary } = await replicated(1);
    const store = await durableOn({ url });
    await store.settle(request());
    const livesMs = Number(await primary.ask('PTTL', keys.of('shop').barrier));
    expect(livesMs).toBeGreaterThan(0);
    expect(livesMs).toBeLessThanOrEqual(60_000);
  });
});

describe('without replicas to wait for', () => {
  it('there is no second connection, no barrier, and an approval needs none', async () => {
    const { url, primary, replicas } = await replicated(1);
    const store = await readyOn({ url }, { durability: { replicas: 0, timeoutMs: 100 } });
    pauseAll(replicas);
    expect(await store.settle(request())).toMatchObject({ verdict: 'SUCCESS' });
    expect(await calls(primary, 'wait')).toBe(0);
    expect(await primary.ask('EXISTS', keys.of('shop').barrier)).toBe(0);
  });
});

async function rejectRequest(store: Store, scope: string): Promise<unknown> {
  const { version = 0 } = (await store.approvalRequest(scope, 'payment:1')) ?? {};
  return store.changeApprovalRequest(requestChange({ scope, expected: version, value: 'rejected' }));
}

const changes: readonly (readonly [
  string,
  (store: Store) => Promise<unknown>,
  (store: Store) => Promise<unknown>,
])[] = [
  [
    'a freeze',
    (store) => store.freeze({ reason: 'drill', by: 'ada' }),
    async (store) => expect((await store.control()).frozen[0]).toMatchObject({ reason: 'drill' }),
  ],
  [
    'the end of a freeze',
    (store) => thaw(store),
    async (store) => expect((await store.control()).frozen).toEqual([]),
  ],
  [
    'a push',
    (store) => store.push(push('second', REVISION)),
    async (store) => expect((await store.control()).revision).toBe(revisionOf('second')),
  ],
  [
    'a change of a list',
    (store) => store.changeList(change('list', ['a'])),
    async (store) => expect(await store.lists('shop')).toMatchObject([{ list: 'list', entries: 1 }]),
  ],
  [
    'a change of prices',
    (store) => store.changePrices(priceChange({ BTC: '1' })),
    async (store) => expect((await store.prices()).prices.has('BTC')).toBe(true),
  ],
  [
    'the cancellation of an order',
    (store) => store.cancelOrder({ source: 'shop', subject: announcement().subject, by: 'ada' }),
    async (store) =>
      expect(await store.order('shop', announcement().subject)).toMatchObject({ state: 'cancelled' }),
  ],
  [
    'the rejection of an approval request',
    (store) => rejectRequest(store, 'shop'),
    async (store) =>
      expect(await store.approvalRequest('shop', 'payment:1')).toMatchObject({ value: 'rejected' }),
  ],
  [
    'the rejection of an approval request for all sources',
    (store) => rejectRequest(store, ''),
    async (store) =>
      expect(await store.approvalRequest('', 'payment:1')).toMatchObject({ value: 'rejected' }),
  ],
  [
    'the release of an approval',
    async (store) => {
      const version = (await store.subject('shop', 'payment:1'))?.version ?? '';
      const named = { source: 'shop', subject: 'payment:1', version, of: '', by: 'ada', message: 'failed' };
      return store.releaseApproval({ ...named, keys: [], detail: '{}' });
    },
    async (store) =>
      expect(await store.subject('shop', 'payment:1')).toMatchObject({ released: { by: 'ada' } }),
  ],
];

describe('what stops approvals', () => {
  it.each(changes)('is acknowledged only once it is on a replica: %s', async (_name, make, stands) => {
    const { url, replicas } = await replicated(1);
    const store = await durableOn({ url }, HASTY);
    await store.expectOrder(announcement({ expiresAtMs: 4_000_000_000_000 }));
    await (await storeOn({ url })).settle(request());
    pauseAll(replicas);
    const made = make(store);
    await expect(made).rejects.toMatchObject({ ...unreachable, data: { replicas: 1, had: 0 } });
    await expect(made).rejects.toThrow(/is on the primary.*0 of the 1 replica.*Repeat the change/);
    await stands(store);

    resumeAll(replicas);
    await untilAnswered(() => make(store));
    await stands(store);
    await replicas[0]?.ask('REPLICAOF', 'NO', 'ONE');
    await stands(await storeOn({ url: `redis://127.0.0.1:${replicas[0]?.port ?? 0}` }));
  });
});

describe('waiting for replicas of a primary with another history', () => {
  async function acknowledgementsOf({ port }: RedisProcess, waitMs = 5000) {
    const connection = createConnection(
      { url: `redis://127.0.0.1:${port}` },
      { commandTimeoutMs: 5000, connectTimeoutMs: 2000 },
    );
    onTestFinished(() => connection.close());
    await connection.connectedOrTimedOut();
    return createAcknowledgements(connection, keys, { replicas: 1, timeoutMs: 4000 }, waitMs);
  }
  const entry = (id: string, subject: string, terms: string): Write => ({
    source: 'shop',
    keys: [keys.of('shop').journal, keys.of('shop').subject(subject)],
    args: ['entry', id, subject, terms],
  });

  it('finds an approval only under its id, subject, terms and verdict', async () => {
    const { url, primary } = await replicated(1);
    const store = await durableOn({ url });
    const id = idOf(await store.settle(request()));
    const refused = idOf(await store.settle(refusal({ subject: 'payment:2' })));
    const acknowledge = await acknowledgementsOf(primary);
    const results = await Promise.all(
      [
        entry(id, 'payment:1', storedTerms(TERMS)),
        entry(id, 'payment:1', ''),
        entry(id, 'payment:1', storedTerms(OTHER_TERMS)),
        entry(id, 'payment:2', storedTerms(TERMS)),
        entry(refused, 'payment:2', storedTerms(TERMS)),
        entry('1-0', 'payment:1', storedTerms(TERMS)),
      ].map(acknowledge),
    );
    expect(results.map(({ isPresent }) => isPresent)).toEqual([true, true, false, false, false, false]);
    expect(results.map(({ replicas }) => replicas)).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('says of a number whether it was reached, and of a text whether it is the same', async () => {
    const { primary } = await replicated(1);
    await primary.ask('HSET', 'h', 'version', '10|5|6', 'state', 'cancelled', 'odd', 'x');
    const acknowledge = await acknowledgementsOf(primary);
    const of = (...args: Write['args']): Write => ({ source: 'shop', keys: ['h'], args });
    const writes = [
      of('at-least', 'version', '10'),
      of('at-least', 'version', '9'),
      of('at-least', 'version', '11'),
      of('at-least', 'none', '0'),
      of('at-least', 'odd', '0'),
      of('same', 'state', 'cancelled'),
      of('same', 'state', 'cancel'),
      of('same', 'none', ''),
    ];
    const results = await Promise.all(writes.map(acknowledge));
    expect(results.map(({ isPresent }) => isPresent)).toEqual([
      true,
      true,
      false,
      false,
      false,
      true,
      false,
      false,
    ]);
  });

  it('says that an approval which a failover lost is lost, and marks nothing late', async () => {
    const { primary } = await replicated(1);
    const late: string[] = [];
    const wait = createReplicaWait(
      await acknowledgementsOf(primary),
      { replicas: 1, timeoutMs: 100 },
      (_change, because) => void late.push(because),
    );
    const asked = wait({
      name: 'the SUCCESS of shop for payment:1',
      fix: 'ask again',
      writes: [entry('1-0', 'payment:1', storedTerms(TERMS))],
    });
    await expect(asked).rejects.toMatchObject({ ...unreachable, data: { replicas: 1, had: 1 } });
    await expect(asked).rejects.toThrow(/is lost: the current primary does not have it/);
    expect(late).toEqual([]);
  });

  it('rejects what waits too long, and serves what comes after', async () => {
    const { primary } = await replicated(1);
    const acknowledge = await acknowledgementsOf(primary, 100);
    primary.pause();
    const askedAtMs = performance.now();
    await expect(acknowledge(entry('1-0', 'a', ''))).rejects.toThrow(/no reply within 100 ms/);
    expect(performance.now() - askedAtMs).toBeLessThan(5000);
    primary.resume();
    const result = await untilAnswered(() => acknowledge(entry('1-0', 'a', '')));
    expect(result.isPresent).toBe(false);
  });

  it('rejects at once, not after a wait, while there is no connection', async () => {
    const { primary } = await replicated(1);
    const acknowledge = await acknowledgementsOf(primary, 5000);
    await primary.kill();
    await expect(acknowledge(entry('1-0', 'a', ''))).rejects.toMatchObject(unreachable);
    const askedAtMs = performance.now();
    await expect(acknowledge(entry('1-0', 'a', ''))).rejects.toThrow(/does not answer/);
    expect(performance.now() - askedAtMs).toBeLessThan(4000);
  });

  it('is refused by a replica', async () => {
    const { replicas } = await replicated(1);
    const [replica] = replicas;
    if (replica === undefined) throw new Error('no replica');
    const acknowledge = await acknowledgementsOf(replica);
    await expect(acknowledge(entry('1-0', 'a', ''))).rejects.toMatchObject(unreachable);
    await expect(acknowledge(entry('1-0', 'a', ''))).rejects.toThrow(/replica|does not answer/);
  });
});
