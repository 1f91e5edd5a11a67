import { subjectOf } from '../../src/callback/callback.ts';
import { describe, expect, it } from 'vitest';
import { createKeys } from '../../src/store/redis/keys.ts';
import { lossesIn } from '../../src/store/freezes.ts';
import type { RedisStore } from '../../src/store/redis/open.ts';
import { eventually } from '../eventually.ts';
import { rawClient, readyOn, redisOfItsOwn, storeOn, untilAnswered } from './redis-under-test.ts';
import { REVISION, change, notice, priceChange, push, request, thaw } from './requests.ts';

const keys = createKeys('countersign');
const lostError = { name: 'CountersignError', code: 'STORE_LOST' };
const by = 'ada';
let subjects = 0;

/** An approving question about a subject of its own. */
const fresh = (source = 'shop') => request({ source, subject: `payment:fresh-${++subjects}` });

async function frozenReason(store: RedisStore): Promise<string> {
  const { frozen } = await store.control();
  expect(lossesIn(frozen)).not.toEqual([]);
  return lossesIn(frozen).at(-1)?.reason ?? '';
}

/** The question is refused as FROZEN, or rejected because the loss is being detected. */
async function expectNoApproval(store: RedisStore, source = 'shop'): Promise<void> {
  const result = await store.settle(fresh(source)).catch((thrown: unknown) => thrown);
  expect(result).not.toMatchObject({ verdict: 'SUCCESS' });
}

const untilFrozen = (store: RedisStore) =>
  eventually('the store is frozen for a loss', async () => {
    const { frozen } = await store.control();
    return lossesIn(frozen).at(-1);
  });

it('a preview is not remembered as an approval, whose loss would freeze the store', async () => {
  const server = await redisOfItsOwn();
  const store = await readyOn(server);
  expect(await store.settle(fresh())).toMatchObject({ code: 'APPROVED' });
  const { control } = keys.of('shop');
  const before = await rawClient(server).hgetall(control);
  // A later millisecond, so that a mark of the preview would be newer than that of the approval.
  const approvedMs = Number(before['now']);
  await eventually('the clock has moved', async () => {
    const { nowMs } = await store.health();
    return nowMs > approvedMs || undefined;
  });
  expect(await store.preview(fresh())).toMatchObject({ outcome: 'decided', code: 'APPROVED' });
  expect(await rawClient(server).hgetall(control)).toEqual(before);
  expect(await store.settle(fresh())).toMatchObject({ code: 'APPROVED' });
  expect((await store.control()).frozen).toEqual([]);
});

