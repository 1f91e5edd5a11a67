import { type ErrorMessage, errorMessage } from '../../values/worker.ts';
import type { Database } from './database.ts';
import { createBegin } from './lock.ts';
import { storeError } from './sqlite-errors.ts';

/**
 * The result of one write that is on disk, or the error because of which the write was undone. Plain data, so that
 * a thread can send it.
 */
type Outcome =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: ErrorMessage };

export interface BatchResult {
  /** False if the whole transaction failed, so that nothing was written. */
  readonly committed: boolean;
  /** One for each write of the batch, in order. */
  readonly outcomes: readonly Outcome[];
}

export interface TransactionSteps<W> {
  /** Called after each BEGIN and each rollback: values that were read before are out of date. */
  readonly refresh: () => void;
  readonly apply: (write: W) => unknown;
  /** Called at the end of each transaction, with its number of writes. */
  readonly cleanUp: (writes: number) => void;
}

/**
 * Commits a batch of writes in one transaction, and so with one flush to disk. If one write throws, it alone
 * is undone; if the clean-up or the COMMIT fails, all are. Returns when the batch is on disk or undone, and
 * does not throw.
 */
export function createCommit<W>(
  { connection, file, lockWait }: Database,
  { refresh, apply, cleanUp }: TransactionSteps<W>,
): (batch: readonly W[]) => BatchResult {
  const begin = createBegin(file, connection, lockWait);
  const commit = connection.prepare('COMMIT');
  const rollback = connection.prepare('ROLLBACK');
  const savepoint = connection.prepare('SAVEPOINT one');
  const undo = connection.prepare('ROLLBACK TO one');
  const release = connection.prepare('RELEASE one');

  /** Undefined if one of several writes threw: without savepoints only all of them can be undone. */
  const applyAll = (batch: readonly W[]): readonly Outcome[] | undefined => {
    try {
      return batch.map((write) => ({ ok: true, value: apply(write) }));
    } catch (thrown) {
      if (batch.length === 1) throw thrown;
      return undefined;
    }
  };

  const applyInSavepoint = (write: W): Outcome => {
    savepoint.run();
    try {
      const value = apply(write);
      release.run();
      return { ok: true, value };
    } catch (thrown) {
      // A full or failing disk can make SQLite end the transaction, and with it the whole batch.
      if (!connection.isTransaction) throw thrown;
      undo.run();
      release.run();
      refresh();
      return { ok: false, error: errorMessage(storeError(file, thrown)) };
    }
  };

  const transact = (
    batch: readonly W[],
    applyBatch: (batch: readonly W[]) => readonly Outcome[] | undefined,
  ): BatchResult | undefined => {
    begin();
    refresh();
    const outcomes = applyBatch(batch);
    if (outcomes === undefined) {
      rollBack();
      return undefined;
    }
    cleanUp(batch.length);
    commit.run();
    return { committed: true, outcomes };
  };

  const rollBack = (): void => {
    try {
      if (connection.isTransaction) rollback.run();
    } catch {
      // The next batch can't begin then, and is rejected with the reason.
    }
  };

  return (batch) => {
    try {
      // A savepoint copies every page that its write touches, so only a batch with a failure uses savepoints.
      const result = transact(batch, applyAll) ?? transact(batch, (writes) => writes.map(applyInSavepoint));
      if (result !== undefined) return result;
      throw new Error('a batch of writes was neither committed nor undone');
    } catch (thrown) {
      rollBack();
      const error = errorMessage(storeError(file, thrown));
      return { committed: false, outcomes: batch.map(() => ({ ok: false, error })) };
    }
  };
}
