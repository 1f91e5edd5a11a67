import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import { type FollowParts, type Follower, createFollower } from '../../src/release/follow.ts';
import { pushRelease } from '../../src/release/push.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { Store } from '../../src/store/store.ts';
import { sha256Hex } from '../../src/values/canonical.ts';
import { release } from '../policy/callbacks.ts';
import { SMALL, SMALLER, directoryOf } from './directory.ts';

const one = release(SMALL);
const two = release(SMALLER);
const who = { by: 'ana', message: 'less' };
const FUTURE =
  '{"format":1,"lists":{},"policies":[{"policy":"a","callback":"payment","rules":[{"quorum":{}}]}]}';
const HOUR_MS = 3_600_000;

async function openStore(path = join(directoryOf(), 'store.db')): Promise<Store> {
  const store = await openEmbeddedStore({ path });
  onTestFinished(() => store.close());
  return store;
}

async function push(store: Store, next: Pick<typeof one, 'revision' | 'document'>): Promise<void> {
  await pushRelease(store, { release: next, expected: (await store.control()).revision, ...who });
}

/** Follows, with polls too rare to matter unless the test says otherwise. */
function following(parts: Partial<FollowParts> & Pick<FollowParts, 'store'>): Follower {
  const follower = createFollower({ pollMs: HOUR_MS, ...parts });
  onTestFinished(() => follower.stop());
  return follower;
}

/** Resolves once the follower tells of a state that is so. */
function until(
  follow: (onChange: NonNullable<FollowParts['onChange']>) => Follower,
  holds: (follower: Follower) => boolean,
): Promise<Follower> {
  const { promise, resolve } = Promise.withResolvers<Follower>();
  const follower: Follower = follow(() => {
    if (holds(follower)) resolve(follower);
  });
  return follower.start().then(() => (holds(follower) ? follower : promise));
}

/** A store that answers as the test says. */
function answering(store: Store, answer: Partial<Store>): Store {
  return { ...store, ...answer };
}

