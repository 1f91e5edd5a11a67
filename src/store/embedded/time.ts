import type { DatabaseSync } from 'node:sqlite';
import type { ClockFound } from '../clock-state.ts';
import { type Row, integer, text } from './rows.ts';

/** The store's time at a reading of the clock. */
export interface Instant {
  readonly nowMs: number;
  /** By how much the clock is ahead, if it is not believed; else 0. */
  readonly aheadMs: number;
}

/**
 * The store's time: the clock's, but never before what this process has seen or any process has written, nor
 * far ahead of it.
 */
export function createTime(connection: DatabaseSync, maxStepMs: number): (clockMs: number) => Instant {
  const remembered = rememberedBy(connection, 'kept, held_ms');
  let seenMs = 0;
  return (clockMs) => {
    const row = remembered();
    seenMs = Math.max(seenMs, integer(row, 'at_ms'));
    const aheadMs = clockMs - seenMs;
    // A store from before time was remembered says nothing of how long nobody ran.
    const isKept = integer(row, 'kept') === 1;
    const jumped = row['held_ms'] !== null || (isKept && aheadMs > maxStepMs);
    if (jumped) return { nowMs: seenMs, aheadMs: Math.max(1, aheadMs) };
    seenMs = Math.max(seenMs, clockMs);
    return { nowMs: seenMs, aheadMs: 0 };
  };
}

/** Columns of the clock's row, and as `at_ms` the latest time that any process has written. */
function rememberedBy(connection: DatabaseSync, columns: string): () => Row {
  const find = connection.prepare(
    `SELECT ${columns},
       max(control.at_ms, clock.now_ms,
         coalesce((SELECT at_ms FROM journal ORDER BY id DESC LIMIT 1), 0)) AS at_ms
     FROM control, clock`,
  );
  return () => find.get() ?? {};
}

/** What is known when the clock is looked at. */
export interface ClockLook {
  /** `accept`: the clock is taken as it stands. */
  readonly mode: 'keep' | 'look' | 'accept';
  readonly elapsed: { readonly id: string; readonly elapsedMs: number };
  readonly maxGapMs: number;
}

export interface ClockTable {
  /** Moves the remembered time on with the clock, unless that has jumped ahead. See clock-state.ts. */
  look(look: ClockLook, clockMs: number): ClockFound;
}

export function createClockTable(connection: DatabaseSync, maxStepMs: number): ClockTable {
  const remembered = rememberedBy(connection, 'clock.*');
  const believe = connection.prepare(
    `UPDATE clock SET now_ms = ?, kept = 1, witness = ?, witness_elapsed_ms = ?, witness_clock_ms = ?,
       held_ms = NULL, held_ahead_ms = NULL`,
  );
  const hold = connection.prepare(
    `UPDATE clock SET now_ms = ?, held_ms = coalesce(held_ms, ?), held_ahead_ms = max(coalesce(held_ahead_ms, 0), ?)`,
  );
  return {
    look({ mode, elapsed, maxGapMs }, clockMs) {
      const row = remembered();
      const beforeMs = integer(row, 'at_ms');
      const witnessMs = witnessOf(row, elapsed);
      const known = { row, clockMs, witnessMs };
      const believed = mode === 'accept' || isBelieved(known, { maxStepMs, maxGapMs });
      // What the kernel counted is true also while the clock is not.
      const trueMs = believed ? clockMs : Math.min(clockMs, witnessMs ?? beforeMs);
      const nowMs = Math.max(beforeMs, trueMs);
      const aheadMs = clockMs - nowMs;
      if (mode !== 'look') {
        if (believed) believe.run(nowMs, elapsed.id, elapsed.elapsedMs, clockMs);
        else if (witnessMs !== undefined) hold.run(nowMs, clockMs, aheadMs);
      }
      return { found: believed ? 'right' : 'jumped', clockMs, nowMs, heldAheadMs: aheadMs };
    },
  };
}

interface Known {
  readonly row: Row;
  readonly clockMs: number;
  /**
   * What the time must be by what was counted since the clock was last believed; undefined if nobody counted.
   */
  readonly witnessMs: number | undefined;
}

function isBelieved(
  { row, clockMs, witnessMs }: Known,
  { maxStepMs, maxGapMs }: { readonly maxStepMs: number; readonly maxGapMs: number },
): boolean {
  if (integer(row, 'kept') === 0) return true;
  const aheadMs = clockMs - integer(row, 'at_ms');
  const heldMs = row['held_ms'] === null ? undefined : integer(row, 'held_ms');
  if (heldMs === undefined && aheadMs <= maxStepMs) return true;
  if (witnessMs !== undefined) return clockMs <= witnessMs + maxStepMs;
  // Time alone takes a clock that jumped further ahead: one that is less far was set back.
  return aheadMs <= maxGapMs && (heldMs === undefined || clockMs < heldMs);
}

function witnessOf(row: Row, elapsed: ClockLook['elapsed']): number | undefined {
  if (text(row, 'witness') !== elapsed.id) return undefined;
  const passedMs = elapsed.elapsedMs - integer(row, 'witness_elapsed_ms');
  return passedMs < 0 ? undefined : integer(row, 'witness_clock_ms') + passedMs;
}
