import { describe, expect, it } from 'vitest';
import { createKeys } from '../../src/store/redis/keys.ts';
import { lossesIn } from '../../src/store/freezes.ts';
import { loadScript } from '../../src/store/redis/script.ts';
import { rawClient, readyOn, redisOfItsOwn, storeOn } from './redis-under-test.ts';
import { REVISION, push, request, thaw } from './requests.ts';

const keys = createKeys('countersign');
const NEW = 'new';
const asked = (source: string) => request({ source, subject: `payment:${source}` });

describe('a store that was never begun', () => {
  it('is no loss: it is registered, waits for a push, and then approves', async () => {
    const store = await storeOn(await redisOfItsOwn());
    await store.register(['shop']);
    expect(await store.control()).toEqual({ sequence: 0, revision: '', frozen: [], lifted: [], prices: 0 });
    expect(await store.settle(asked('shop'))).toMatchObject({ outcome: 'stale', inForce: '' });
    await store.push(push('first', ''));
    expect(await store.settle(asked('shop'))).toMatchObject({ code: 'APPROVED' });
  });

  it('has one epoch, however many processes begin it at once', async () => {
    const server = await redisOfItsOwn();
    const stores = await Promise.all(Array.from({ length: 5 }, () => storeOn(server)));
    await Promise.all(stores.map((store) => store.register(['shop', 'vault'])));
    await stores[0]?.push(push('first', ''));
    for (const store of stores) {
      expect((await store.control()).frozen).toEqual([]);
      expect(await store.settle(asked('shop'))).toMatchObject({ code: 'APPROVED' });
    }
  });

  it('may be given its policies before any source', async () => {
    const store = await storeOn(await redisOfItsOwn());
    await store.push(push('first', ''));
    await store.register(['shop']);
    expect(await store.settle(asked('shop'))).toMatchObject({ code: 'APPROVED' });
  });
});

/** What registering a source does, step by step, as its process could break off after each. */
const STEPS = ['its epoch', 'its name'] as const;

describe('registering that broke off', () => {
  it.each(STEPS)(
    'after %s is no loss to others, approves nothing, and is completed by the next',
    async (last) => {
      const server = await redisOfItsOwn();
      const store = await readyOn(server);
      const client = rawClient(server);
      const { source } = loadScript('register-source-1');
      const epoch = (await client.hget(keys.inForce, 'epoch')) ?? '';
      expect(await client.eval(source, 1, keys.of(NEW).control, epoch, '0')).toBe(1);
      if (last === 'its name') await client.sadd(keys.sources, NEW);
      expect(await store.settle(asked(NEW))).toMatchObject({ outcome: 'stale' });
      await store.push(push('second', REVISION));
      expect((await store.control()).frozen).toEqual([]);
      const other = await storeOn(server);
      await other.register([NEW]);
      // What was pushed in between is what it has, and not what was in force when it began.
      expect(await other.settle(asked(NEW))).toMatchObject({ outcome: 'stale' });
      const { revision } = await other.control();
      expect(await other.settle({ ...asked(NEW), revision })).toMatchObject({ code: 'APPROVED' });
    },
  );

  it('gives no source an epoch that has one, or a copy, unless an operator said so', async () => {
    const client = rawClient(await redisOfItsOwn());
    const { source } = loadScript('register-source-1');
    const enrol = (control: string, anyhow: string) => client.eval(source, 1, control, 'another', anyhow);
    await client.hset('has-epoch', 'epoch', 'one');
    await client.hset('has-copy', 'sequence', '3', 'frozen', '');
    for (const control of ['has-epoch', 'has-copy']) expect(await enrol(control, '0')).toBe(0);
    expect(await client.hgetall('has-epoch')).toEqual({ epoch: 'one' });
    expect(await enrol('has-copy', '1')).toBe(1);
    expect(await client.hgetall('has-copy')).toEqual({ epoch: 'another' });
  });
});

describe('an unfreeze after a loss that broke off', () => {
  it('leaves all frozen, and is done by the next', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    const client = rawClient(server);
    await client.del(keys.of('shop').control);
    await store.control();
    const { source } = loadScript('register-source-1');
    const epoch = (await client.hget(keys.inForce, 'epoch')) ?? '';
    await client.eval(source, 1, keys.of('shop').control, epoch, '1');
    expect(await store.settle(asked('shop'))).toMatchObject({ outcome: 'stale' });
    expect(lossesIn((await store.control()).frozen)).not.toEqual([]);
    for (const name of ['shop', 'vault']) {
      expect(await store.settle(asked(name))).toMatchObject({ code: 'FROZEN' });
    }
    await thaw(store);
    for (const name of ['shop', 'vault']) {
      expect(await store.settle(asked(name))).toMatchObject({ code: 'APPROVED' });
    }
  });

  it('is refused if another loss was declared meanwhile', async () => {
    const server = await redisOfItsOwn();
    await readyOn(server);
    const { source } = loadScript('unfreeze-1');
    const given = ['', 'an epoch of before', 'ada', 'f1'];
    expect(await rawClient(server).eval(source, 1, keys.inForce, ...given)).toBeNull();
  });
});

describe('a store from before there were epochs', () => {
  async function old() {
    const server = await redisOfItsOwn();
    const before = await readyOn(server);
    await before.settle(asked('shop'));
    const client = rawClient(server);
    for (const key of [keys.inForce, keys.of('shop').control, keys.of('vault').control]) {
      expect(await client.hdel(key, 'epoch')).toBe(1);
    }
    return { server, client };
  }

  it.each(['register', 'control'])('gets one by %s, and is in force as it was', async (how) => {
    const { server, client } = await old();
    const store = await storeOn(server);
    if (how === 'register') await store.register(['shop', 'vault']);
    expect(await store.control()).toMatchObject({ revision: REVISION, sequence: 1, frozen: [] });
    expect(await store.settle(asked('shop'))).toMatchObject({ outcome: 'repeated', code: 'APPROVED' });
    expect(await store.settle(asked('vault'))).toMatchObject({ code: 'APPROVED' });
    await client.del(keys.of('vault').control);
    expect(lossesIn((await store.control()).frozen)).not.toEqual([]);
  });

  it('is not begun anew if what is in force was lost', async () => {
    const { server, client } = await old();
    await client.del(keys.inForce);
    const store = await storeOn(server);
    await store.register(['shop', 'vault']);
    expect(lossesIn((await store.control()).frozen)).not.toEqual([]);
    expect(await store.settle(asked('shop'))).toMatchObject({ code: 'FROZEN' });
  });

  it('is a loss to a process that saw an epoch in it', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    await rawClient(server).hdel(keys.inForce, 'epoch');
    expect(lossesIn((await store.control()).frozen)).not.toEqual([]);
  });
});
