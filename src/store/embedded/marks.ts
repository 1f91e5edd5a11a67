import type { DatabaseSync } from 'node:sqlite';
import { integer, text } from './rows.ts';

export interface Marks {
  /** When the mark was made; 0 if it never was. */
  madeAtMs(source: string, key: string): number;
  /** Makes the mark, or extends the life of one that exists. */
  make(source: string, key: string, nowMs: number): void;
  /** Deletes at most `limit` marks that no approval has claimed since the instant. */
  expire(beforeMs: number, limit: number): void;
}

/** Marks of earlier approvals, by the keys that mark claims name. */
export function createMarks(connection: DatabaseSync): Marks {
  const find = connection.prepare('SELECT made_ms FROM mark WHERE source = ? AND key = ?');
  const save = connection.prepare(
    `INSERT INTO mark (source, key, made_ms, claimed_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET claimed_ms = excluded.claimed_ms`,
  );
  const expired = connection.prepare('SELECT source, key FROM mark WHERE claimed_ms < ? LIMIT ?');
  const drop = connection.prepare('DELETE FROM mark WHERE source = ? AND key = ?');
  return {
    madeAtMs(source, key) {
      const row = find.get(source, key);
      return row === undefined ? 0 : integer(row, 'made_ms');
    },
    make(source, key, nowMs) {
      save.run(source, key, nowMs, nowMs);
    },
    expire(beforeMs, limit) {
      for (const row of expired.all(beforeMs, limit)) drop.run(text(row, 'source'), text(row, 'key'));
    },
  };
}
