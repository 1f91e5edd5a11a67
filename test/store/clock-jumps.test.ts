import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { Store } from '../../src/store/store.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { withoutEntry } from './conformance/store-under-test.ts';
import { temporaryPath } from './embedded-folder.ts';
import {
  HOUR_MS,
  MINUTE_MS,
  START_MS,
  keyOf,
  listClaim,
  markClaim,
  push,
  request,
  units,
  usedOf,
  windowClaim,
} from './requests.ts';

const DAY_MS = 24 * HOUR_MS;
const SECOND_MS = 1000;
const BOUNDS = { maxStepMs: MINUTE_MS, maxGapMs: HOUR_MS };
const UNHURRIED = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 };

/**
 * The machine of a test: its clock, which may be wrong, and what the kernel counts since boot, which is not.
 */
interface Machine {
  clockMs: number;
  bootedMs: number;
  boot: string;
  /** Time goes by, as clock and kernel see it. */
  readonly pass: (ms: number) => void;
}

function createMachine(): Machine {
  const machine: Machine = {
    clockMs: START_MS,
    bootedMs: 5000,
    boot: 'first',
    pass(ms) {
      machine.clockMs += ms;
      machine.bootedMs += ms;
    },
  };
  return machine;
}

/** A store whose every settle is previewed before, with the same result. */
function previewing(store: Store): Store {
  return {
    ...store,
    async settle(asked) {
      const previewed = await store.preview(asked);
      const settled = await store.settle(asked);
      expect(previewed).toEqual(withoutEntry(settled));
      return settled;
    },
  };
}

/** A limit of 10, used up by what asks for 10, in a rolling window of an hour. */
const filling = (subject: string) =>
  request({ subject, claims: [windowClaim('10', '10', { retryable: true })] });

