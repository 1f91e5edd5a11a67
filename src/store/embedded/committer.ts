import type { Clock } from '../../values/clock.ts';
import {
  type Answerer,
  type ErrorMessage,
  compileCacheEnv,
  errorOf,
  startThread,
} from '../../values/worker.ts';
import type { Retention } from '../retention.ts';
import type { Database, FileGuard, Identity } from './database.ts';
import { type Batch, type Write, createEngine } from './engine.ts';
import type { LockWait } from './lock.ts';
import { isDiskError, isFromSqlite } from './sqlite-errors.ts';
import type { BatchResult } from './transaction.ts';
import type { BatchCommitter } from './write-queue.ts';

export interface Committer extends BatchCommitter<Write> {
  /** Resolves once a thread that was started at once is ready; rejects if it can't start. */
  readonly ready: Promise<void>;
  /** Throws the error of the latest writes, if they failed. */
  readonly assertWritable: () => void;
  close(): Promise<void>;
}

export interface CommitterParts {
  readonly database: Database;
  readonly retention: Retention;
  readonly clock: Clock;
  /** See ClockBounds. Without it, every step of the clock is accepted. */
  readonly maxStepMs?: number;
  readonly guard: FileGuard;
  /** See EmbeddedStoreOptions. */
  readonly threadAfterWrites: number;
  /** Only for tests. */
  readonly startWriter?: typeof startWriter;
}

/**
 * Commits batches: under load in a writer thread, so that commits don't block the event loop; before that in
 * this thread, because most commands write too little to justify the start of a thread. A thread that ends by
 * itself rejects its batches; later ones are committed in this thread until another one is ready. Rejects
 * with STORE_MOVED once the file was moved: such a write must not be acknowledged.
 */
export function createCommitter(parts: CommitterParts): Committer {
  const { database, retention, clock, maxStepMs, guard, threadAfterWrites } = parts;
  const { startWriter: startNew = startWriter } = parts;
  const { file, identity, lockWait } = database;
  const commitOnThisThread = createEngine(database, retention, maxStepMs);
  const writability = createWritability();
  let thread: Writer | undefined;
  let writesOnThisThread = 0;

  const start = (): Writer => {
    const started = startNew({ file, identity, retention, maxStepMs, lockWait }, () => {
      if (thread === started) [thread, writesOnThisThread] = [undefined, 0];
    });
    thread = started;
    return started;
  };
  const commit = (batch: Batch): BatchResult | Promise<BatchResult> => {
    if (thread?.isReady() === true) return thread.ask(batch);
    const result = commitOnThisThread(batch);
    // A service that is idle sends heartbeats, and needs no thread.
    writesOnThisThread += batch.writes.filter(({ verb }) => verb !== 'heartbeat').length;
    if (writesOnThisThread >= threadAfterWrites && thread === undefined) start();
    return result;
  };

  return {
    ready: threadAfterWrites === 0 ? start().ready : Promise.resolve(),
    get concurrency() {
      return thread?.isReady() === true ? WRITER_BATCHES : 1;
    },
    async commit(writes) {
      guard.throwIfMoved();
      const batch = { clockMs: clock(), writes };
      try {
        const result = await commit(batch);
        writability.record(batch, result);
        return result;
      } finally {
        guard.check();
      }
    },
    assertWritable: writability.assertWritable,
    async close() {
      await thread?.stop();
    },
  };
}

/** What a writer thread needs. */
export interface WriterData {
  readonly file: string;
  /** The files that the starter of the thread has open: the thread must write to no others. */
  readonly identity: Identity;
  readonly retention: Retention;
  readonly maxStepMs?: number | undefined;
  readonly lockWait: LockWait;
}

/**
 * A thread with its own connection: its commits and flushes don't block the event loop. A batch that it gives
 * no answer to may be on disk or not.
 */
export type Writer = Answerer<Batch, BatchResult>;

/** While the thread commits one batch, the next one waits in its queue. */
const WRITER_BATCHES = 2;
const WRITER = new URL('./writer-thread-entry.ts', import.meta.url);

export function startWriter(data: WriterData, onEnd: () => void, entry = WRITER): Writer {
  return startThread({
    name: 'its writer',
    entry,
    env: compileCacheEnv(),
    data,
    waitingMax: WRITER_BATCHES,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the entry sends it
    read: (answer) => answer as BatchResult,
    onEnd,
  });
}

/** Whether the disk accepts writes, according to the latest ones. */
interface Writability {
  readonly record: (batch: Batch, result: BatchResult) => void;
  /** Throws the error of the latest writes, if they failed. */
  readonly assertWritable: () => void;
}

/** After this time, any write that succeeds shows that the disk has room again. */
const DISK_ERROR_MS = 10_000;

/**
 * On a full disk small writes still fit into the write-ahead log (WAL), so only a probe shows at once that
 * there is room again.
 */
function createWritability(): Writability {
  let error: ErrorMessage | undefined;
  let failedAtMs = 0;
  return {
    record({ writes }, { committed, outcomes }) {
      const failed = outcomes.find(
        (outcome) => !outcome.ok && isFromSqlite(outcome.error) && (!committed || isDiskError(outcome.error)),
      );
      if (failed?.ok === false) {
        error = failed.error;
        failedAtMs = performance.now();
        return;
      }
      if (error === undefined) return;
      const isOver =
        !isDiskError(error) ||
        performance.now() - failedAtMs > DISK_ERROR_MS ||
        writes.some(({ verb, argument }) => verb === 'heartbeat' && argument.probe === true);
      if (isOver) error = undefined;
    },
    assertWritable() {
      if (error !== undefined) throw errorOf(error);
    },
  };
}
