import type { CountersignError } from '../../errors.ts';
import { createBegin } from './begin.ts';
import type { Database } from './database.ts';
import { storeFault } from './fault.ts';

/** What became of one write: its result, which is on disk, or why nothing of it is. */
export type Outcome =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly fault: CountersignError };

export interface Committed {
  /** False if nothing was written, since the transaction as a whole failed. */
  readonly committed: boolean;
  /** One for each write of the group, in order. */
  readonly outcomes: readonly Outcome[];
}

export interface CommitSteps<W> {
  /** Called after each begin, and after whatever was undone: what was read before counts no more. */
  readonly forget: () => void;
  readonly work: (write: W) => unknown;
  /** Done at the end of each transaction, for its number of writes. */
  readonly housekeeping: (writes: number) => void;
}

/**
 * Commits a group of writes in one transaction, and so with one flush to disk. A write that throws is undone
 * alone; a commit or housekeeping that fails undoes all. Returns once that is on disk, and does not throw.
 */
export function createCommit<W>(
  { connection, file, lockWait }: Database,
  { forget, work, housekeeping }: CommitSteps<W>,
): (group: readonly W[]) => Committed {
  const begin = createBegin(file, connection, lockWait);
  const commit = connection.prepare('COMMIT');
  const rollback = connection.prepare('ROLLBACK');
  const savepoint = connection.prepare('SAVEPOINT one');
  const undo = connection.prepare('ROLLBACK TO one');
  const release = connection.prepare('RELEASE one');

  /** Undefined if one of several failed: how far it went is not known, so all must be undone. */
  const together = (group: readonly W[]): readonly Outcome[] | undefined => {
    try {
      return group.map((write) => ({ ok: true, value: work(write) }));
    } catch (thrown) {
      if (group.length === 1) throw thrown;
      return undefined;
    }
  };

  const alone = (write: W): Outcome => {
    savepoint.run();
    try {
      const value = work(write);
      release.run();
      return { ok: true, value };
    } catch (thrown) {
      // A full or failing disk can make SQLite end the transaction, and with it the whole group.
      if (!connection.isTransaction) throw thrown;
      undo.run();
      release.run();
      forget();
      return { ok: false, fault: storeFault(file, thrown) };
    }
  };

  const transact = (
    group: readonly W[],
    workAll: (group: readonly W[]) => readonly Outcome[] | undefined,
  ): Committed | undefined => {
    begin();
    forget();
    const outcomes = workAll(group);
    if (outcomes === undefined) {
      abandon();
      return undefined;
    }
    housekeeping(group.length);
    commit.run();
    return { committed: true, outcomes };
  };

  const abandon = (): void => {
    try {
      if (connection.isTransaction) rollback.run();
    } catch {
      // The next group can't begin then, and is rejected with the reason.
    }
  };

  return (group) => {
    try {
      // A savepoint around each write costs a copy of every page it touches, so only a group that needs them
      // pays.
      const committed = transact(group, together) ?? transact(group, (writes) => writes.map(alone));
      if (committed !== undefined) return committed;
      throw new Error('a group of writes was neither kept nor undone');
    } catch (thrown) {
      abandon();
      const fault = storeFault(file, thrown);
      return { committed: false, outcomes: group.map(() => ({ ok: false, fault })) };
    }
  };
}