describe('a Redis that was emptied under a running process', () => {
  it('is detected by the next question, which is not approved, and frozen for every process', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const other = await storeOn(server);
    await other.register(['shop']);
    expect(await store.settle(request())).toMatchObject({ code: 'APPROVED' });
    await rawClient(server).flushall();
    await expect(store.settle(request())).rejects.toMatchObject(lostError);
    expect((await untilFrozen(other)).reason).toMatch(
      /^data was lost: .*Push the policies again.*limits continue with/,
    );
    await untilFrozen(store);
    for (const each of [store, other]) expect(await each.settle(fresh())).toMatchObject({ code: 'FROZEN' });
  });

  it('is detected by a preview, which says so', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    expect(await store.settle(request())).toMatchObject({ code: 'APPROVED' });
    await rawClient(server).flushall();
    await expect(store.preview(fresh())).rejects.toMatchObject(lostError);
    expect(await frozenReason(store)).toMatch(/Redis has lost the data of the source shop/);
    expect(await store.preview(fresh())).toMatchObject({ code: 'FROZEN' });
    await expectNoApproval(store);
  });

  it('is detected by the next read, without any question', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    await rawClient(server).flushall();
    expect(await frozenReason(store)).toMatch(/Redis no longer has any data/);
    expect(await store.settle(fresh('vault'))).toMatchObject({ code: 'FROZEN' });
  });

  it('is detected after a restart without persistence', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    await store.settle(request());
    await server.restart();
    await untilAnswered(() => store.health());
    await expectNoApproval(store);
    expect((await untilFrozen(store)).by).toBe('countersign');
  });

  it('stays frozen for a process that starts later, whatever it pushes', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    await rawClient(server).flushall();
    await store.control();
    const late = await storeOn(server);
    await late.register(['shop', 'vault', 'new']);
    expect(lossesIn((await late.control()).frozen)).not.toEqual([]);
    expect(await late.push(push('first', ''))).toMatchObject({ outcome: 'in-force' });
    for (const source of ['shop', 'vault', 'new']) {
      expect(await late.settle(fresh(source))).toMatchObject({ code: 'FROZEN' });
    }
  });

  it('is frozen by processes that remember it, even if another process has started it over', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    await rawClient(server).flushall();
    const anew = await readyOn(server);
    // It can't know that it is not the first process; it approves until a process that remembers reads.
    expect(await anew.settle(fresh())).toMatchObject({ code: 'APPROVED' });
    await expect(store.settle(fresh())).rejects.toMatchObject(lostError);
    await untilFrozen(store);
    expect(await anew.settle(fresh())).toMatchObject({ code: 'FROZEN' });
    expect(await frozenReason(anew)).toMatch(
      /the data of the source shop in Redis is from another store or a backup/,
    );
  });

  it('is announced to watchers as soon as another process starts it over', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    let heard = 0;
    store.watch(() => (heard += 1));
    await eventually('it subscribed', () => heard > 0 || undefined);
    await rawClient(server).flushall();
    const before = heard;
    await (await storeOn(server)).register(['shop']);
    expect(await eventually('it heard', () => heard > before || undefined)).toBe(true);
  });

  it('continues in every process once an operator acknowledges the loss', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const away = await readyOnAnother(server);
    expect(await store.settle(request())).toMatchObject({ outcome: 'decided' });
    expect(await away.settle(request())).toMatchObject({ outcome: 'repeated' });
    await rawClient(server).flushall();
    await store.control();
    const operator = await storeOn(server);
    await operator.push(push('first', ''));
    expect(await thaw(operator)).toMatchObject({ frozen: [], revision: REVISION });
    expect(await store.settle(request())).toMatchObject({ outcome: 'decided', code: 'APPROVED' });
    // It missed the freeze. It learns now that the loss was declared, and freezes nothing.
    await untilAnswered(() => away.settle(fresh()));
    for (const each of [store, away, operator]) {
      expect((await each.control()).frozen).toEqual([]);
      expect(await each.settle(fresh('vault'))).toMatchObject({ code: 'APPROVED' });
    }
  });

  it('is detected again if it happens again', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    for (let round = 0; round < 3; round++) {
      expect(await store.settle(fresh())).toMatchObject({ code: 'APPROVED' });
      await rawClient(server).flushall();
      await frozenReason(store);
      await store.push(push('first', ''));
      await thaw(store);
    }
    expect(await store.settle(fresh())).toMatchObject({ code: 'APPROVED' });
  });

  it('keeps the freeze of an operator', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const { freeze } = await store.freeze({ reason: 'drill', by });
    await rawClient(server).del(keys.of('vault').control);
    expect(await frozenReason(store)).toMatch(/the source vault\./);
    expect((await store.control()).frozen).toContainEqual(freeze);
  });

  async function readyOnAnother(server: { readonly url: string }): Promise<RedisStore> {
    const store = await storeOn(server);
    await store.register(['shop', 'vault']);
    return store;
  }
});

