import type { Clock } from '../../values/clock.ts';
import type { ClockBounds } from '../clock-state.ts';
import type { Elapsed } from '../elapsed.ts';
import type { Connection } from './connection.ts';
import type { Keys } from './keys.ts';
import type { Memory } from './lost-memory.ts';
import type { Witness } from './time.ts';

/** For how long Redis keeps what it was told, in milliseconds; longer than the longest window. */
export interface Retention {
  /**
   * A subject, counted from the last time that it was asked about; a mark, from its last approval; an order,
   * from its expiry.
   */
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
  /** Without them, every step of the clock is believed. */
  readonly clockBounds: ClockBounds | undefined;
  readonly elapsed: Elapsed;
  /** By the key of the control. */
  readonly witnesses: Map<string, Witness>;
}

/** The clock as scripts are given it: without one they ask Redis. See include/time.lua. */
export function clockArgument({ clock, clockBounds }: RedisParts): string {
  const at = clock === undefined ? '' : String(clock());
  return clockBounds === undefined ? at : `${at}+${clockBounds.maxStepMs}`;
}

/** The first arguments of scripts that write to the journal. */
export function journalArguments(parts: RedisParts): string[] {
  return [clockArgument(parts), String(parts.retention.journalMs)];
}
