/** When callbacks are due: by the recorded pace, a rate, or both; without either at once. */
interface Pace {
  /** How many milliseconds from now the next callback is due, 0 if it is. */
  dueInMs(recordedAtMs: number): number;
}

interface PaceOptions {
  /** A monotonic clock, in milliseconds. */
  readonly clock: () => number;
  /** At most so many a second. */
  readonly ratePerSecond: number | undefined;
  /** So many times as fast as recorded. */
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
      // What fell behind is not caught up with in a burst above the rate.
      if (ratePerSecond !== undefined) nextMs = dueMs + 1000 / ratePerSecond;
      return dueMs - nowMs;
    },
  };
}

/** Named queues of work: the work of one queue runs in order, several queues run at once. */
export interface Queues {
  /** Resolves when there is room for more work, not when this work is done. The work must not reject. */
  submit(queue: string, work: () => Promise<void>): Promise<void>;
  idle(): Promise<void>;
}

/**
 * How many may wait for each that runs: work that waits for its queue must not keep other queues from
 * running.
 */
const WAITING_EACH = 8;

/** At most `concurrency` run at once. With a concurrency of 1, work runs in the order of its submission. */
export function createQueues(concurrency: number): Queues {
  const most = concurrency === 1 ? 1 : concurrency * WAITING_EACH;
  const lastOf = new Map<string, Promise<void>>();
  const free: (() => void)[] = [];
  let atWork = 0;
  let submitted = 0;
  const waiting: (() => void)[] = [];

  const slot = (): Promise<void> => {
    if (atWork < concurrency) {
      atWork++;
      return Promise.resolve();
    }
    return new Promise((resolve) => free.push(resolve));
  };
  const release = (): void => {
    const next = free.shift();
    if (next === undefined) atWork--;
    else next();
  };
  const doneAfter = async (before: Promise<void> | undefined, work: () => Promise<void>): Promise<void> => {
    await before;
    await slot();
    try {
      await work();
    } finally {
      release();
      submitted--;
      for (const lookAgain of waiting.splice(0)) lookAgain();
    }
  };
  const room = async (limit: number): Promise<void> => {
    if (submitted <= limit) return;
    await new Promise<void>((resolve) => void waiting.push(resolve));
    await room(limit);
  };

  return {
    async submit(queue, work) {
      submitted++;
      const done = doneAfter(lastOf.get(queue), work);
      lastOf.set(queue, done);
      void done.then(() => (lastOf.get(queue) === done ? lastOf.delete(queue) : undefined));
      await room(most - 1);
    },
    idle: () => room(0),
  };
}
