import { CountersignError } from '../errors.ts';

/*
 * The store's time follows its clock (that of Redis, or of this machine for the embedded store) and never
 * runs backwards: the store keeps the latest instant. A clock that jumps ahead would cause two problems.
 * Windows would end early, so that limits could be used again. And once the store has written such an
 * instant, its time would stand still until the real time has caught up. Therefore a clock that is more than
 * `maxStepMs` ahead of the store's time is neither used nor written. Services advance the store's time every
 * few seconds, so that hours without a callback do not look like a jump.
 *
 * An outage, a suspended machine or, for the embedded store, a restart on the same boot look like a jump too.
 * They are recognized by the kernel's count of elapsed time, which does not depend on the clock (see
 * Elapsed). If no process was running to compare it, a difference of up to `maxGapMs` counts as time without
 * a process.
 */

/** How far the clock may be ahead of the store's time, in milliseconds. */
export interface ClockBounds {
  /** While a process runs. */
  readonly maxStepMs: number;
  /** After a time without any process. */
  readonly maxGapMs: number;
}

/** The clock, compared with the store's time. */
export interface ClockState {
  /**
   * `jumped`: the clock is too far ahead, so nothing is approved until it is corrected or accepted. `behind`:
   * the clock was set back, and the store's time stands still until it has caught up.
   */
  readonly state: 'right' | 'jumped' | 'behind';
  readonly clockMs: number;
  readonly nowMs: number;
  /** How far the clock is ahead of the store's time; negative if it is behind. */
  readonly aheadMs: number;
  /** A sentence with the fix, if the clock is not right. */
  readonly because: string;
}

/**
 * What the store found. `forgotten`: during a jump, Redis may have deleted counters that limits still need,
 * even if the clock is right again.
 */
export interface ClockReading {
  readonly found: 'right' | 'jumped' | 'forgotten';
  readonly clockMs: number;
  readonly nowMs: number;
  /**
   * On Redis, the most that the clock was found ahead during this jump. In the embedded store, how far it is
   * ahead now.
   */
  readonly maxAheadMs: number;
}

/** `whose` names the machine of the clock, such as `Redis`. */
export function clockStateOf(
  { found, clockMs, nowMs, maxAheadMs }: ClockReading,
  maxStepMs: number,
  whose: string,
): ClockState {
  const aheadMs = clockMs - nowMs;
  const known = { clockMs, nowMs, aheadMs };
  if (found !== 'right') {
    const because =
      found === 'forgotten' ? forgotten(whose, maxAheadMs) : jumped(whose, { aheadMs, clockMs, nowMs });
    return { ...known, state: 'jumped', because };
  }
  if (-aheadMs <= maxStepMs) return { ...known, state: 'right', because: 'the clock and the time agree' };
  const because =
    `the clock of ${whose} is ${formatSpan(-aheadMs)} behind the store's time, which stands still until ` +
    'the clock has caught up, so that no limit is freed; check that NTP runs there';
  return { ...known, state: 'behind', because };
}

function jumped(whose: string, { aheadMs, clockMs, nowMs }: Omit<ClockState, 'state' | 'because'>): string {
  const instants = `it says ${instantText(clockMs)}, and the store's time is ${instantText(nowMs)}`;
  return (
    `the clock of ${whose} is ${formatSpan(aheadMs)} ahead of the store's time (${instants}), so nothing ` +
    'is approved: it jumped, or no process ran for that long. If the clock is wrong, correct it, and ' +
    'approvals go on by themselves; if it is right, run `countersign clock accept`'
  );
}

function forgotten(whose: string, maxAheadMs: number): string {
  return (
    `the clock of ${whose} is, or was, ${formatSpan(maxAheadMs)} ahead of the store's time, so nothing ` +
    'is approved: it jumped, or no process ran for that long. Amounts that limits still need may have ' +
    'expired by that clock. If the clock is wrong, correct it, and check the limits; then run ' +
    '`countersign clock accept`'
  );
}

/** The error of a write that needs the time, while the time can't be known. */
export function clockJumped(aheadMs: number): CountersignError {
  return new CountersignError(
    'CLOCK_JUMPED',
    `the store's clock is ${formatSpan(aheadMs)} ahead of its time, so a new entry would look older than ` +
      'it is; correct the clock or, if it is right, run `countersign clock accept`, then try again',
    { aheadMs },
  );
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

/** `2 h 5 min`: the two largest units. */
export function formatSpan(spanMs: number): string {
  const first = UNITS.findIndex(([, unitMs]) => spanMs >= unitMs);
  const parts: string[] = [];
  let restMs = spanMs;
  for (const [unit, unitMs] of UNITS.slice(Math.max(0, first), first + 2)) {
    const count = Math.floor(restMs / unitMs);
    restMs -= count * unitMs;
    if (count > 0) parts.push(`${count} ${unit}`);
  }
  return first === -1 ? '0 ms' : parts.join(' ');
}

/** The last that a date can be. */
export const LAST_INSTANT_MS = 8_640_000_000_000_000;

const instantText = (atMs: number): string =>
  Math.abs(atMs) > LAST_INSTANT_MS ? `${atMs} ms` : new Date(atMs).toISOString();