describe('a Redis that came back with older data', () => {
  /** Approvals that are in the snapshot, and one that is not; then the snapshot is what Redis has. */
  async function restored(ask: (store: RedisStore) => Promise<unknown>) {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    await store.settle(request());
    await rawClient(server).save();
    await ask(store);
    await server.restart();
    await untilAnswered(() => store.health());
    return { server, store };
  }

  it('is detected by the next question', async () => {
    const forgotten = fresh();
    const { store } = await restored((before) => before.settle(forgotten));
    await expect(store.settle(forgotten)).rejects.toMatchObject(lostError);
    expect((await untilFrozen(store)).reason).toMatch(/no longer has an approval of the source shop/);
    expect(await store.settle(forgotten)).toMatchObject({ code: 'FROZEN' });
  });

  it('is detected by the next read', async () => {
    const { store } = await restored((before) => before.settle(fresh('vault')));
    expect(await frozenReason(store)).toMatch(/no longer has an approval of the source vault/);
    for (const source of ['shop', 'vault']) {
      expect(await store.settle(fresh(source))).toMatchObject({ code: 'FROZEN' });
    }
  });

  it('is detected also if others have written meanwhile', async () => {
    const forgotten = fresh();
    const { server, store } = await restored((before) => before.settle(forgotten));
    const other = await storeOn(server);
    await other.register(['shop', 'vault']);
    expect(await other.settle(fresh())).toMatchObject({ code: 'APPROVED' });
    await other.record({
      source: 'shop',
      type: 'refused',
      subject: subjectOf(forgotten.callback),
      verdict: '',
      code: '',
      of: '',
      detail: '{}',
    });
    await expect(store.settle(forgotten)).rejects.toMatchObject(lostError);
    expect((await untilFrozen(other)).reason).toMatch(/no longer has an approval/);
  });

  it.each<[string, (store: RedisStore) => Promise<unknown>]>([
    ['a freeze', (store) => store.freeze({ reason: 'drill', by })],
    ['a push', (store) => store.push(push('second', REVISION))],
  ])('is detected if %s is what was lost', async (_name, make) => {
    const { store } = await restored(async (before) => {
      await make(before);
      await before.control();
    });
    expect(await frozenReason(store)).toMatch(/no longer has the latest change/);
    expect(await store.settle(fresh())).toMatchObject({ code: 'FROZEN' });
  });

  it('is no loss if only refusals were lost', async () => {
    const { callback, proposal, ...more } = fresh();
    const refused = { callback, proposal: { ...proposal, approves: false }, ...more };
    const { store } = await restored((before) => before.settle(refused));
    expect((await store.control()).frozen).toEqual([]);
    expect(await store.settle(fresh())).toMatchObject({ code: 'APPROVED' });
  });

  it('continues once an operator acknowledges the loss, with the decisions of the older data', async () => {
    const { store } = await restored((before) => before.settle(fresh()));
    await frozenReason(store);
    await thaw(store);
    expect(await store.settle(request())).toMatchObject({ outcome: 'repeated', code: 'APPROVED' });
    expect(await store.settle(fresh())).toMatchObject({ code: 'APPROVED' });
    expect((await store.control()).frozen).toEqual([]);
  });
});

