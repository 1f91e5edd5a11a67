import { CountersignError } from '../../errors.ts';
import { errorOf } from '../../values/worker.ts';
import { storeClosedError, storeError } from './sqlite-errors.ts';
import type { BatchResult } from './transaction.ts';

/** The largest batch. The service answers other requests between two batches. */
const BATCH_MAX = 256;
const WAITING_MAX = 10_000;
/** A batch that takes longer than this is stuck: the disk hangs. */
const STUCK_MS = 5000;

/** Where batches of writes are committed. */
export interface BatchCommitter<W> {
  /** How many batches it accepts at a time, at least one. */
  readonly concurrency: number;
  /** Resolves once the batch is on disk or undone. Rejects if it can't be known whether it was committed. */
  commit(batch: readonly W[]): Promise<BatchResult>;
}

export interface WriteQueue<W> {
  /** Resolves with the write's result once that is on disk; rejects with a CountersignError. */
  readonly write: (write: W) => Promise<unknown>;
  /** Throws STORE_UNREACHABLE while a batch is stuck. Nothing else detects a thread that hangs. */
  expectNotStuck(): void;
  /** Accepts no more writes; resolves once each accepted write is on disk or rejected. */
  close(): Promise<void>;
  readonly counts: { readonly writes: number; readonly commits: number };
}

interface QueuedWrite<W> {
  readonly write: W;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: CountersignError) => void;
}

/**
 * The queue for all writes of this process. Writes that wait at the same time share one transaction, and so
 * one flush to disk, which is the most expensive part. While one batch is committed the next one fills, so
 * batches grow with the load.
 */
export function createWriteQueue<W>(file: string, committer: BatchCommitter<W>): WriteQueue<W> {
  const counts = { writes: 0, commits: 0 };
  /** The batches that were sent and when, by `performance.now`, oldest first. */
  const inFlight = new Map<readonly QueuedWrite<W>[], number>();
  let waiting: QueuedWrite<W>[] = [];
  let scheduled = false;
  let closed: PromiseWithResolvers<void> | undefined;

  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(sendBatch);
  };
  const sendBatch = (): void => {
    scheduled = false;
    if (waiting.length > 0 && inFlight.size < committer.concurrency) {
      const batch = waiting.slice(0, BATCH_MAX);
      waiting = waiting.slice(BATCH_MAX);
      inFlight.set(batch, performance.now());
      void commit(batch);
      if (waiting.length > 0) schedule();
    }
    if (waiting.length === 0 && inFlight.size === 0) closed?.resolve();
  };
  const commit = async (batch: readonly QueuedWrite<W>[]): Promise<void> => {
    try {
      const { committed, outcomes } = await committer.commit(batch.map(({ write }) => write));
      for (const [index, { resolve, reject }] of batch.entries()) {
        const outcome = outcomes[index];
        if (outcome?.ok === true) resolve(outcome.value);
        else if (outcome !== undefined) reject(errorOf(outcome.error));
        else reject(storeError(file, new Error('nothing is known of the write')));
      }
      counts.commits += committed ? 1 : 0;
      counts.writes += committed ? batch.length : 0;
    } catch (thrown) {
      for (const { reject } of batch) reject(storeError(file, thrown));
    } finally {
      inFlight.delete(batch);
      schedule();
    }
  };

  return {
    counts,
    write: (write) =>
      new Promise((resolve, reject) => {
        if (closed !== undefined) return reject(storeClosedError(file));
        if (waiting.length === WAITING_MAX) return reject(queueFullError(file));
        waiting.push({ write, resolve, reject });
        schedule();
      }),
    expectNotStuck() {
      const [sinceMs] = inFlight.values();
      if (sinceMs !== undefined && performance.now() - sinceMs >= STUCK_MS) throw stuckError(file);
    },
    close() {
      closed ??= Promise.withResolvers();
      schedule();
      return closed.promise;
    },
  };
}

function queueFullError(file: string): CountersignError {
  return new CountersignError(
    'STORE_UNREACHABLE',
    `the disk of the store ${file} is too slow, so ${WAITING_MAX} writes wait; use a faster disk, or Redis`,
    { file, waiting: WAITING_MAX },
  );
}

function stuckError(file: string): CountersignError {
  return new CountersignError(
    'STORE_UNREACHABLE',
    `the store ${file} has not finished a write for ${STUCK_MS / 1000} seconds; check whether its disk hangs`,
    { file, stuckMs: STUCK_MS },
  );
}
