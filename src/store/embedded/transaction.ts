import type { CountersignError } from '../../errors.ts';
import type { Database } from './database.ts';
import { storeFault } from './fault.ts';

/** One write of a group: its work, and what is called with the result once that is on disk, or with the fault. */
export interface Write {
  /** Does the work, and returns what resolves its promise. */
  readonly work: () => () => void;
  readonly reject: (fault: CountersignError) => void;
}

/**
 * Commits writes in one transaction, each undone alone if it throws, then `housekeeping` for their number. Promises are
 * resolved after the commit; if that fails, all are rejected and nothing is kept. True if there was a commit.
 */
export function createCommit(
  { connection, file }: Database,
  housekeeping: (writes: number) => void,
): (group: readonly Write[]) => boolean {
  const begin = connection.prepare('BEGIN IMMEDIATE');
  const commit = connection.prepare('COMMIT');
  const rollback = connection.prepare('ROLLBACK');
  const savepoint = connection.prepare('SAVEPOINT one');
  const undo = connection.prepare('ROLLBACK TO one');
  const release = connection.prepare('RELEASE one');

  const alone = <T>(work: () => T): T => {
    savepoint.run();
    try {
      const result = work();
      release.run();
      return result;
    } catch (thrown) {
      // A full or failing disk can make SQLite end the transaction, and with it the whole group.
      if (connection.isTransaction) {
        undo.run();
        release.run();
      }
      throw thrown;
    }
  };

  const attempt = ({ work, reject }: Write): (() => void) => {
    try {
      return alone(work);
    } catch (thrown) {
      if (!connection.isTransaction) throw thrown;
      return () => reject(storeFault(file, thrown));
    }
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
      begin.run();
      const settled = group.map(attempt);
      alone(() => housekeeping(group.length));
      commit.run();
      for (const settle of settled) settle();
      return true;
    } catch (thrown) {
      abandon();
      for (const { reject } of group) reject(storeFault(file, thrown));
      return false;
    }
  };
}
