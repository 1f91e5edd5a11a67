import { describe, expect, it } from 'vitest';
import { lossesIn } from '../../src/store/freezes.ts';
import { createKeys } from '../../src/store/redis/keys.ts';
import type { RedisStore } from '../../src/store/redis/open.ts';
import { loadScript } from '../../src/store/redis/script.ts';
import { rawClient, readyOn, redisOfItsOwn, storeOn } from './redis-under-test.ts';
import { REVISION, change, push, request, thaw } from './requests.ts';

const keys = createKeys('countersign');
const by = 'ada';
let subjects = 0;
const fresh = (source = 'shop') => request({ source, subject: `payment:fresh-${++subjects}` });

async function ready() {
  const server = await redisOfItsOwn();
  return { server, store: await readyOn(server), client: rawClient(server) };
}

/** What the journal of a source says of freezes: the change, its author, and the ids. */
async function told(store: RedisStore, source = 'shop'): Promise<readonly string[]> {
  const entries = await store.entries({ source, limit: 1000 });
  return entries
    .filter(({ type }) => type === 'freeze')
    .map(({ detail }) => {
      const {
        change: what,
        by: author,
        freezes,
      } = JSON.parse(detail) as {
        readonly change: string;
        readonly by: string;
        readonly freezes: readonly { readonly id: string }[];
      };
      return `${what} ${author} ${freezes.map(({ id }) => id).join(' ')}`;
    });
}

