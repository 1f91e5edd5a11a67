import type { DatabaseSync } from 'node:sqlite';
import type { JournalEntry, JournalQuery, JournalRecord } from '../store.ts';
import { createDropEntries } from './drop-entries.ts';
import { journalEntry, storedClaims } from './entry.ts';
import { ENTRY_ID, createJournalSearch } from './journal-search.ts';
import { integer } from './rows.ts';

/** What an entry says; what is left out is the empty text, and no claims. */
type Append = Pick<JournalEntry, 'source' | 'atMs' | 'type' | 'detail'> & Partial<Omit<JournalEntry, 'id'>>;

export interface JournalTable {
  /** Returns the id. */
  append(entry: Append): string;
  record(record: JournalRecord, nowMs: number): string;
  entry(source: string, id: string): JournalEntry | undefined;
  entries(query: JournalQuery): readonly JournalEntry[];
  size(source: string): number;
  /** See Journal.dropEntries. */
  drop(drop: { readonly source: string; readonly upTo: string }): number;
  /** Deletes at most `limit` entries from before the instant. */
  expire(beforeMs: number, limit: number): void;
}

export function createJournal(connection: DatabaseSync): JournalTable {
  const insert = connection.prepare(
    `INSERT INTO journal (source, at_ms, type, subject, verdict, code, revision, of, claims, detail)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
  );
  const find = connection.prepare('SELECT * FROM journal WHERE source = ? AND id = ?');
  const tally = connection.prepare('SELECT entries FROM tally WHERE source = ?');
  const oldest = connection.prepare('SELECT id, at_ms FROM journal ORDER BY id LIMIT 1');
  const drop = connection.prepare('DELETE FROM journal WHERE id < ? AND at_ms < ?');
  const search = createJournalSearch(connection);

  const append: JournalTable['append'] = (entry) => {
    const {
      source,
      atMs,
      type,
      subject = '',
      verdict = '',
      code = '',
      revision = '',
      of = '',
      detail,
    } = entry;
    const claims = storedClaims(entry.claims ?? []);
    const row = insert.get(source, atMs, type, subject, verdict, code, revision, of, claims, detail);
    return String(integer(row ?? {}, 'id'));
  };

  return {
    append,
    drop: createDropEntries(connection),
    record: (record, nowMs) => append({ ...record, atMs: nowMs }),
    entry(source, id) {
      const row = ENTRY_ID.test(id) ? find.get(source, Number(id)) : undefined;
      return row === undefined ? undefined : journalEntry(row);
    },
    entries: (query) => search(query).map(journalEntry),
    size(source) {
      const row = tally.get(source);
      return row === undefined ? 0 : integer(row, 'entries');
    },
    expire(beforeMs, limit) {
      const first = oldest.get();
      if (first !== undefined && integer(first, 'at_ms') < beforeMs) {
        drop.run(integer(first, 'id') + limit, beforeMs);
      }
    },
  };
}
