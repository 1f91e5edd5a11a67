import type { DatabaseSync } from 'node:sqlite';
import { CountersignError } from '../../errors.ts';
import { text } from './rows.ts';
import { type SubjectRecord, subjectRecord } from './subject.ts';

export interface Subjects {
  /** Throws STORE_CORRUPT if what is stored can't be read. */
  find(source: string, subject: string): SubjectRecord | undefined;
  save(source: string, subject: string, record: SubjectRecord, nowMs: number): void;
  /** Deletes at most `limit` subjects that last changed before the instant. */
  expire(beforeMs: number, limit: number): void;
}

export function createSubjects(connection: DatabaseSync): Subjects {
  const find = connection.prepare('SELECT record FROM subject WHERE source = ? AND subject = ?');
  const save = connection.prepare(
    `INSERT INTO subject (source, subject, record, changed_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET record = excluded.record, changed_ms = excluded.changed_ms`,
  );
  const expired = connection.prepare('SELECT source, subject FROM subject WHERE changed_ms < ? LIMIT ?');
  const drop = connection.prepare('DELETE FROM subject WHERE source = ? AND subject = ?');
  return {
    find(source, subject) {
      const row = find.get(source, subject);
      return row === undefined ? undefined : recordOf(text(row, 'record'), source, subject);
    },
    save(source, subject, record, nowMs) {
      save.run(source, subject, JSON.stringify(record), nowMs);
    },
    expire(beforeMs, limit) {
      for (const row of expired.all(beforeMs, limit)) drop.run(text(row, 'source'), text(row, 'subject'));
    },
  };
}

function recordOf(stored: string, source: string, subject: string): SubjectRecord {
  try {
    return subjectRecord.parse(JSON.parse(stored));
  } catch (thrown) {
    throw new CountersignError(
      'STORE_CORRUPT',
      `what the store holds about ${subject} of ${source} can't be read: restore the store from a backup`,
      { source, subject },
      thrown,
    );
  }
}