describe('one source that was lost', () => {
  it.each<[string, (store: RedisStore, url: string) => Promise<unknown>]>([
    ['settle', (store) => store.settle(request()).catch(() => undefined)],
    ['control', (store) => store.control()],
    ['a process that starts', async (_store, url) => (await storeOn({ url })).register(['shop'])],
  ])('freezes all: detected by %s', async (_name, look) => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    await store.settle(request());
    const client = rawClient(server);
    await client.del(await client.keys('countersign:{shop}:*'));
    await look(store, server.url);
    expect((await untilFrozen(store)).reason).toMatch(/lost the data of the source shop/);
    for (const source of ['shop', 'vault']) {
      expect(await store.settle(fresh(source))).toMatchObject({ code: 'FROZEN' });
    }
    await thaw(store);
    for (const source of ['shop', 'vault']) {
      expect(await store.settle(fresh(source))).toMatchObject({ code: 'APPROVED' });
    }
  });

  it('is not hidden by writes to its journal or its lists', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    await rawClient(server).del(keys.of('shop').control);
    await store.changeList(change('list', ['a']));
    await store.record({
      source: 'shop',
      type: 'refused',
      subject: '',
      verdict: '',
      code: '',
      of: '',
      detail: '',
    });
    expect(await frozenReason(store)).toMatch(/the source shop/);
  });

  it('is not hidden by a push, which is in force and frozen', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    await rawClient(server).del(keys.of('shop').control);
    const { outcome, control } = await store.push(push('second', REVISION));
    expect(outcome).toBe('in-force');
    expect(lossesIn(control.frozen)).not.toEqual([]);
  });

  it('is not hidden by an unfreeze of the freeze of an operator', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const { freeze } = await store.freeze({ reason: 'drill', by });
    await rawClient(server).del(keys.of('shop').control);
    const { control } = await store.unfreeze({ by, ids: [freeze.id], acknowledgeLoss: true });
    expect(control.frozen).toMatchObject([{ kind: 'loss' }]);
    await expectNoApproval(store);
  });

  it('is a loss of what holds for all: the sources are known, and have another epoch', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const client = rawClient(server);
    await client.del(await client.keys('countersign:{global}:*'));
    const late = await storeOn(server);
    await late.register(['shop', 'vault']);
    expect(await frozenReason(late)).toMatch(
      /the source shop in Redis is from another store or a backup, and .*vault/,
    );
    expect(await store.settle(fresh())).toMatchObject({ code: 'FROZEN' });
  });
});

describe('while a loss is known and cannot be frozen', () => {
  it('nothing is approved, and it is frozen once that is possible', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const client = rawClient(server);
    await client.flushall();
    await client.set(keys.sources, 'of another type');
    await expect(store.control()).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    expect(store.pendingLoss()).toMatch(/Redis no longer has any data/);
    await expect(store.settle(fresh())).rejects.toMatchObject(lostError);
    await expect(store.recordNotification(notice({ txid: '' }))).rejects.toMatchObject(lostError);
    await client.del(keys.sources);
    expect(await frozenReason(store)).toMatch(/Redis no longer has any data/);
    expect(store.pendingLoss()).toBeUndefined();
    expect(await store.settle(fresh())).toMatchObject({ code: 'FROZEN' });
  });
});

describe('with replicas to wait for', () => {
  const durability = { replicas: 1, timeoutMs: 500 };

  it('an approval that was rejected for lack of replicas cannot count as lost', async () => {
    const server = await redisOfItsOwn();
    await readyOn(server);
    const store = await storeOn(server, { durability });
    await store.register(['shop']);
    await expect(store.settle(request())).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' });
    const client = rawClient(server);
    const { control } = keys.of('shop');
    const witnesses = (await client.hkeys(control)).filter((name) => name.startsWith('w:'));
    expect(await client.hdel(control, ...witnesses)).toBe(1);
    expect((await store.control()).frozen).toEqual([]);
  });

  it('a push and a change of prices before the unfreeze are acknowledged', async () => {
    const primary = await redisOfItsOwn({ args: ['--repl-diskless-sync-delay', '0'] });
    await redisOfItsOwn({ args: ['--replicaof', '127.0.0.1', String(primary.port)] });
    const client = rawClient(primary);
    await eventually('there is a replica', async () =>
      (await client.info('replication')).includes('state=online') ? true : undefined,
    );
    // A replica that has just come acknowledges nothing for up to a second.
    const unhurried = { durability: { replicas: 1, timeoutMs: 8000 }, commandTimeoutMs: 10_000 };
    const store = await readyOn(primary, unhurried);
    expect(await store.settle(request())).toMatchObject({ code: 'APPROVED' });
    await client.flushall();
    await frozenReason(store);
    expect(await store.push(push('first', ''))).toMatchObject({ outcome: 'in-force' });
    expect(await store.changePrices(priceChange({ BTC: '1' }))).toMatchObject({ version: 1 });
    await thaw(store);
    expect(await store.settle(fresh())).toMatchObject({ code: 'APPROVED' });
  });
});
