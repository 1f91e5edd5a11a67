import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { storeTraces, traced } from '../../observe/traces.ts';
import { type Clock, systemClock } from '../../values/clock.ts';
import type { ClockBounds } from '../clock-state.ts';
import { type Elapsed, systemElapsed } from '../elapsed.ts';
import { DEFAULT_RETENTION, type Retention } from '../retention.ts';
import type { Store } from '../store.ts';
import { createCommitter } from './committer.ts';
import { closeDatabase, createFileGuard, openDatabase } from './database.ts';
import type { Write } from './engine.ts';
import { createJournal } from './journal.ts';
import type { LockWait } from './lock.ts';
import { text } from './rows.ts';
import { storeClosedError, storeError } from './sqlite-errors.ts';
import { createTables } from './tables.ts';
import { type Instant, createTime } from './time.ts';
import { type Read, createVerbs } from './verbs.ts';
import { createWriteQueue } from './write-queue.ts';

export interface EmbeddedStoreOptions {
  /** A file, on a local disk. Several processes may share it; in-memory databases are not supported. */
  readonly path: string;
  /** Whether a missing file is created; default true. */
  readonly create?: boolean;
  /** How a write waits for those of other processes; default SERVICE_WAIT. */
  readonly lockWait?: LockWait;
  /** The cache for reading, at most; default 32 MiB. */
  readonly cacheKib?: number;
  readonly clock?: Clock;
  /** Without them, every step of the clock is accepted, as tests and simulations need it. */
  readonly clockBounds?: ClockBounds;
  /** Only for tests: elapsed time, independent of the clock. */
  readonly elapsed?: Elapsed;
  readonly retention?: Retention;
  /**
   * After this many writes commits move from the calling thread to a writer thread. 0 starts the thread when
   * the store is opened, and waits for it. Default 32.
   */
  readonly threadAfterWrites?: number;
}

/** From this number of writes on, a thread is worth starting. Most commands write less. */
const THREAD_AFTER_WRITES = 32;

/**
 * Opens the store in one SQLite file. Rejects with SETTINGS_INVALID, STORE_MISSING, STORE_UNREACHABLE,
 * STORE_CORRUPT or STORE_UNSAFE, each with its fix. Once the file is no longer the one at its path, every
 * verb rejects with STORE_MOVED. Reads run in the calling thread.
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const { path, clock = systemClock, retention = DEFAULT_RETENTION } = options;
  const { elapsed = systemElapsed(), clockBounds, threadAfterWrites = THREAD_AFTER_WRITES } = options;
  const maxStepMs = clockBounds?.maxStepMs ?? Number.POSITIVE_INFINITY;
  const database = openDatabase(path, options);
  const { file, connection } = database;
  const guard = createFileGuard(file, database.identity);
  const tables = createTables(connection, createJournal(connection));
  const time = createTime(connection, maxStepMs);
  const instant = (): Instant => time(clock());
  const now = (): number => instant().nowMs;
  const committer = createCommitter({ database, retention, clock, maxStepMs, guard, threadAfterWrites });
  const queue = createWriteQueue<Write>(file, committer);
  const sqlite = text(connection.prepare('SELECT sqlite_version() AS version').get() ?? {}, 'version');

  const read: Read = async (work) => {
    if (!connection.isOpen) throw storeClosedError(file);
    guard.throwIfMoved();
    try {
      return work();
    } catch (thrown) {
      throw storeError(file, thrown);
    }
  };
  const watchers = createWatchers(() => {
    guard.check();
    return `${tables.releases.control().sequence} ${tables.services.lastRequest()}`;
  });
  const closeAll = async (): Promise<void> => {
    watchers.close();
    await queue.close();
    await committer.close();
    closeDatabase(database);
  };
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= closeAll());
  await committer.ready.catch(async (thrown: unknown) => {
    await close();
    throw storeError(file, thrown);
  });

  return {
    name: 'embedded',
    ...createVerbs({
      read,
      write: (write) =>
        traced(storeTraces, { system: 'sqlite', operation: write.verb }, () => queue.write(write)),
      connection,
      tables,
      now,
      instant,
      clock,
      elapsed,
      clockBounds,
    }),
    health: () =>
      read(() => {
        guard.check();
        queue.expectNotStuck();
        committer.assertWritable();
        const freeBytes = freeBytesFor(file);
        return { nowMs: now(), details: { file, sqlite, freeBytes, ...queue.counts } };
      }),
    checkSafety: () => Promise.resolve(),
    pendingLoss: () => undefined,
    watch: (changed) => watchers.watch(changed),
    close,
  };
}

/** How much the user of this process can still write to the file's disk. */
function freeBytesFor(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file));
  return bavail * bsize;
}

const WATCH_MS = 250;

interface Watchers {
  /** Calls back whenever the value that is read has changed, until the returned function is called. */
  watch(changed: () => void): () => void;
  close(): void;
}

/** SQLite doesn't report the writes of other processes, so a watch reads again every WATCH_MS. */
function createWatchers(read: () => string): Watchers {
  const timers = new Set<NodeJS.Timeout>();
  return {
    watch(changed) {
      const timer = watchValue(read, changed);
      timers.add(timer);
      return () => {
        clearInterval(timer);
        timers.delete(timer);
      };
    },
    close() {
      for (const timer of timers) clearInterval(timer);
    },
  };
}

/** A read that fails is skipped: every other use of the store reports the error. */
function watchValue(read: () => string, changed: () => void): NodeJS.Timeout {
  const readIfPossible = (): string | undefined => {
    try {
      return read();
    } catch {
      return undefined;
    }
  };
  let seen = readIfPossible();
  const timer = setInterval(() => {
    const found = readIfPossible();
    if (found === undefined || found === seen) return;
    seen = found;
    changed();
  }, WATCH_MS);
  return timer.unref();
}
