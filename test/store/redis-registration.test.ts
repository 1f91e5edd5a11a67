import { describe, expect, it } from 'vitest';
import { createKeys } from '../../src/store/redis/keys.ts';
import { lossesIn } from '../../src/store/freezes.ts';
import { loadScript } from '../../src/store/redis/script.ts';
import { rawClient, readyOn, redisOfItsOwn, storeOn } from './redis-under-test.ts';
import { type Asked, REVISION, push, request, thaw } from './requests.ts';

const keys = createKeys('countersign');
const NEW = 'new';
const asked = (source: string, over: Partial<Asked> = {}) =>
  request({ source, subject: `payment:${source}`, ...over });

describe('a new store', () => {
  it('is no loss: the source is registered, waits for a push, and then approves', async () => {
    const store = await storeOn(await redisOfItsOwn());
    await store.register(['shop']);
    expect(await store.control()).toEqual({ sequence: 0, revision: '', frozen: [], lifted: [], prices: 0 });
    expect(await store.settle(asked('shop'))).toMatchObject({ outcome: 'stale', inForce: '' });
    await store.push(push('first', ''));
    expect(await store.settle(asked('shop'))).toMatchObject({ code: 'APPROVED' });
  });

  it('has one epoch, even if many processes start it at once', async () => {
    const server = await redisOfItsOwn();
    const stores = await Promise.all(Array.from({ length: 5 }, () => storeOn(server)));
    await Promise.all(stores.map((store) => store.register(['shop', 'vault'])));
    await stores[0]?.push(push('first', ''));
    for (const store of stores) {
      expect((await store.control()).frozen).toEqual([]);
      expect(await store.settle(asked('shop'))).toMatchObject({ code: 'APPROVED' });
    }
  });

  it('may get its policies before any source', async () => {
    const store = await storeOn(await redisOfItsOwn());
    await store.push(push('first', ''));
    await store.register(['shop']);
    expect(await store.settle(asked('shop'))).toMatchObject({ code: 'APPROVED' });
  });
});

/** The steps of registering a source; its process could end after each. */
const STEPS = ['its epoch', 'its name'] as const;

describe('an interrupted registration', () => {
  it.each(STEPS)(
    'after %s is no loss to other processes, approves nothing, and is completed by the next one',
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
      // It has the revision that was pushed in between, not the one of the start.
      expect(await other.settle(asked(NEW))).toMatchObject({ outcome: 'stale' });
      const { revision } = await other.control();
      expect(await other.settle(asked(NEW, { revision }))).toMatchObject({ code: 'APPROVED' });
    },
  );

  it('gives a source that has an epoch, or a copy, no other epoch unless asked to overwrite it', async () => {
    const client = rawClient(await redisOfItsOwn());
    const { source } = loadScript('register-source-1');
    const register = (control: string, overwrite: string) =>
      client.eval(source, 1, control, 'another', overwrite);
    await client.hset('has-epoch', 'epoch', 'one');
    await client.hset('has-copy', 'sequence', '3', 'frozen', '');
    for (const control of ['has-epoch', 'has-copy']) expect(await register(control, '0')).toBe(0);
    expect(await client.hgetall('has-epoch')).toEqual({ epoch: 'one' });
    expect(await register('has-copy', '1')).toBe(1);
    expect(await client.hgetall('has-copy')).toEqual({ epoch: 'another' });
  });
});

describe('an interrupted unfreeze after a loss', () => {
  it('leaves all frozen, and is completed by the next one', async () => {
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
    const given = ['', 'an epoch of before', 'ada', '', 'f1'];
    expect(await rawClient(server).eval(source, 1, keys.inForce, ...given)).toBeNull();
  });
});

describe('an epoch that is missing', () => {
  it('in the copies of known sources is a loss, also to a process that starts', async () => {
    const server = await redisOfItsOwn();
    await readyOn(server);
    const client = rawClient(server);
    for (const source of ['shop', 'vault']) {
      expect(await client.hdel(keys.of(source).control, 'epoch')).toBe(1);
    }
    const store = await storeOn(server);
    await store.register(['shop', 'vault']);
    expect(lossesIn((await store.control()).frozen)).not.toEqual([]);
    for (const source of ['shop', 'vault']) {
      expect(await store.settle(asked(source))).toMatchObject({ code: 'FROZEN' });
    }
    await thaw(store);
    expect(await store.settle(asked('shop'))).toMatchObject({ code: 'APPROVED' });
  });

  it('of the store is a loss to a process that saw one', async () => {
    const server = await redisOfItsOwn();
    const store = await readyOn(server);
    await rawClient(server).hdel(keys.inForce, 'epoch');
    expect(lossesIn((await store.control()).frozen)).not.toEqual([]);
  });
});
