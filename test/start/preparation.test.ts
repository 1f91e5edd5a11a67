import { describe, expect, it, onTestFinished } from 'vitest';
import { type Preparation, startPreparing } from '../../src/start/background.ts';
import { CountersignError } from '../../src/errors.ts';
import { eventually } from '../eventually.ts';

const unsafe = new CountersignError('STORE_UNSAFE', 'it may evict keys; set noeviction');
const away = new CountersignError('STORE_UNREACHABLE', 'it does not answer; start it');

/** A store that is as the test says, and how often it was prepared. */
function rig(first?: CountersignError) {
  const told: string[] = [];
  const state = { fault: first, prepared: 0, examined: 0, told };
  const start = async (): Promise<Preparation> => {
    const preparation = await startPreparing({
      checkSafety() {
        state.examined++;
        return state.fault === undefined ? Promise.resolve() : Promise.reject(state.fault);
      },
      prepare() {
        state.prepared++;
        return Promise.resolve();
      },
      report: (trouble) => state.told.push(trouble),
      checkSafetyMs: 5,
    });
    onTestFinished(() => preparation.stop());
    return preparation;
  };
  /** Until a look that began after this call is over. */
  const looked = async (): Promise<void> => {
    const before = state.examined;
    await eventually('it looks again', () => state.examined > before + 1 || undefined);
  };
  return { state, start, looked };
}

describe('preparing the store', () => {
  it('rejects at the start if the store is not safe, and prepares nothing', async () => {
    const { state, start } = rig(unsafe);
    await expect(start()).rejects.toBe(unsafe);
    expect(state.prepared).toBe(0);
  });

  it('waits for a store that can not be reached, and says so until it is prepared', async () => {
    const { state, start } = rig(away);
    const preparation = await start();
    expect(preparation.trouble()).toBe(away.message);
    state.fault = undefined;
    await eventually('it is prepared', () => preparation.trouble() === undefined || undefined);
    expect(state.prepared).toBe(1);
  });

  it('goes on looking, prepares once, and bars all while the store is not safe', async () => {
    const { state, start, looked } = rig();
    const preparation = await start();
    await looked();
    expect(preparation.trouble()).toBeUndefined();
    state.fault = unsafe;
    await looked();
    expect(preparation.trouble()).toBe(unsafe.message);
    await looked();
    expect(state.told).toEqual([unsafe.message]);
    state.fault = undefined;
    await looked();
    expect(preparation.trouble()).toBeUndefined();
    expect(state.prepared).toBe(1);
  });

  it('bars all while it is unknown for long whether the store is safe', async () => {
    const { state, start } = rig();
    const preparation = await start();
    state.fault = away;
    await eventually('it bars', () => preparation.trouble());
    expect(preparation.trouble()).toBe(away.message);
    expect(state.told).toEqual([away.message]);
    state.fault = undefined;
    await eventually('it bars no more', () => preparation.trouble() === undefined || undefined);
    expect(state.prepared).toBe(1);
  });

  it('reports a long outage once, although its error alternates, and again after a check that passed', async () => {
    const { state, start, looked } = rig();
    const preparation = await start();
    const closed = new CountersignError('STORE_UNREACHABLE', 'it closed the connection; start it');
    const outage = async (): Promise<void> => {
      state.fault = away;
      await eventually('it bars', () => preparation.trouble());
      for (const fault of [closed, away, closed]) {
        state.fault = fault;
        await looked();
        expect(preparation.trouble()).toBe(fault.message);
      }
    };
    await outage();
    expect(state.told).toEqual([away.message]);
    state.fault = undefined;
    await looked();
    await outage();
    expect(state.told).toEqual([away.message, away.message]);
  });

  it('reports trouble with another code, although no check has passed', async () => {
    const { state, start, looked } = rig();
    await start();
    const corrupt = new CountersignError('STORE_CORRUPT', 'it holds something else');
    for (const fault of [unsafe, corrupt, unsafe]) {
      state.fault = fault;
      await looked();
    }
    expect(state.told).toEqual([unsafe.message, corrupt.message, unsafe.message]);
  });

  it('bars nothing for a short outage, and lifts nothing by one', async () => {
    const { state, start, looked } = rig();
    const preparation = await start();
    state.fault = away;
    await looked();
    expect(preparation.trouble()).toBeUndefined();
    state.fault = unsafe;
    await looked();
    state.fault = away;
    await looked();
    expect(preparation.trouble()).toBe(unsafe.message);
  });

  it('bars for whatever else goes wrong', async () => {
    const { state, start, looked } = rig();
    const preparation = await start();
    state.fault = new CountersignError('STORE_CORRUPT', 'it holds something else');
    await looked();
    expect(preparation.trouble()).toBe('it holds something else');
  });

  it('looks no more once it is stopped', async () => {
    const { state, start, looked } = rig();
    const preparation = await start();
    await looked();
    preparation.stop();
    const { examined } = state;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(state.examined).toBeLessThanOrEqual(examined + 1);
  });
});