describe('a follower', () => {
  it('knows nothing, and is not ready, before it has looked', async () => {
    const follower = following({ store: await openStore() });
    expect(follower.current()).toBeUndefined();
    expect(follower.control()).toBeUndefined();
    expect(follower.ready()).toEqual({ ok: false, because: 'the store has not been read yet' });
  });

  it('is not ready while nothing is in force, and says what to do', async () => {
    const follower = following({ store: await openStore() });
    await follower.start();
    expect(follower.current()).toBeUndefined();
    expect(follower.control()).toMatchObject({ revision: '' });
    expect(follower.ready()).toEqual({
      ok: false,
      because: 'no policies are in force; push some with `countersign policy push`',
    });
  });

  it('has what is in force', async () => {
    const store = await openStore();
    await push(store, one);
    const follower = following({ store });
    await follower.start();
    expect(follower.current()?.revision).toBe(one.revision);
    expect(follower.ready()).toEqual({
      ok: true,
      because: `revision ${one.revision.slice(0, 12)} is in force`,
    });
  });

  it('has the new release once a look that began after the push has ended', async () => {
    const store = await openStore();
    await push(store, one);
    const follower = following({ store });
    await follower.start();
    await push(store, two);
    await follower.refresh();
    expect(follower.current()?.revision).toBe(two.revision);
  });

  it('does not compile again what it has', async () => {
    const store = await openStore();
    await push(store, one);
    const follower = following({ store });
    await follower.start();
    const before = follower.current();
    await follower.refresh();
    expect(follower.current()).toBe(before);
  });

  it('follows a push by another process, by the store’s notice', async () => {
    const path = join(directoryOf(), 'store.db');
    const store = await openStore(path);
    const other = await openStore(path);
    await push(store, one);
    const seen = until(
      (onChange) => following({ store, onChange }),
      (follower) => follower.current()?.revision === two.revision,
    );
    await push(other, two);
    expect((await seen).ready().ok).toBe(true);
  });

  it('follows by poll if the notice is lost', async () => {
    const store = await openStore();
    await push(store, one);
    const deaf = answering(store, { watch: () => () => undefined });
    const seen = until(
      (onChange) => following({ store: deaf, pollMs: 5, onChange }),
      (follower) => follower.current()?.revision === two.revision,
    );
    await push(store, two);
    expect((await seen).ready().ok).toBe(true);
  });

  it('follows a freeze', async () => {
    const store = await openStore();
    await push(store, one);
    const states: boolean[] = [];
    const follower = following({
      store,
      onChange: ({ control }) => states.push(control?.frozen.length !== 0),
    });
    await follower.start();
    await store.freeze({ reason: 'drill', by: 'ana' });
    await follower.refresh();
    await store.freeze({ reason: 'leak', by: 'bob' });
    await follower.refresh();
    const [drill, leak] = follower.control()?.frozen ?? [];
    expect([drill, leak]).toMatchObject([{ reason: 'drill' }, { reason: 'leak' }]);
    await store.unfreeze({ by: 'ana', ids: [leak?.id ?? ''] });
    await follower.refresh();
    expect(follower.control()?.frozen).toEqual([drill]);
    expect(states).toEqual([false, true, true, true]);
  });

  it('follows prices, and tells nobody of each change', async () => {
    const store = await openStore();
    await push(store, one);
    const onChange = vi.fn<NonNullable<FollowParts['onChange']>>();
    const follower = following({ store, onChange });
    await follower.start();
    expect(follower.prices()).toEqual({ version: 0, prices: new Map() });
    const price = { price: 5n, asOfMs: 7 };
    for (const by of ['ana', 'bob', 'cid']) {
      await store.changePrices({ set: [{ asset: 'BTC', ...price }], remove: [], by });
      await follower.refresh();
    }
    expect(follower.prices()).toEqual({ version: 3, prices: new Map([['BTC', price]]) });
    expect(follower.ready().ok).toBe(true);
    expect(onChange).toHaveBeenCalledOnce();
  });

  it('follows policies, but is not ready, while the prices can’t be read', async () => {
    const store = await openStore();
    await push(store, one);
    const prices = (): never => {
      throw new Error('not a table');
    };
    const follower = following({ store: answering(store, { prices: async () => prices() }) });
    await follower.start();
    await store.changePrices({ set: [{ asset: 'BTC', price: 5n, asOfMs: 7 }], remove: [], by: 'ana' });
    await push(store, two);
    await follower.refresh();
    expect(follower.current()?.revision).toBe(two.revision);
    expect(follower.prices().version).toBe(0);
    expect(follower.ready()).toMatchObject({
      ok: false,
      because: expect.stringContaining('not a table') as string,
    });
  });

  it('stays with the last good release if it can’t compile the one in force, and is not ready', async () => {
    const store = await openStore();
    await push(store, one);
    const follower = following({ store });
    await follower.start();
    await push(store, { revision: sha256Hex(FUTURE), document: FUTURE });
    await follower.refresh();
    expect(follower.current()?.revision).toBe(one.revision);
    expect(follower.control()?.revision).toBe(sha256Hex(FUTURE));
    expect(follower.ready().ok).toBe(false);
    expect(follower.ready().because).toContain('there is no rule "quorum"');
    await push(store, two);
    await follower.refresh();
    expect(follower.current()?.revision).toBe(two.revision);
    expect(follower.ready().ok).toBe(true);
  });

  it('has nothing any more once nothing is in force any more', async () => {
    const store = await openStore();
    await push(store, one);
    let emptied = false;
    const control = async (): ReturnType<Store['control']> => {
      const found = await store.control();
      return emptied ? { ...found, revision: '' } : found;
    };
    const follower = following({ store: answering(store, { control }) });
    await follower.start();
    emptied = true;
    await follower.refresh();
    expect(follower.current()).toBeUndefined();
    expect(follower.ready().ok).toBe(false);
  });

  it('takes no document for a revision that is another’s', async () => {
    const store = await openStore();
    await push(store, one);
    const follower = following({
      store: answering(store, { document: () => Promise.resolve(two.document) }),
    });
    await follower.start();
    expect(follower.current()).toBeUndefined();
    expect(follower.ready().because).toContain('push the policies again');
  });

  it('keeps what it has while the store is down, is not ready, and comes back by itself', async () => {
    const store = await openStore();
    await push(store, one);
    let down = false;
    const control = (): ReturnType<Store['control']> =>
      down
        ? Promise.reject(new CountersignError('STORE_UNREACHABLE', 'the store is not there; start it'))
        : store.control();
    const follower = following({ store: answering(store, { control }) });
    await follower.start();
    down = true;
    await expect(follower.refresh()).resolves.toBeUndefined();
    expect(follower.current()?.revision).toBe(one.revision);
    expect(follower.ready()).toEqual({
      ok: false,
      because: `the policies in force can't be read: the store is not there; start it`,
    });
    down = false;
    await follower.refresh();
    expect(follower.ready().ok).toBe(true);
  });

  it('is not ready if the store has said nothing for four polls', async () => {
    const store = await openStore();
    await push(store, one);
    let nowMs = 1000;
    const follower = following({ store, pollMs: 1000, clock: () => nowMs });
    await follower.start();
    nowMs = 5000;
    expect(follower.ready().ok).toBe(true);
    nowMs = 5001;
    expect(follower.ready().ok).toBe(false);
    expect(follower.ready().because).toContain('has not answered for 4001 ms');
    nowMs = 5213.5178;
    expect(follower.ready().because).toContain('has not answered for 4214 ms');
  });

  it('looks once for all who ask while it looks, and begins that look after they asked', async () => {
    const store = await openStore();
    await push(store, one);
    let looks = 0;
    let atOnce = 0;
    let most = 0;
    const gate = Promise.withResolvers<void>();
    const control = async (): ReturnType<Store['control']> => {
      looks++;
      most = Math.max(most, ++atOnce);
      const found = await store.control();
      if (looks === 1) await gate.promise;
      atOnce--;
      return found;
    };
    const follower = following({ store: answering(store, { control }) });
    const first = follower.refresh();
    const others = Array.from({ length: 100 }, () =>
      follower.refresh().then(() => follower.current()?.revision),
    );
    await push(store, two);
    gate.resolve();
    await first;
    expect(new Set(await Promise.all(others))).toEqual(new Set([two.revision]));
    expect([looks, most]).toEqual([2, 1]);
  });

  it('stands a listener that throws', async () => {
    const store = await openStore();
    await push(store, one);
    const onChange = vi.fn<NonNullable<FollowParts['onChange']>>(() => {
      throw new Error('log full');
    });
    const follower = following({ store, onChange });
    await expect(follower.start()).resolves.toBeUndefined();
    expect(follower.current()?.revision).toBe(one.revision);
    expect(onChange).toHaveBeenCalledOnce();
  });

  it('looks no more once it is stopped', async () => {
    const store = await openStore();
    let stopped = false;
    const watch = (): (() => void) => () => {
      stopped = true;
    };
    const follower = following({ store: answering(store, { watch }), pollMs: 1 });
    await follower.start();
    follower.stop();
    expect(stopped).toBe(true);
    follower.stop();
  });
});
