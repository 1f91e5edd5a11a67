import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { z } from 'zod';
import type { ClaimResult } from '../../claims/claims.ts';
import { readResults, storedResults } from '../../claims/stored.ts';
import { CountersignError } from '../../errors.ts';
import { assertJournalQuery } from '../arguments.ts';
import { JOURNAL_TYPES, type JournalEntry, type JournalQuery, type JournalRecord } from '../store.ts';
import { type Row, integer, text } from './rows.ts';

/** A missing text is stored as the empty text, and missing claims as an empty list. */
type Append = Pick<JournalEntry, 'source' | 'atMs' | 'type' | 'detail'> & Partial<Omit<JournalEntry, 'id'>>;

export interface JournalTable {
  /** Returns the id. */
  append(entry: Append): string;
  record(record: JournalRecord, nowMs: number): string;
  entry(source: string, id: string): JournalEntry | undefined;
  /** Throws USAGE for a limit outside 1 to 1000, or an `after` that is no id. */
  entries(query: JournalQuery): readonly JournalEntry[];
  size(source: string): number;
  /** The id of the newest entry about a subject; the empty text without one. */
  newestAbout(source: string, subject: string): string;
  /** See Journal.dropEntries. */
  drop(drop: { readonly source: string; readonly upTo: string }): number;
  /** Deletes at most `limit` entries from before the instant. */
  expire(beforeMs: number, limit: number): void;
}

/** An entry's id: the decimal text of its row's number. */
const ENTRY_ID = /^[1-9]\d{0,14}$/;
const isEntryId = (id: string): boolean => ENTRY_ID.test(id);
/** The most entries that one call deletes. No other process can write meanwhile. */
const DROPPED_AT_ONCE = 250;

export function createJournal(connection: DatabaseSync): JournalTable {
  const insert = connection.prepare(
    `INSERT INTO journal (source, at_ms, type, subject, verdict, code, revision, of, claims, detail)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`,
  );
  const find = connection.prepare('SELECT * FROM journal WHERE source = ? AND id = ?');
  const countEntries = connection.prepare('SELECT entries FROM tally WHERE source = ?');
  const oldest = connection.prepare('SELECT id, at_ms FROM journal ORDER BY id LIMIT 1');
  const dropExpired = connection.prepare('DELETE FROM journal WHERE id < ? AND at_ms < ?');
  const newestAbout = connection.prepare(
    `SELECT id FROM journal INDEXED BY journal_by_subject
     WHERE source = ? AND subject = ? ORDER BY id DESC LIMIT 1`,
  );
  const search = createSearch(connection);

  const append: JournalTable['append'] = (entry) => {
    const { source, atMs, type, detail } = entry;
    const { subject = '', verdict = '', code = '', revision = '', of = '' } = entry;
    const claims = storedResults(entry.claims ?? []);
    const row = insert.get(source, atMs, type, subject, verdict, code, revision, of, claims, detail);
    return String(integer(row ?? {}, 'id'));
  };

  return {
    append,
    drop: createDrop(connection),
    record: (record, nowMs) => append({ ...record, atMs: nowMs }),
    entry(source, id) {
      const row = isEntryId(id) ? find.get(source, Number(id)) : undefined;
      return row === undefined ? undefined : journalEntry(row);
    },
    entries: (query) => search(query).map((row) => journalEntry(row, query.explained)),
    size(source) {
      const row = countEntries.get(source);
      return row === undefined ? 0 : integer(row, 'entries');
    },
    newestAbout(source, subject) {
      const row = newestAbout.get(source, subject);
      return row === undefined ? '' : String(integer(row, 'id'));
    },
    expire(beforeMs, limit) {
      const first = oldest.get();
      if (first !== undefined && integer(first, 'at_ms') < beforeMs) {
        dropExpired.run(integer(first, 'id') + limit, beforeMs);
      }
    },
  };
}

