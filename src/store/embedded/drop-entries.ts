import type { DatabaseSync } from 'node:sqlite';
import { ENTRY_ID } from './journal-search.ts';
import { integer } from './rows.ts';

/** Entries of one step at most: for as long as it takes, no other process writes. */
const DROPPED_AT_ONCE = 250;

/** See Journal.dropEntries. */
export function createDropEntries(
  connection: DatabaseSync,
): (drop: { readonly source: string; readonly upTo: string }) => number {
  const find = connection.prepare('SELECT at_ms FROM journal WHERE source = ? AND id = ?');
  const newest = connection.prepare(
    'SELECT id FROM journal INDEXED BY journal_by_time WHERE source = ? ORDER BY at_ms DESC, id DESC LIMIT 1',
  );
  // Both bounds: the index is by time, and `at_ms` keeps the look from going on behind the last that is
  // wanted.
  const drop = connection.prepare(
    `DELETE FROM journal WHERE id IN (
       SELECT id FROM journal INDEXED BY journal_by_time
       WHERE source = ? AND at_ms <= ? AND id <= ? AND id < ? ORDER BY at_ms, id LIMIT ${DROPPED_AT_ONCE})`,
  );
  return ({ source, upTo }) => {
    const last = ENTRY_ID.test(upTo) ? find.get(source, Number(upTo)) : undefined;
    const kept = newest.get(source);
    if (last === undefined || kept === undefined) return 0;
    const dropped = drop.run(source, integer(last, 'at_ms'), Number(upTo), integer(kept, 'id'));
    return Number(dropped.changes);
  };
}