describe.each(['embedded', 'redis'] as const)('a clock that jumps, on %s,', (kind) => {
  let redis: RedisServerProcess | undefined;
  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedisServer() : undefined;
  });
  afterAll(() => redis?.stop());

  interface Place {
    readonly machine: Machine;
    /** As another process would open it: what it knows by itself of time begins with that. */
    readonly open: (bounds?: typeof BOUNDS) => Promise<Store>;
    /** One that does not look at what its clock does, as before there were bounds. */
    readonly openUnbounded: () => Promise<Store>;
  }

  function place(): Place {
    const machine = createMachine();
    const path = kind === 'embedded' ? temporaryPath() : '';
    const prefix = randomUUID();
    const opened = async (clockBounds: typeof BOUNDS | undefined): Promise<Store> => {
      const options = {
        clock: () => machine.clockMs,
        elapsed: { id: machine.boot, elapsedMs: () => machine.bootedMs },
        ...(clockBounds && { clockBounds }),
      };
      const store = await (redis === undefined
        ? openEmbeddedStore({ path, ...options })
        : openRedisStore({ url: redis.url, prefix, ...options, ...UNHURRIED }));
      onTestFinished(() => store.close());
      return previewing(store);
    };
    return { machine, open: (bounds = BOUNDS) => opened(bounds), openUnbounded: () => opened(undefined) };
  }

  async function started(at: Place): Promise<Store> {
    const store = await at.open();
    await store.register(['shop', 'vault']);
    await store.push(push('first', ''));
    return store;
  }

  /** Running services look at the clock every few seconds. */
  async function run(machine: Machine, store: Store, forMs: number): Promise<void> {
    for (let passed = 0; passed < forMs; passed += 5 * SECOND_MS) {
      machine.pass(5 * SECOND_MS);
      await store.clock();
    }
  }

  it('lets no limit pass twice: ahead beyond the bound, nothing is approved, written or forgotten', async () => {
    const at = place();
    const store = await started(at);
    await store.settle(filling('payment:1'));
    at.machine.clockMs += 2 * HOUR_MS;
    expect(await store.settle(filling('payment:2'))).toMatchObject({
      outcome: 'jumped',
      aheadMs: 2 * HOUR_MS,
    });
    expect(await store.settle(request({ subject: 'payment:3' }))).toMatchObject({ outcome: 'jumped' });
    expect(await store.clock()).toMatchObject({ state: 'jumped', aheadMs: 2 * HOUR_MS, nowMs: START_MS });
    const entries = await store.entries({ source: 'shop', limit: 10 });
    expect(entries.map(({ subject, atMs }) => [subject, atMs])).toEqual([['payment:1', START_MS]]);
    expect((await store.health()).nowMs).toBe(START_MS);
  });

  it('is over at once when the clock is put right, and the limit counts what it counted', async () => {
    const at = place();
    const store = await started(at);
    await store.settle(filling('payment:1'));
    at.machine.clockMs += 2 * HOUR_MS;
    await store.clock();
    for (let minute = 0; minute < 10; minute++) {
      at.machine.pass(MINUTE_MS);
      expect(await store.settle(filling('payment:2'))).toMatchObject({ outcome: 'jumped' });
    }
    at.machine.clockMs -= 2 * HOUR_MS;
    expect(await store.settle(filling('payment:2'))).toMatchObject({
      outcome: 'decided',
      verdict: 'FAILURE',
      atMs: START_MS + 10 * MINUTE_MS,
    });
    expect(await store.clock()).toMatchObject({ state: 'right', aheadMs: 0 });
    at.machine.pass(55 * MINUTE_MS);
    expect(await store.settle(filling('payment:2'))).toMatchObject({ verdict: 'SUCCESS' });
  });

  it('goes on when an operator accepts the clock, who is named in the journal', async () => {
    const at = place();
    const store = await started(at);
    await store.settle(filling('payment:1'));
    at.machine.clockMs += 2 * HOUR_MS;
    await store.clock();
    const operator = await at.open();
    await operator.register(['shop', 'vault']);
    expect(await operator.acceptClock({ by: 'ada' })).toMatchObject({
      state: 'right',
      nowMs: START_MS + 2 * HOUR_MS,
    });
    expect(await store.settle(filling('payment:2'))).toMatchObject({
      verdict: 'SUCCESS',
      atMs: START_MS + 2 * HOUR_MS,
    });
    const [entry] = await store.entries({ source: 'vault', limit: 10 });
    expect(entry).toMatchObject({ type: 'clock', code: 'CLOCK_ACCEPTED', verdict: '' });
    expect(JSON.parse(entry?.detail ?? '')).toEqual({
      by: 'ada',
      fromMs: START_MS,
      toMs: START_MS + 2 * HOUR_MS,
    });
  });

  it('is noticed after any time without a callback, if a service looked at the clock', async () => {
    const at = place();
    const store = await started(at);
    await store.settle(filling('payment:1'));
    await run(at.machine, store, 10 * MINUTE_MS);
    at.machine.clockMs += HOUR_MS;
    expect(await store.settle(filling('payment:2'))).toMatchObject({ outcome: 'jumped', aheadMs: HOUR_MS });
  });

  it('is not what a quiet hour is: without a callback time goes on', async () => {
    const at = place();
    const store = await started(at);
    await run(at.machine, store, HOUR_MS);
    expect(await store.settle(request())).toMatchObject({ verdict: 'SUCCESS', atMs: START_MS + HOUR_MS });
  });

  it('is not what an outage is, in which nobody could look: the kernel counted as much', async () => {
    const at = place();
    const store = await started(at);
    at.machine.pass(3 * DAY_MS);
    expect(await store.settle(request())).toMatchObject({ verdict: 'SUCCESS', atMs: START_MS + 3 * DAY_MS });
  });

  it('within the bound is time', async () => {
    const at = place();
    const store = await started(at);
    at.machine.clockMs += MINUTE_MS;
    expect(await store.settle(request())).toMatchObject({ verdict: 'SUCCESS', atMs: START_MS + MINUTE_MS });
    at.machine.clockMs += MINUTE_MS + 1;
    expect(await store.settle(request({ subject: 'payment:2' }))).toMatchObject({ outcome: 'jumped' });
  });

  it('while nobody ran: up to the bound on gaps it is taken for downtime, beyond it for a jump', async () => {
    const at = place();
    await (await started(at)).close();
    at.machine.boot = 'second';
    at.machine.clockMs += HOUR_MS;
    const second = await at.open();
    await second.register(['shop', 'vault']);
    expect(await second.settle(request())).toMatchObject({ verdict: 'SUCCESS', atMs: START_MS + HOUR_MS });
    await second.close();

    at.machine.boot = 'third';
    at.machine.clockMs += HOUR_MS + 1;
    const third = await at.open();
    await third.register(['shop', 'vault']);
    expect(await third.settle(request({ subject: 'payment:2' }))).toMatchObject({
      outcome: 'jumped',
      aheadMs: HOUR_MS + 1,
    });
    await third.acceptClock({ by: 'ada' });
    expect(await third.settle(request({ subject: 'payment:2' }))).toMatchObject({ verdict: 'SUCCESS' });
  });

  it('that was found is not taken for downtime by a service that is started then', async () => {
    const at = place();
    const store = await started(at);
    at.machine.clockMs += 30 * MINUTE_MS;
    await store.clock();
    await store.close();
    at.machine.boot = 'second';
    const second = await at.open();
    await second.register(['shop', 'vault']);
    expect(await second.settle(request())).toMatchObject({ outcome: 'jumped' });
    at.machine.clockMs -= 29 * MINUTE_MS;
    expect(await second.settle(request())).toMatchObject({ verdict: 'SUCCESS' });
  });

  it('is found again after each step back that is not far enough', async () => {
    const at = place();
    const store = await started(at);
    at.machine.clockMs += DAY_MS / 2;
    await store.clock();
    at.machine.clockMs -= HOUR_MS;
    expect(await store.settle(request())).toMatchObject({ outcome: 'jumped', aheadMs: DAY_MS / 2 - HOUR_MS });
  });

  it('back: time stands still, and that is said', async () => {
    const at = place();
    const store = await started(at);
    await store.settle(filling('payment:1'));
    at.machine.clockMs -= 10 * MINUTE_MS;
    expect(await store.settle(filling('payment:2'))).toMatchObject({ verdict: 'FAILURE', atMs: START_MS });
    expect(await store.clock()).toMatchObject({ state: 'behind', aheadMs: -10 * MINUTE_MS, nowMs: START_MS });
    at.machine.pass(9 * MINUTE_MS);
    expect(await store.clock()).toMatchObject({ state: 'right', nowMs: START_MS });
  });

  it('back and then ahead is a jump by what the kernel did not count', async () => {
    const at = place();
    const store = await started(at);
    at.machine.clockMs -= HOUR_MS;
    at.machine.pass(HOUR_MS);
    await store.clock();
    at.machine.clockMs += HOUR_MS;
    expect(await store.settle(request())).toMatchObject({ outcome: 'jumped', aheadMs: HOUR_MS });
  });

  it('keeps freezes, refusals and records from being written with its time', async () => {
    const at = place();
    const store = await started(at);
    await store.settle(request());
    at.machine.clockMs += HOUR_MS;
    await store.record({
      source: 'shop',
      type: 'refused',
      subject: 'payment:2',
      verdict: 'FAILURE',
      code: 'CLOCK_JUMPED',
      of: '',
      detail: '{}',
    });
    await store.freeze({ reason: 'drill', by: 'ada' });
    expect(await store.settle(request({ subject: 'payment:3' }))).toMatchObject({
      code: 'FROZEN',
      atMs: START_MS,
    });
    const entries = await store.entries({ source: 'shop', limit: 10 });
    expect(entries.map(({ atMs }) => atMs)).toEqual([START_MS, START_MS, START_MS, START_MS]);
  });

  it('keeps lists from being given entries that would look older than they are, and removes them', async () => {
    const at = place();
    const store = await started(at);
    const change = { source: 'shop', list: 'partners', remove: [], by: 'ada', message: '' };
    await store.changeList({ ...change, add: ['a'] });
    at.machine.clockMs += HOUR_MS;
    await expect(store.changeList({ ...change, add: ['b'] })).rejects.toMatchObject({ code: 'CLOCK_JUMPED' });
    expect(await store.changeList({ ...change, add: [], remove: ['a'] })).toMatchObject({ removed: 1 });
    at.machine.clockMs -= HOUR_MS;
    expect(await store.changeList({ ...change, add: ['b'] })).toMatchObject({ added: 1 });
  });

  it('reserves nothing and makes no mark', async () => {
    const at = place();
    const store = await started(at);
    const claims = [
      windowClaim('1', '10'),
      markClaim({ exempt: true }),
      listClaim('none', 'hold-none', ['a']),
    ];
    at.machine.clockMs += HOUR_MS;
    expect(await store.settle(request({ claims }))).toMatchObject({ outcome: 'jumped' });
    at.machine.clockMs -= HOUR_MS;
    expect(await usedOf(store)).toBe(units('0'));
    const mark = markClaim({ key: keyOf('mark') });
    expect(await store.settle(request({ subject: 'payment:9', claims: [mark] }))).toMatchObject({
      claims: [{ type: 'mark', holds: false, markedAtMs: 0 }],
    });
  });

  it('is no matter for a store from before time was remembered: it opens, and goes on', async () => {
    const at = place();
    const before = await at.openUnbounded();
    await before.register(['shop', 'vault']);
    await before.push(push('first', ''));
    await before.settle(filling('payment:1'));
    await before.close();
    at.machine.boot = 'second';
    at.machine.clockMs += 3 * DAY_MS;
    const store = await at.open();
    await store.register(['shop', 'vault']);
    expect(await store.settle(filling('payment:2'))).toMatchObject({ verdict: 'SUCCESS' });
    at.machine.clockMs += 3 * DAY_MS;
    expect(await store.settle(filling('payment:3'))).toMatchObject({ outcome: 'jumped' });
  });

  it('is believed by nobody because one process was told so: each looks at what is remembered', async () => {
    const at = place();
    const [one, other] = [await started(at), await at.open()];
    await other.register(['shop', 'vault']);
    await other.clock();
    at.machine.clockMs += 2 * HOUR_MS;
    await Promise.all([one.clock(), other.clock(), one.clock()]);
    expect(await one.settle(request())).toMatchObject({ outcome: 'jumped' });
    expect(await other.settle(request())).toMatchObject({ outcome: 'jumped' });
    await one.acceptClock({ by: 'ada' });
    expect(await other.settle(request())).toMatchObject({ verdict: 'SUCCESS' });
    expect(await other.clock()).toMatchObject({ state: 'right' });
  });
});
