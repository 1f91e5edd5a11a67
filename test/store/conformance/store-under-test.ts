import { expect, onTestFinished, test } from 'vitest';
import type { SettleResult, Store } from '../../../src/store/store.ts';
import { type Asked, push, request } from '../requests.ts';

/** A clock that stands still until the test moves it. */
export interface TestClock {
  nowMs: number;
  readonly advance: (ms: number) => void;
}

export interface StoreUnderTest {
  readonly store: Store;
  readonly clock: TestClock;
  /**
   * A second handle on the same data and clock, as another process would have; it stays open until `close`.
   */
  readonly another: () => Promise<Store>;
  /** All handles are closed, and a new one is opened on the same data and clock. */
  readonly reopen: () => Promise<Store>;
  /** Closes every handle that is still open; may be called again. */
  readonly close: () => Promise<void>;
}

/** `groups`: the group of each source that has one. */
export type OpenStore = (groups?: ReadonlyMap<string, string>) => Promise<StoreUnderTest>;

export function createTestClock(nowMs: number): TestClock {
  const clock: TestClock = {
    nowMs,
    advance(ms) {
      clock.nowMs += ms;
    },
  };
  return clock;
}

/**
 * What belongs to a store. `open` opens one more handle on the same data and clock; `clear` removes the data after
 * the last one is closed.
 */
export async function underTest(
  clock: TestClock,
  open: () => Promise<Store>,
  clear: () => void = () => undefined,
): Promise<StoreUnderTest> {
  const handles: Store[] = [];
  const another = async (): Promise<Store> => {
    const store = await open();
    handles.push(store);
    return store;
  };
  const closeAll = async (): Promise<void> => {
    await Promise.all(handles.splice(0).map((store) => store.close()));
  };
  return {
    store: await another(),
    clock,
    another,
    async reopen() {
      await closeAll();
      return another();
    },
    async close() {
      await closeAll();
      clear();
    },
  };
}

/** An empty store, closed when the test is over. Each settle is previewed before. */
export async function opened(open: OpenStore): Promise<StoreUnderTest> {
  const under = await open();
  onTestFinished(() => under.close());
  return { ...under, store: previewing(under.store) };
}

/**
 * A store that previews before it settles, and expects the same of both. Calls at the same time are not
 * compared.
 */
function previewing(store: Store): Store {
  let inFlight = 0;
  let begun = 0;
  return {
    ...store,
    async settle(asked) {
      const isAlone = inFlight === 0;
      const mine = ++begun;
      inFlight += 1;
      try {
        // Asked for in one turn, so that nothing closes the store between them.
        const [previewed, settled] = await Promise.all([store.preview(asked), store.settle(asked)]);
        if (isAlone && begun === mine) expect(previewed).toEqual(withoutEntry(settled));
        return settled;
      } finally {
        inFlight -= 1;
      }
    },
  };
}

/** What a preview of it must return. */
export function withoutEntry(result: SettleResult): object {
  if (!('id' in result)) return result;
  const { id: _unused, ...rest } = result;
  return rest;
}

/** A store that knows the sources `shop` and `vault` and has REVISION in force. */
export async function ready(open: OpenStore): Promise<StoreUnderTest> {
  const under = await opened(open);
  await under.store.register(['shop', 'vault']);
  await under.store.push(push('first', ''));
  return under;
}

/**
 * `it` for the tests of one suite. A test that names them is given the store of {@link ready}, what belongs to it,
 * and `settle`, which settles a {@link request}; or the `empty` store of {@link opened}.
 */
export const testsOn = (open: OpenStore) =>
  test
    .extend('empty', () => opened(open))
    .extend('under', () => ready(open))
    .extend('store', ({ under }) => under.store)
    .extend('clock', ({ under }) => under.clock)
    .extend('another', ({ under }) => under.another)
    .extend('reopen', ({ under }) => under.reopen)
    .extend('close', ({ under }) => under.close)
    .extend(
      'settle',
      ({ under }) =>
        (over?: Partial<Asked>) =>
          under.store.settle(request(over)),
    );
