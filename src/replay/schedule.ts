/** When callbacks are due: by the recorded pace, by a rate, by both, or immediately. */
interface Pace {
  /** In how many milliseconds the next callback is due. */
  dueInMs(recordedAtMs: number): number;
}

interface PaceOptions {
  /** A monotonic clock, in milliseconds. */
  readonly clock: () => number;
  /** The most callbacks a second. */
  readonly ratePerSecond: number | undefined;
  /** How many times as fast as recorded. */
  readonly speed: number | undefined;
}

export function createPace({ clock, ratePerSecond, speed }: PaceOptions): Pace {
  let first: { readonly atMs: number; readonly recordedAtMs: number } | undefined;
  let nextMs = -Infinity;
  return {
    dueInMs(recordedAtMs) {
      const nowMs = clock();
      first ??= { atMs: nowMs, recordedAtMs };
      const byRecord = speed === undefined ? nowMs : first.atMs + (recordedAtMs - first.recordedAtMs) / speed;
      const dueMs = Math.max(nowMs, byRecord, nextMs);
      // After a delay, no burst above the rate makes up for it.
      if (ratePerSecond !== undefined) nextMs = dueMs + 1000 / ratePerSecond;
      return dueMs - nowMs;
    },
  };
}

/** Named queues. The work of one queue runs in order, and several queues run in parallel. */
export interface Queues {
  /**
   * Resolves when there is room for more work, which may be before this work is done. `work` must not reject.
   */
  submit(queue: string, work: () => Promise<void>): Promise<void>;
  idle(): Promise<void>;
}

/** How many pieces of work may wait for each slot, so that one busy queue does not stop the others. */
const WAITING_PER_SLOT = 8;

/**
 * Runs at most `concurrency` pieces of work in parallel. With a concurrency of 1, it keeps the order of
 * submission.
 */
export function createQueues(concurrency: number): Queues {
  const most = concurrency === 1 ? 1 : concurrency * WAITING_PER_SLOT;
  const lastOf = new Map<string, Promise<void>>();
  const waitingForSlot: (() => void)[] = [];
  const waitingForRoom: (() => void)[] = [];
  let running = 0;
  let unfinished = 0;

  const slot = (): Promise<void> => {
    if (running < concurrency) {
      running++;
      return Promise.resolve();
    }
    return new Promise((resolve) => waitingForSlot.push(resolve));
  };
  const release = (): void => {
    const next = waitingForSlot.shift();
    if (next === undefined) running--;
    else next();
  };
  const doneAfter = async (before: Promise<void> | undefined, work: () => Promise<void>): Promise<void> => {
    await before;
    await slot();
    try {
      await work();
    } finally {
      release();
      unfinished--;
      for (const checkAgain of waitingForRoom.splice(0)) checkAgain();
    }
  };
  const room = async (limit: number): Promise<void> => {
    if (unfinished <= limit) return;
    await new Promise<void>((resolve) => void waitingForRoom.push(resolve));
    await room(limit);
  };

  return {
    async submit(queue, work) {
      unfinished++;
      const done = doneAfter(lastOf.get(queue), work);
      lastOf.set(queue, done);
      void done.then(() => (lastOf.get(queue) === done ? lastOf.delete(queue) : undefined));
      await room(most - 1);
    },
    idle: () => room(0),
  };
}