describe('a freeze for lost data', () => {
  async function lost() {
    const rig = await ready();
    await rig.client.del(keys.of('vault').control);
    const { frozen } = await rig.store.control();
    const [loss] = frozen;
    if (loss === undefined || lossesIn(frozen).length === 0) throw new Error('no loss was found');
    return { ...rig, loss };
  }

  it('stops what another freeze excepts, and a copy that lost data takes nothing else', async () => {
    const { store, client } = await ready();
    const { freeze } = await store.freeze({ reason: 'odd', by, kind: 'except-approved' });
    const asked = () => ({ ...fresh('vault'), proposal: { ...fresh().proposal, onlyApproved: true } });
    expect(await store.settle(asked())).toMatchObject({ code: 'APPROVED' });
    const { control, journal } = keys.of('vault');
    await client.del(control);
    const { source } = loadScript('update-copy-2');
    const update = (frozen: string) => {
      const given = ['99', REVISION, frozen, '0', 'epoch', '', '', '', '0', ''];
      return client.eval(source, 2, control, journal, ...given);
    };
    for (const frozen of ['', 'except-approved']) expect(await update(frozen)).toBe('gone');
    expect(await client.hget(control, 'frozen')).toBeNull();
    expect(await update('1')).toBe('gone');
    expect(await client.hget(control, 'frozen')).toBe('1');
    await client.del(control);
    const { frozen } = await store.control();
    expect(frozen).toMatchObject([freeze, { kind: 'loss' }]);
    expect(await store.settle(asked())).toMatchObject({ code: 'FROZEN' });
    await store.unfreeze({ by, ids: frozen.map(({ id }) => id) });
    expect(await store.settle(asked())).toMatchObject({ code: 'FROZEN' });
  });

  it('restores a freeze that excepts something as what it was, also beside one that does not', async () => {
    const { store, client } = await ready();
    const { freeze: except } = await store.freeze({ reason: 'odd', by, kind: 'except-approved' });
    const { freeze: full } = await store.freeze({ reason: 'leak', by });
    await store.control();
    await client.flushall();
    const { frozen } = await store.control();
    expect(frozen).toMatchObject([except, full, { kind: 'loss' }]);
    const losses = lossesIn(frozen).map(({ id }) => id);
    const { control } = await store.unfreeze({ by, ids: [...losses, full.id], acknowledgeLoss: true });
    expect(control.frozen).toEqual([except]);
  });

  it('stands whatever operators freeze, unfreeze, push and change, until it is acknowledged', async () => {
    const { server, store, loss } = await lost();
    const { freeze } = await store.freeze({ reason: 'look into it', by });
    expect((await store.control()).frozen).toEqual([loss, freeze]);
    const { lifted, control } = await store.unfreeze({ by, ids: [loss.id, freeze.id] });
    expect(lifted).toEqual([freeze]);
    expect(control.frozen).toEqual([loss]);
    await store.push(push('second', REVISION));
    await store.push(push('first', (await store.control()).revision));
    await store.changePrices({ set: [], remove: ['BTC'], by });
    await store.changeList(change('list', ['a']));
    const late = await storeOn(server);
    await late.register(['shop', 'vault', 'new']);
    for (const each of [store, late]) {
      expect((await each.control()).frozen).toEqual([loss]);
      for (const source of ['shop', 'vault']) {
        expect(await each.settle(fresh(source))).toMatchObject({ code: 'FROZEN' });
      }
    }
    const ended = await late.unfreeze({ by, ids: [loss.id], acknowledgeLoss: true });
    expect(ended).toMatchObject({ lifted: [loss], control: { frozen: [] } });
    for (const source of ['shop', 'vault']) {
      expect(await store.settle(fresh(source))).toMatchObject({ code: 'APPROVED' });
    }
  });

  it('that is acknowledged leaves what operators ordered', async () => {
    const { store, loss } = await lost();
    const { freeze } = await store.freeze({ reason: 'look into it', by });
    const { control } = await store.unfreeze({ by, ids: [loss.id], acknowledgeLoss: true });
    expect(control.frozen).toEqual([freeze]);
    for (const source of ['shop', 'vault']) {
      expect(await store.settle(fresh(source))).toMatchObject({ code: 'FROZEN' });
    }
    await store.unfreeze({ by, ids: [freeze.id] });
    for (const source of ['shop', 'vault']) {
      expect(await store.settle(fresh(source))).toMatchObject({ code: 'APPROVED' });
    }
  });

  it('stands beside one for a loss on top of it, and each must be acknowledged', async () => {
    const { store, client, loss } = await lost();
    await client.flushall();
    const { frozen } = await store.control();
    expect(frozen[0]).toEqual(loss);
    expect(frozen).toMatchObject([
      {},
      { kind: 'loss', reason: expect.stringContaining('no longer has any data') },
    ]);
    await store.push(push('first', ''));
    const { control } = await store.unfreeze({ by, ids: [loss.id], acknowledgeLoss: true });
    expect(control.frozen).toEqual(frozen.slice(1));
    expect(await store.settle(fresh())).toMatchObject({ code: 'FROZEN' });
    expect(await thaw(store)).toMatchObject({ frozen: [] });
    expect(await store.settle(fresh())).toMatchObject({ code: 'APPROVED' });
  });

  it('is in the journals, by countersign, also in that of the source that was lost', async () => {
    const { store, loss } = await lost();
    await thaw(store);
    for (const source of ['shop', 'vault']) {
      expect(await told(store, source)).toEqual([`freeze countersign ${loss.id}`, `unfreeze ada ${loss.id}`]);
    }
  });

  it('brings back the freezes of operators that were lost with the data, and gives no id again', async () => {
    const { store, client } = await ready();
    const { freeze: gone } = await store.freeze({ reason: 'over', by });
    await store.unfreeze({ by, ids: [gone.id] });
    const { freeze } = await store.freeze({ reason: 'leak', by: 'bob' });
    await client.flushall();
    const { frozen } = await store.control();
    expect(frozen[0]).toEqual(freeze);
    expect(lossesIn(frozen)).not.toEqual([]);
    expect([gone.id, freeze.id]).not.toContain(frozen[1]?.id);
    const { freeze: next } = await store.freeze({ reason: 'more', by });
    expect([gone, ...frozen].map(({ id }) => id)).not.toContain(next.id);
    expect(await store.settle(fresh())).toMatchObject({ code: 'FROZEN' });
  });

  it('stands beside the freeze that an operator ordered of an emptied store, in either order', async () => {
    const { server, store, client } = await ready();
    const { freeze: old } = await store.freeze({ reason: 'leak', by: 'bob' });
    await client.flushall();
    const { freeze, control } = await store.freeze({ reason: 'what is this', by });
    expect(freeze.id).not.toBe(old.id);
    expect(control.frozen).toMatchObject([old, freeze, { kind: 'loss' }]);
    // A process that remembers nothing starts the emptied store over, and may give an id again that others
    // remember.
    await client.flushall();
    const operator = await storeOn(server);
    await operator.register(['shop', 'vault']);
    let twice = await operator.freeze({ reason: 'again', by: 'carol' });
    while (Number(twice.freeze.id.slice(1)) < Number(old.id.slice(1))) {
      twice = await operator.freeze({ reason: 'again', by: 'carol' });
    }
    const { frozen } = await store.control();
    const reasons = frozen.map(({ reason }) => reason);
    for (const reason of ['leak', 'what is this', 'again']) expect(reasons).toContain(reason);
    expect(new Set(frozen.map(({ id }) => id)).size).toBe(frozen.length);
    expect(frozen).toContainEqual(twice.freeze);
    expect(lossesIn(frozen)).not.toEqual([]);
    for (const source of ['shop', 'vault']) {
      expect(await operator.settle(fresh(source))).toMatchObject({ code: 'FROZEN' });
    }
  });

  it('is not lifted by an acknowledgement of what was lost before', async () => {
    const { store, client, loss } = await lost();
    await client.flushall();
    await expect(store.unfreeze({ by, ids: [loss.id], acknowledgeLoss: true })).resolves.toMatchObject({
      control: { frozen: [{ kind: 'loss' }] },
    });
    expect(await store.settle(fresh())).toMatchObject({ code: 'FROZEN' });
  });
});

describe('the journal of a source that could not be reached', () => {
  it('has each freeze and each unfreeze exactly once, as soon as possible', async () => {
    const { store, client } = await ready();
    const { control } = keys.of('vault');
    await client.rename(control, 'aside');
    await client.set(control, 'of another type');
    await expect(store.freeze({ reason: 'drill', by })).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    await expect(store.unfreeze({ by: 'bob', ids: ['f2'] })).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    await client.rename('aside', control);
    for (let round = 0; round < 3; round++) await store.control();
    for (const source of ['shop', 'vault']) {
      expect(await told(store, source)).toEqual(['freeze ada f2', 'unfreeze bob f2']);
    }
    expect(await client.hget(keys.inForce, 'acts')).toBe('');
    expect(await store.settle(fresh('vault'))).toMatchObject({ code: 'APPROVED' });
  });
});
