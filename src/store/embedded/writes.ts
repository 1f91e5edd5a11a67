import { CountersignError } from '../../errors.ts';
import type { Database } from './database.ts';
import { storeClosed } from './fault.ts';
import { type Write, createCommit } from './transaction.ts';

/** At most this many writes share a commit, so that the service answers in between. */
const GROUP_MAX = 256;
/** At most this many writes wait. */
const WAITING_MAX = 10_000;

export interface Writes {
  /**
   * Does `work` in a transaction and resolves once that is on disk. Work that throws is undone and rejects alone; a
   * commit that fails undoes and rejects all that share it. Rejects with a CountersignError.
   */
  write<T>(work: () => T): Promise<T>;
  /** Ends what waits, at once, and takes no more. */
  close(): void;
  readonly counts: { readonly writes: number; readonly commits: number };
}

/**
 * One queue for all writes of this process. Writes that wait at the same time share one transaction and so one flush to
 * disk, which costs more than all else. `housekeeping` is done at the end of each transaction, for its number of writes.
 */
export function createWrites(database: Database, housekeeping: (writes: number) => void): Writes {
  const { file } = database;
  const commit = createCommit(database, housekeeping);
  const counts = { writes: 0, commits: 0 };
  let waiting: Write[] = [];
  let closed = false;

  const commitNext = (): void => {
    const group = waiting.slice(0, GROUP_MAX);
    waiting = waiting.slice(GROUP_MAX);
    if (waiting.length > 0) setImmediate(commitNext);
    if (group.length === 0 || !commit(group)) return;
    counts.commits++;
    counts.writes += group.length;
  };

  return {
    counts,
    write: <T>(work: () => T) =>
      new Promise<T>((resolve, reject) => {
        if (closed) return reject(storeClosed(file));
        if (waiting.length === WAITING_MAX) return reject(overloaded(file));
        if (waiting.length === 0) setImmediate(commitNext);
        waiting.push({
          reject,
          work: () => {
            const result = work();
            return () => resolve(result);
          },
        });
      }),
    close() {
      closed = true;
      while (waiting.length > 0) commitNext();
    },
  };
}

function overloaded(file: string): CountersignError {
  return new CountersignError(
    'STORE_UNREACHABLE',
    `${WAITING_MAX} writes wait for the store ${file}: its disk is too slow for what comes in; use a faster one, or Redis`,
    { file, waiting: WAITING_MAX },
  );
}
