import type { DatabaseSync } from 'node:sqlite';
import type { ClockReading } from '../clock-state.ts';
import { type Row, integer, text } from './rows.ts';

/** The store's time at a reading of the clock. */
export interface Instant {
  readonly nowMs: number;
  /** How far a clock that jumped is ahead; 0 if it has not jumped. */
  readonly aheadMs: number;
}

/**
 * The store's time: the clock's, but never before the latest time that this process has seen or any process
 * has written, and never more than `maxStepMs` ahead of it.
 */
export function createTime(connection: DatabaseSync, maxStepMs: number): (clockMs: number) => Instant {
  const readStored = prepareStoredClock(connection, 'kept, held_ms');
  let seenMs = 0;
  return (clockMs) => {
    const row = readStored();
    seenMs = Math.max(seenMs, integer(row, 'at_ms'));
    const aheadMs = clockMs - seenMs;
    // Until a service has compared the clock, it is unknown how long no service ran.
    const isKept = integer(row, 'kept') === 1;
    const jumped = row['held_ms'] !== null || (isKept && aheadMs > maxStepMs);
    if (jumped) return { nowMs: seenMs, aheadMs: Math.max(1, aheadMs) };
    seenMs = Math.max(seenMs, clockMs);
    return { nowMs: seenMs, aheadMs: 0 };
  };
}

/** How the clock is compared with the stored time. */
export interface ClockRequest {
  /**
   * `keep` advances the stored time, or records a jump. `look` writes nothing. `accept` accepts the clock as
   * it is.
   */
  readonly mode: 'keep' | 'look' | 'accept';
  readonly elapsed: { readonly id: string; readonly elapsedMs: number };
  readonly maxGapMs: number;
}

export interface ClockTable {
  /** Compares the clock with the stored time, and updates it as `mode` says. See clock-state.ts. */
  look(request: ClockRequest, clockMs: number): ClockReading;
}

export function createClockTable(connection: DatabaseSync, maxStepMs: number): ClockTable {
  const readStored = prepareStoredClock(connection, 'clock.*');
  const savePlausible = connection.prepare(
    `UPDATE clock SET now_ms = ?, kept = 1, witness = ?, witness_elapsed_ms = ?, witness_clock_ms = ?,
       held_ms = NULL, held_ahead_ms = NULL`,
  );
  const saveJump = connection.prepare(
    `UPDATE clock SET now_ms = ?, held_ms = coalesce(held_ms, ?),
       held_ahead_ms = max(coalesce(held_ahead_ms, 0), ?)`,
  );
  return {
    look({ mode, elapsed, maxGapMs }, clockMs) {
      const row = readStored();
      const beforeMs = integer(row, 'at_ms');
      const expectedMs = expectedTime(row, elapsed);
      const stored = { row, clockMs, expectedMs };
      const isRight = mode === 'accept' || isPlausible(stored, { maxStepMs, maxGapMs });
      // The kernel's count of elapsed time is right even while the clock is wrong.
      const correctedMs = isRight ? clockMs : Math.min(clockMs, expectedMs ?? beforeMs);
      const nowMs = Math.max(beforeMs, correctedMs);
      const aheadMs = clockMs - nowMs;
      if (mode !== 'look') {
        if (isRight) savePlausible.run(nowMs, elapsed.id, elapsed.elapsedMs, clockMs);
        else if (expectedMs !== undefined) saveJump.run(nowMs, clockMs, aheadMs);
      }
      return { found: isRight ? 'right' : 'jumped', clockMs, nowMs, maxAheadMs: aheadMs };
    },
  };
}

interface StoredClock {
  readonly row: Row;
  readonly clockMs: number;
  readonly expectedMs: number | undefined;
}

function isPlausible(
  { row, clockMs, expectedMs }: StoredClock,
  { maxStepMs, maxGapMs }: { readonly maxStepMs: number; readonly maxGapMs: number },
): boolean {
  if (integer(row, 'kept') === 0) return true;
  const aheadMs = clockMs - integer(row, 'at_ms');
  const heldMs = row['held_ms'] === null ? undefined : integer(row, 'held_ms');
  if (heldMs === undefined && aheadMs <= maxStepMs) return true;
  if (expectedMs !== undefined) return clockMs <= expectedMs + maxStepMs;
  // A clock that jumped and only ran on is further ahead than before; a clock that is less far ahead was set
  // back.
  return aheadMs <= maxGapMs && (heldMs === undefined || clockMs < heldMs);
}

/**
 * The time by the kernel's count of elapsed time since the clock was last right. Undefined after a restart of
 * the machine, because the count then starts again.
 */
function expectedTime(row: Row, elapsed: ClockRequest['elapsed']): number | undefined {
  if (text(row, 'witness') !== elapsed.id) return undefined;
  const passedMs = elapsed.elapsedMs - integer(row, 'witness_elapsed_ms');
  return passedMs < 0 ? undefined : integer(row, 'witness_clock_ms') + passedMs;
}

/** Reads columns of the clock's row, and as `at_ms` the latest time that any process has written. */
function prepareStoredClock(connection: DatabaseSync, columns: string): () => Row {
  const find = connection.prepare(
    `SELECT ${columns},
       max(control.at_ms, clock.now_ms,
         coalesce((SELECT at_ms FROM journal ORDER BY id DESC LIMIT 1), 0)) AS at_ms
     FROM control, clock`,
  );
  return () => find.get() ?? {};
}
