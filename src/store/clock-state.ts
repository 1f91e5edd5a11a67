import { CountersignError } from '../errors.ts';

/*
 * The store's time is its clock's (Redis' own, or this machine's for the embedded store), and never runs
 * backwards: the latest instant is remembered. So a clock that jumps ahead does harm twice. Windows look
 * over, and limits pass once more; and once such an instant is written, time stands still for as long as the
 * jump was. Therefore a clock that is more than `maxStepMs` ahead of the remembered time is neither written
 * nor believed. Whoever runs moves that time on every few seconds, so that hours without a callback are no
 * jump. What else makes a clock late is told from a jump by a witness, what the kernel counts independently
 * of the clock (see Elapsed): after an outage, a suspended machine, or, in the embedded store, a restart on
 * the same boot. Where there is none, because nobody ran, up to `maxGapMs` counts as time in which nobody
 * ran.
 */

/** How far the clock may be ahead of the time that is remembered, in milliseconds. */
export interface ClockBounds {
  /** While somebody runs. */
  readonly maxStepMs: number;
  /** After a time in which nobody ran. */
  readonly maxGapMs: number;
}

/** How the store's clock stands to the store's time. */
export interface ClockState {
  /**
   * `jumped`: ahead of time by more than may be, so nothing is approved until it is put right or accepted.
   * `behind`: it was set back, and time stands still until it has caught up.
   */
  readonly state: 'right' | 'jumped' | 'behind';
  readonly clockMs: number;
  readonly nowMs: number;
  /** By how much the clock is ahead of time; negative where it is behind. */
  readonly aheadMs: number;
  /** A sentence with the cure, where it is not right. */
  readonly because: string;
}

/**
 * What was found in the store: `forgotten` is a jump by which counters may have been lost, also once the
 * clock is right again.
 */
export interface ClockFound {
  readonly found: 'right' | 'jumped' | 'forgotten';
  readonly clockMs: number;
  readonly nowMs: number;
  /** The most by which it was found ahead in this jump. */
  readonly heldAheadMs: number;
}

/** `whose` is the clock's, such as `Redis`. */
export function clockStateOf(
  { found, clockMs, nowMs, heldAheadMs }: ClockFound,
  maxStepMs: number,
  whose: string,
): ClockState {
  const aheadMs = clockMs - nowMs;
  const known = { clockMs, nowMs, aheadMs };
  if (found !== 'right') {
    const because =
      found === 'forgotten' ? forgotten(whose, heldAheadMs) : jumped(whose, { aheadMs, clockMs, nowMs });
    return { ...known, state: 'jumped', because };
  }
  if (-aheadMs <= maxStepMs) return { ...known, state: 'right', because: 'the clock and the time agree' };
  const because = `the clock of ${whose} is ${spanText(-aheadMs)} behind the store's time, which stands still until it has caught up, and so frees no limit: look whether NTP runs there`;
  return { ...known, state: 'behind', because };
}

function jumped(whose: string, { aheadMs, clockMs, nowMs }: Omit<ClockState, 'state' | 'because'>): string {
  const instants = `it says ${instantText(clockMs)}, and the store's time is ${instantText(nowMs)}`;
  return `the clock of ${whose} is ${spanText(aheadMs)} ahead of the store's time (${instants}), so nothing is approved: it jumped, or nobody ran for as long. If it is wrong, put it right, and all goes on by itself; if it is right, \`countersign clock accept\``;
}

function forgotten(whose: string, heldAheadMs: number): string {
  return `the clock of ${whose} is, or was, ${spanText(heldAheadMs)} ahead of the store's time, so nothing is approved: it jumped, or nobody ran for as long. It may have expired by that clock what limits still count: if it is wrong, put it right, and look at the limits; then \`countersign clock accept\``;
}

/** For whoever would write an instant that can't be known. */
export function clockJumped(aheadMs: number): CountersignError {
  return new CountersignError(
    'CLOCK_JUMPED',
    `the store's clock is ${spanText(aheadMs)} ahead of its time, so what is added now would look older than it is: put the clock right, or, if it is right, \`countersign clock accept\`, then try again`,
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
export function spanText(spanMs: number): string {
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

const LAST_INSTANT_MS = 8_640_000_000_000_000;

const instantText = (atMs: number): string =>
  Math.abs(atMs) > LAST_INSTANT_MS ? `${atMs} ms` : new Date(atMs).toISOString();
