import type { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../values/clock.ts';
import { integer } from './rows.ts';

/** A clock that stands still until the other has caught up, where that goes back. */
export function steady(clock: Clock): Clock {
  let seenMs = 0;
  return () => (seenMs = Math.max(seenMs, clock()));
}

/** The store's time: the clock's, but never before what this process has seen or any process has written. */
export function createTime(connection: DatabaseSync, clock: Clock): Clock {
  const written = connection.prepare(
    `SELECT max(at_ms, coalesce((SELECT at_ms FROM journal ORDER BY id DESC LIMIT 1), 0)) AS at_ms FROM control`,
  );
  let seenMs = 0;
  return () => {
    seenMs = Math.max(seenMs, clock(), integer(written.get() ?? {}, 'at_ms'));
    return seenMs;
  };
}
