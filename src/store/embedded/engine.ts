import type { Database } from './database.ts';
import { type Retention, createHousekeeping } from './housekeeping.ts';
import { keepInForce } from './in-force-kept.ts';
import { createJournal } from './journal.ts';
import { createPrices } from './prices.ts';
import { createSettleTables } from './tables.ts';
import { createTime } from './time.ts';
import { type Committed, createCommit } from './transaction.ts';
import { type Asked, createPerform } from './write-verbs.ts';

/** Writes that share a commit, and so an instant: what the clock said when they were sent. */
export interface Batch {
  readonly clockMs: number;
  readonly asked: readonly Asked[];
}

/** Commits one batch after the other in a database; see createCommit. The time never runs backwards. */
export function createEngine(database: Database, retention: Retention): (batch: Batch) => Committed {
  const { connection } = database;
  let clockMs = 0;
  let nowMs = 0;
  const now = createTime(connection, () => clockMs);
  const settleTables = keepInForce(createSettleTables(connection, createJournal(connection)));
  const tables = { ...settleTables, prices: createPrices(connection) };
  const perform = createPerform(tables);
  const commit = createCommit<Asked>(database, {
    forget() {
      tables.forget();
      nowMs = now();
    },
    work: (asked) => perform(asked, nowMs),
    housekeeping: createHousekeeping(tables, () => nowMs, retention),
  });
  return (batch) => {
    ({ clockMs } = batch);
    return commit(batch.asked);
  };
}