/** Answers each query from an index alone. */
function createSearch(connection: DatabaseSync): (query: JournalQuery) => readonly Row[] {
  const timeOf = connection.prepare('SELECT at_ms FROM journal WHERE source = ? AND id = ?');
  // The order by time is the order by id (see the schema), so each query follows the order of its index.
  const prepare = (by: 'subject' | 'time', order: string): StatementSync =>
    connection.prepare(
      `SELECT * FROM journal INDEXED BY journal_by_${by}
       WHERE source = ? ${by === 'subject' ? 'AND subject = ?' : ''}
         AND id > ? AND id < ? AND at_ms >= ? AND at_ms < ?
       ORDER BY ${order} LIMIT ?`,
    );
  const bySubject = { oldestFirst: prepare('subject', 'id'), newestFirst: prepare('subject', 'id DESC') };
  const byTime = {
    oldestFirst: prepare('time', 'at_ms, id'),
    newestFirst: prepare('time', 'at_ms DESC, id DESC'),
  };

  return (query) => {
    assertJournalQuery(query, isEntryId);
    const { source, subject, after = '', newestFirst = false, limit } = query;
    let [fromMs, untilMs] = [query.fromMs ?? 0, query.untilMs ?? Number.MAX_SAFE_INTEGER];
    let [afterId, beforeId] = [0, Number.MAX_SAFE_INTEGER];
    if (after !== '') {
      // The entry's time narrows the range of the index; if the entry is gone, its id alone decides.
      const found = timeOf.get(source, Number(after));
      const foundMs = found === undefined ? undefined : integer(found, 'at_ms');
      if (newestFirst) {
        beforeId = Number(after);
        untilMs = Math.min(untilMs, foundMs === undefined ? untilMs : foundMs + 1);
      } else {
        afterId = Number(after);
        fromMs = Math.max(fromMs, foundMs ?? 0);
      }
    }
    const order = newestFirst ? 'newestFirst' : 'oldestFirst';
    return subject === undefined
      ? byTime[order].all(source, afterId, beforeId, fromMs, untilMs, limit)
      : bySubject[order].all(source, subject, afterId, beforeId, fromMs, untilMs, limit);
  };
}

function createDrop(connection: DatabaseSync): JournalTable['drop'] {
  const find = connection.prepare('SELECT at_ms FROM journal WHERE source = ? AND id = ?');
  const newest = connection.prepare(
    'SELECT id FROM journal INDEXED BY journal_by_time WHERE source = ? ORDER BY at_ms DESC, id DESC LIMIT 1',
  );
  // With both bounds: `at_ms` ends the scan of the index, which is ordered by time, at the last wanted entry.
  const drop = connection.prepare(
    `DELETE FROM journal WHERE id IN (
       SELECT id FROM journal INDEXED BY journal_by_time
       WHERE source = ? AND at_ms <= ? AND id <= ? AND id < ? ORDER BY at_ms, id LIMIT ${DROPPED_AT_ONCE})`,
  );
  return ({ source, upTo }) => {
    const last = isEntryId(upTo) ? find.get(source, Number(upTo)) : undefined;
    const kept = newest.get(source);
    if (last === undefined || kept === undefined) return 0;
    const dropped = drop.run(source, integer(last, 'at_ms'), Number(upTo), integer(kept, 'id'));
    return Number(dropped.changes);
  };
}

// ---- rows ----

const typeSchema = z.enum(JOURNAL_TYPES);
const verdictSchema = z.enum(['SUCCESS', 'FAILURE', '']);

function claimsOf(row: Row): readonly ClaimResult[] {
  const results = readResults(text(row, 'claims'));
  if (results === undefined) throw new Error('its results of claims have a wrong form');
  return results;
}

/** An entry from its row, without the results of claims if it is not to be explained. Throws STORE_CORRUPT. */
function journalEntry(row: Row, explained = true): JournalEntry {
  const id = String(integer(row, 'id'));
  try {
    return {
      id,
      source: text(row, 'source'),
      atMs: integer(row, 'at_ms'),
      type: typeSchema.parse(row['type']),
      subject: text(row, 'subject'),
      verdict: verdictSchema.parse(row['verdict']),
      code: text(row, 'code'),
      revision: text(row, 'revision'),
      of: text(row, 'of'),
      claims: explained ? claimsOf(row) : [],
      detail: text(row, 'detail'),
    };
  } catch (thrown) {
    throw new CountersignError(
      'STORE_CORRUPT',
      `the journal entry ${id} can't be read; restore the store from a backup`,
      { id },
      thrown,
    );
  }
}
