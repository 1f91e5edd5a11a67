import { onTestFinished } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { push } from '../requests.ts';

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

/** An empty store, closed when the test is over. */
export async function opened(open: OpenStore): Promise<StoreUnderTest> {
  const under = await open();
  onTestFinished(() => under.close());
  return under;
}

/** A store that knows the sources `shop` and `vault` and has REVISION in force. */
export async function ready(open: OpenStore): Promise<StoreUnderTest> {
  const under = await opened(open);
  await under.store.register(['shop', 'vault']);
  await under.store.push(push('first', ''));
  return under;
}
