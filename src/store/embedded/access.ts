import type { DatabaseSync } from 'node:sqlite';
import type { Access, AccessRecord } from '../store.ts';
import { integer, text } from './rows.ts';

export interface AccessTable {
  find(id: string, nowMs: number): AccessRecord | undefined;
  change(change: Parameters<Access['changeAccess']>[0], nowMs: number): boolean;
  /** Deletes at most `limit` records that are kept no longer. */
  expire(nowMs: number, limit: number): void;
}

export function createAccessTable(connection: DatabaseSync): AccessTable {
  const find = connection.prepare(
    'SELECT version, value FROM access WHERE id = ? AND (until_ms = 0 OR until_ms > ?)',
  );
  const save = connection.prepare(
    'INSERT OR REPLACE INTO access (id, version, value, until_ms) VALUES (?, ?, ?, ?)',
  );
  const drop = connection.prepare('DELETE FROM access WHERE id = ?');
  const expire = connection.prepare(
    `DELETE FROM access WHERE id IN (
       SELECT id FROM access WHERE until_ms <> 0 AND until_ms <= ? LIMIT ?)`,
  );
  const found: AccessTable['find'] = (id, nowMs) => {
    const row = find.get(id, nowMs);
    return row && { version: integer(row, 'version'), value: text(row, 'value') };
  };
  return {
    find: found,
    change({ id, expected, value, keepMs }, nowMs) {
      const version = found(id, nowMs)?.version ?? 0;
      if (version !== expected) return false;
      if (value === undefined) drop.run(id);
      else save.run(id, version + 1, value, keepMs === 0 ? 0 : nowMs + keepMs);
      return true;
    },
    expire: (nowMs, limit) => void expire.run(nowMs, limit),
  };
}
