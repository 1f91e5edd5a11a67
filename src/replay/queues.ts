/** Work in lanes: one after the other within a lane, several lanes at once. */
export interface Queues {
  /** Resolves when there is room for more work, not when this is done. The work must not reject. */
  submit(lane: string, work: () => Promise<void>): Promise<void>;
  idle(): Promise<void>;
}

/** How much may wait for each at work: what waits for its lane must not keep the others from working. */
const WAITING_EACH = 8;

/** At most so many at work at once. With one, work is done in the order in which it was submitted. */
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
    async submit(lane, work) {
      submitted++;
      const done = doneAfter(lastOf.get(lane), work);
      lastOf.set(lane, done);
      void done.then(() => (lastOf.get(lane) === done ? lastOf.delete(lane) : undefined));
      await room(most - 1);
    },
    idle: () => room(0),
  };
}
