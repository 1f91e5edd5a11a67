import type { Clock } from '../../values/clock.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { Memory } from './lost-memory.ts';

/** For how long Redis keeps what it was told, in milliseconds; longer than the longest window. */
export interface Retention {
  /** A subject, counted from the last time that it was asked about; a mark, from its last approval; an order, from its expiry. */
  readonly subjectsMs: number;
  /** A journal entry, and a change of prices in their history; they may stay a little longer. */
  readonly journalMs: number;
}

/** What every verb works with. */
export interface RedisParts {
  readonly connection: Connection;
  readonly keys: Keys;
  readonly retention: Retention;
  readonly memory: Memory;
  /** Only for tests; else undefined, and the time is that of Redis. */
  readonly clock: Clock | undefined;
}

/** The clock as scripts are given it: empty where they ask Redis. */
export function clockArgument(parts: RedisParts): string {
  return parts.clock === undefined ? '' : String(parts.clock());
}

/** The first arguments of scripts that write to the journal. */
export function journalArguments(parts: RedisParts): string[] {
  return [clockArgument(parts), String(parts.retention.journalMs)];
}
