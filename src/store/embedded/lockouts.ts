import type { DatabaseSync } from 'node:sqlite';
import type { RefusalsClaim, RefusalsResult } from '../../claims/refusals.ts';
import { missingLockout } from '../arguments.ts';
import type { Lockout, Lockouts } from '../store.ts';
import type { JournalTable } from './journal.ts';
import { type Row, integer, text } from './rows.ts';

const PAGE_SIZE = 1000;

/** Refusals by key, and the keys that are locked out: see RefusalsClaim. */
export interface LockoutTables {
  check(source: string, claim: RefusalsClaim, nowMs: number): RefusalsResult;
  /** What the claim finds once a refusal of the subject is counted. */
  refused(source: string, claim: RefusalsClaim, subject: string, nowMs: number): RefusalsResult;
  /** Counts a refusal of the subject, with what `refused` has returned. */
  refuse(source: string, claim: RefusalsClaim, subject: string, refused: RefusalsResult, nowMs: number): void;
  /** The lock-outs that stand after an id, in the order of their ids: a page, empty at the end. */
  page(source: string, after: string, nowMs: number): readonly Lockout[];
  /** Lifts a lock-out, if there is one, without a journal entry. */
  drop(source: string, id: string): void;
  lift(lift: Parameters<Lockouts['liftLockout']>[0], nowMs: number): Lockout;
  /** Deletes at most `limit` refusals and lock-outs that are over. */
  expire(nowMs: number, limit: number): void;
}

export function createLockoutTables(connection: DatabaseSync, journal: JournalTable): LockoutTables {
  const operations = createRefusals(connection);
  const find = connection.prepare(
    'SELECT * FROM lockout WHERE source = ? AND key = ? AND (until_ms = 0 OR until_ms > ?)',
  );
  const save = connection.prepare(
    `INSERT OR REPLACE INTO lockout (source, key, policy, whose, refusals, since_ms, until_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
  );
  const drop = connection.prepare('DELETE FROM lockout WHERE source = ? AND key = ?');
  const pageAfter = connection.prepare(
    `SELECT * FROM lockout WHERE source = ? AND key > ? AND (until_ms = 0 OR until_ms > ?)
     ORDER BY key LIMIT ${PAGE_SIZE}`,
  );
  const expire = connection.prepare(
    `DELETE FROM lockout WHERE (source, key) IN (
       SELECT source, key FROM lockout WHERE until_ms > 0 AND until_ms <= ? LIMIT ?)`,
  );
  const check: LockoutTables['check'] = (source, { key }, nowMs) => {
    const row = find.get(source, key, nowMs);
    if (row === undefined) {
      const refusals = operations.count(source, key, nowMs);
      return { type: 'refusals', holds: true, refusals, lockedAtMs: 0, lockedUntilMs: 0 };
    }
    const { refusals, sinceMs, untilMs } = lockoutOf(row);
    return { type: 'refusals', holds: false, refusals, lockedAtMs: sinceMs, lockedUntilMs: untilMs };
  };
  return {
    check,
    refused(source, claim, subject, nowMs) {
      const found = check(source, claim, nowMs);
      if (!found.holds) return found;
      const { key, after, forMs } = claim;
      const refusals = found.refusals + (operations.has(source, key, subject, nowMs) ? 0 : 1);
      if (refusals < after) return { ...found, refusals };
      const lockedUntilMs = forMs === 0 ? 0 : nowMs + forMs;
      return { type: 'refusals', holds: true, refusals, lockedAtMs: nowMs, lockedUntilMs };
    },
    refuse(source, claim, subject, { holds, refusals, lockedAtMs, lockedUntilMs }, nowMs) {
      if (!holds) return;
      const { key, withinMs, policy, whose } = claim;
      // Another claim of this refusal may have locked out the key for longer.
      const row = find.get(source, key, nowMs);
      const standsUntilMs = row === undefined ? 0 : endOf(lockoutOf(row).untilMs);
      if (row !== undefined && (lockedAtMs === 0 || standsUntilMs >= endOf(lockedUntilMs))) return;
      if (lockedAtMs === 0) {
        operations.add(source, key, subject, nowMs + withinMs);
        return;
      }
      operations.drop(source, key);
      save.run(source, key, policy, whose, refusals, lockedAtMs, lockedUntilMs);
    },
    page: (source, after, nowMs) => pageAfter.all(source, after, nowMs).map(lockoutOf),
    drop: (source, id) => void drop.run(source, id),
    lift({ source, id, by, message }, nowMs) {
      const row = find.get(source, id, nowMs);
      if (row === undefined) throw missingLockout(source, id);
      const { source: _source, ...lockout } = lockoutOf(row);
      drop.run(source, id);
      const detail = JSON.stringify({ change: 'lift', by, message, lockout });
      journal.append({ source, atMs: nowMs, type: 'lockout', detail });
      return { source, ...lockout };
    },
    expire(nowMs, limit) {
      operations.expire(nowMs, limit);
      expire.run(nowMs, limit);
    },
  };
}

/** The operations that were refused, by key. */
function createRefusals(connection: DatabaseSync) {
  const count = connection.prepare(
    'SELECT count(*) AS refusals FROM refusal WHERE source = ? AND key = ? AND until_ms > ?',
  );
  const find = connection.prepare(
    'SELECT 1 FROM refusal WHERE source = ? AND key = ? AND subject = ? AND until_ms > ?',
  );
  const save = connection.prepare(
    `INSERT INTO refusal (source, key, subject, until_ms) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET until_ms = max(until_ms, excluded.until_ms)`,
  );
  const drop = connection.prepare('DELETE FROM refusal WHERE source = ? AND key = ?');
  const expire = connection.prepare(
    `DELETE FROM refusal WHERE (source, key, subject) IN (
       SELECT source, key, subject FROM refusal WHERE until_ms <= ? LIMIT ?)`,
  );
  return {
    count(source: string, key: string, nowMs: number): number {
      const row = count.get(source, key, nowMs);
      return row === undefined ? 0 : integer(row, 'refusals');
    },
    has: (source: string, key: string, subject: string, nowMs: number) =>
      find.get(source, key, subject, nowMs) !== undefined,
    add: (source: string, key: string, subject: string, untilMs: number) =>
      void save.run(source, key, subject, untilMs),
    drop: (source: string, key: string) => void drop.run(source, key),
    expire: (nowMs: number, limit: number) => void expire.run(nowMs, limit),
  };
}

const endOf = (untilMs: number): number => (untilMs === 0 ? Infinity : untilMs);

function lockoutOf(row: Row): Lockout {
  return {
    source: text(row, 'source'),
    id: text(row, 'key'),
    policy: text(row, 'policy'),
    whose: text(row, 'whose'),
    refusals: integer(row, 'refusals'),
    sinceMs: integer(row, 'since_ms'),
    untilMs: integer(row, 'until_ms'),
  };
}
