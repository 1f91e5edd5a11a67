import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { CountersignError } from '../../errors.ts';
import type { JournalQuery } from '../store.ts';
import { type Row, integer } from './rows.ts';

/** An entry's id: the decimal text of its row's number. */
export const ENTRY_ID = /^[1-9]\d{0,14}$/;

const LIMIT_MAX = 1000;
const EVER = Number.MAX_SAFE_INTEGER;

/**
 * Answers queries of the journal by index alone. Throws USAGE for a limit outside 1 to 1000, or an `after`
 * that is no id.
 */
export function createJournalSearch(connection: DatabaseSync): (query: JournalQuery) => readonly Row[] {
  const timeOf = connection.prepare('SELECT at_ms FROM journal WHERE source = ? AND id = ?');
  // Order by time is order by id (see the schema), so each order is that of its index.
  const prepare = (by: 'subject' | 'time', order: string): StatementSync =>
    connection.prepare(
      `SELECT * FROM journal INDEXED BY journal_by_${by}
       WHERE source = ? ${by === 'subject' ? 'AND subject = ?' : ''}
         AND id > ? AND id < ? AND at_ms >= ? AND at_ms < ?
       ORDER BY ${order} LIMIT ?`,
    );
  const bySubject = { forwards: prepare('subject', 'id'), backwards: prepare('subject', 'id DESC') };
  const byTime = {
    forwards: prepare('time', 'at_ms, id'),
    backwards: prepare('time', 'at_ms DESC, id DESC'),
  };

  return (query) => {
    expectQuery(query);
    const { source, subject, after = '', newestFirst = false, limit } = query;
    let [fromMs, untilMs] = [query.fromMs ?? 0, query.untilMs ?? EVER];
    let [afterId, beforeId] = [0, EVER];
    if (after !== '') {
      // The entry's time narrows the range of the index; if the entry is gone, its id alone decides.
      const found = timeOf.get(source, Number(after));
      const foundMs = found === undefined ? undefined : integer(found, 'at_ms');
      if (newestFirst) [beforeId, untilMs] = [Number(after), Math.min(untilMs, (foundMs ?? EVER - 1) + 1)];
      else [afterId, fromMs] = [Number(after), Math.max(fromMs, foundMs ?? 0)];
    }
    const direction = newestFirst ? 'backwards' : 'forwards';
    return subject === undefined
      ? byTime[direction].all(source, afterId, beforeId, fromMs, untilMs, limit)
      : bySubject[direction].all(source, subject, afterId, beforeId, fromMs, untilMs, limit);
  };
}

function expectQuery({ limit, after = '' }: JournalQuery): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > LIMIT_MAX) {
    throw new CountersignError('USAGE', `a limit of ${limit} entries: give 1 to ${LIMIT_MAX}`, { limit });
  }
  if (after !== '' && !ENTRY_ID.test(after)) {
    throw new CountersignError(
      'USAGE',
      `${JSON.stringify(after)} is no id of the journal: give one of its ids`,
      { after },
    );
  }
}
