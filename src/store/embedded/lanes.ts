import type { Clock } from '../../values/clock.ts';
import type { Database } from './database.ts';
import { type Batch, type ClockAsked, createEngine } from './engine.ts';
import type { FileGuard } from './identity.ts';
import type { Retention } from './housekeeping.ts';
import type { Committed } from './transaction.ts';
import { createWritability } from './writability.ts';
import type { Asked } from './write-verbs.ts';
import { type WriterThread, startWriterThread } from './writer-thread.ts';
import type { Lane } from './writes.ts';

/**
 * Where writes are done: `here`, in the calling thread, which waits for each flush to disk; in a thread
 * `at-once`; or, as long as a program writes little, as most commands do, here, and from then on in a thread,
 * whose start takes longer than they do.
 */
export type WriteIn = 'here' | 'thread' | 'thread-under-load';

export interface Lanes extends Lane<Asked | ClockAsked> {
  /** Where the next group is committed. */
  readonly where: 'here' | 'thread';
  /** Resolves once it is settled where the next write is done. */
  readonly ready: Promise<void>;
  /** Throws why nothing can be written, by what came of the last writes. */
  readonly expectWritable: () => void;
  close(): Promise<void>;
}

/** Writes after which a thread is worth its start. */
const LOAD_WRITES = 32;
/** While the thread commits one group, it has the next one at hand. */
const THREAD_AT_ONCE = 2;

export interface LanesParts {
  readonly database: Database;
  readonly retention: Retention;
  readonly clock: Clock;
  /** See ClockBounds. Without it, every step of the clock is believed. */
  readonly maxStepMs?: number;
  readonly writeIn: WriteIn;
  readonly guard: FileGuard;
  readonly startThread?: typeof startWriterThread;
}

/**
 * A thread that ends by itself rejects what it had; what comes then is done here, until another one has been
 * started.
 */
export function createLanes(parts: LanesParts): Lanes {
  const { database, retention, clock, maxStepMs, writeIn, guard, startThread = startWriterThread } = parts;
  const { file, identity, lockWait } = database;
  const engine = createEngine(database, retention, maxStepMs);
  let thread: WriterThread | undefined;
  let isReady = false;
  let writesHere = 0;
  const writability = createWritability();

  const start = (): WriterThread => {
    const started = startThread({ file, identity, retention, maxStepMs, lockWait }, () => {
      if (thread === started) [thread, isReady, writesHere] = [undefined, false, 0];
    });
    thread = started;
    void started.ready.then(
      () => (isReady = thread === started),
      // It has ended, and what it would have done is done here.
      () => undefined,
    );
    return started;
  };

  const commitHere = (batch: Batch): Committed => {
    const committed = engine(batch);
    // A service that shows itself every other second has no load by that.
    writesHere += batch.asked.filter(({ verb }) => verb !== 'attend').length;
    if (writesHere >= LOAD_WRITES && writeIn !== 'here' && thread === undefined) start();
    return committed;
  };

  return {
    ready: writeIn === 'thread' ? start().ready : Promise.resolve(),
    get where() {
      return isReady ? 'thread' : 'here';
    },
    get atOnce() {
      return isReady ? THREAD_AT_ONCE : 1;
    },
    async commit(asked) {
      guard.expectSeenSame();
      const batch = { clockMs: clock(), asked };
      const committed = isReady && thread !== undefined ? await thread.commit(batch) : commitHere(batch);
      writability.note(batch, committed);
      // Afterwards: what was written to a file that is no longer the store's must not be acknowledged.
      guard.expectSame();
      return committed;
    },
    expectWritable: writability.expect,
    async close() {
      const last = thread;
      thread = undefined;
      isReady = false;
      await last?.end();
    },
  };
}
