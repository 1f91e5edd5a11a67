import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import type { DeliveryLimits } from '../../src/notifications/receiver.ts';
import type { Store } from '../../src/store/store.ts';
import { systemClock } from '../../src/values/clock.ts';
import { eventually } from '../eventually.ts';
import { type OtherSide, otherSide } from '../plugins/other-side.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { readied, temporaryPath } from '../store/embedded-folder.ts';
import { freshPrefix, readyOn } from '../store/redis-under-test.ts';
import { type TestNotifications, answers, notifying, takes } from './rig.ts';

let redis: RedisServerProcess;
beforeAll(async () => {
  redis = await startRedisServer();
});
afterAll(() => redis.stop());

/** Opens one store several times, as replicas do. */
const STORES: readonly (readonly [string, () => () => Promise<Store>])[] = [
  [
    'the embedded store',
    () => {
      const path = temporaryPath();
      return async () => readied(await openEmbeddedStore({ path, clock: systemClock }));
    },
  ],
  [
    'Redis',
    () => {
      const prefix = freshPrefix();
      return () => readyOn(redis, { prefix });
    },
  ],
];

/** A busy machine must not make a test fail. */
const PATIENCE_MS = 60_000;
const SHARED = { isOwn: false };
const idsOf = ({ asked }: OtherSide): readonly string[] => asked.map(({ json }) => String(json['id']));

describe.each(STORES)('what all replicas notice, on %s', (_name, opened) => {
  const replicasOf = async (
    count: number,
    url: string,
    limits: Partial<DeliveryLimits>,
  ): Promise<TestNotifications[]> => {
    const open = opened();
    const replicas: TestNotifications[] = [];
    for (let at = 0; at < count; at += 1) {
      const store = await open();
      replicas.push(notifying(url, limits, { store: () => store }));
    }
    return replicas;
  };
  const untilNothingWaits = (replicas: readonly TestNotifications[]): Promise<true> =>
    eventually('nothing waits', () => replicas.every(({ state }) => state()?.waiting === 0) || undefined);

  it('is sent by one of them', async () => {
    const receiver = await otherSide(takes);
    const replicas = await replicasOf(3, receiver.url, { leaseMs: PATIENCE_MS });
    const ids = Array.from({ length: 20 }, (_, at) => `frozen:f${at}`);
    for (const id of ids) for (const { notify } of replicas) notify(id, SHARED);
    await eventually('all have come', () => (receiver.asked.length >= ids.length ? true : undefined));
    // What a replica sends after it shows that it has marked what it sent before.
    for (const [at, { notify }] of replicas.entries()) notify(`own ${at}`);
    const all = ids.length + replicas.length;
    await eventually('their own have come', () => (receiver.asked.length >= all ? true : undefined));
    // Each looks once more whether another has sent what it did not.
    for (const { notifications } of replicas) await notifications.close(PATIENCE_MS);
    expect(idsOf(receiver).toSorted()).toEqual([...ids, 'own 0', 'own 1', 'own 2'].toSorted());
    expect(replicas.map(({ state }) => [state()?.waiting, state()?.dropped])).toEqual([
      [0, 0],
      [0, 0],
      [0, 0],
    ]);
  });

  it('is sent once by one that notices it again, and to each receiver', async () => {
    const receiver = await otherSide(takes);
    const open = opened();
    const store = await open();
    const [once, elsewhere] = ['', '/other'].map((path) =>
      notifying(`${receiver.url}${path}`, {}, { store: () => store }),
    );
    for (const id of ['a', 'b', 'a']) once?.notify(id, SHARED);
    elsewhere?.notify('a', SHARED);
    await eventually('three have come', () => (receiver.asked.length === 3 ? true : undefined));
    await once?.notifications.close(20_000);
    const again = notifying(receiver.url, {}, { store: () => store });
    again.notify('a', SHARED);
    await eventually('nothing waits', () => (again.state()?.waiting === 0 ? true : undefined));
    expect(receiver.asked.map(({ path, json }) => `${path} ${String(json['id'])}`).toSorted()).toEqual([
      '/ask a',
      '/ask b',
      '/ask/other a',
    ]);
  });

  it('is sent by another if the first one dies while it sends, and not before its lease has ended', async () => {
    const receiver = await otherSide(() => undefined);
    const [first, second] = await replicasOf(2, receiver.url, { leaseMs: 700 });
    const startedMs = performance.now();
    first?.notify('a', SHARED);
    await eventually('the first one sends', () => (receiver.asked.length === 1 ? true : undefined));
    receiver.answerWith(takes);
    await first?.notifications.close(0);
    second?.notify('a', SHARED);
    await eventually('the second one has sent', () => (second?.state()?.sent === 1 ? true : undefined));
    expect(performance.now() - startedMs).toBeGreaterThan(650);
    expect(idsOf(receiver)).toEqual(['a', 'a']);
  });

  it('is sent by another if the receiver fails for the first one', async () => {
    const receiver = await otherSide(answers(500));
    const [first, second] = await replicasOf(2, receiver.url, {
      leaseMs: 100,
      pauseMs: 500,
      pauseMaxMs: 500,
    });
    first?.notify('a', SHARED);
    second?.notify('a', SHARED);
    await eventually(
      'both have failed',
      () => [first, second].every((each) => (each?.state()?.failed ?? 0) > 0) || undefined,
    );
    receiver.answerWith(takes);
    await untilNothingWaits([first, second].filter((each) => each !== undefined));
    expect((first?.state()?.sent ?? 0) + (second?.state()?.sent ?? 0)).toBe(1);
  });
});

it('what only one replica knows of does not wait for the store, as the others do', async () => {
  const receiver = await otherSide(takes);
  const [at] = STORES;
  const store = await at?.[1]()();
  let isReachable = false;
  const { notify, state } = notifying(
    receiver.url,
    {},
    {
      store: () => {
        if (!isReachable || store === undefined) throw new Error('the store is not reachable');
        return store;
      },
    },
  );
  notify('shared', SHARED);
  notify('own');
  await eventually('the own one is sent', () => (state()?.waiting === 1 ? true : undefined));
  expect(idsOf(receiver)).toEqual(['own']);
  isReachable = true;
  await eventually('the other one too', () => (state()?.waiting === 0 ? true : undefined));
  expect(idsOf(receiver)).toEqual(['own', 'shared']);
});
