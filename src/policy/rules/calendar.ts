/** A period [startMs, endMs) of a calendar in a time zone. */
export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

export type PeriodUnit = 'day' | 'week' | 'month';

const DAY_MS = 86_400_000;

/**
 * The day, the week (from Monday) or the month that holds an instant, between midnights of the zone: so a day
 * has 23 or 25 hours where clocks change, and begins when its date begins where midnight itself is skipped.
 */
export function createCalendar(unit: PeriodUnit, zone: string): (nowMs: number) => Period {
  const wall = wallClock(zone);
  return (nowMs) => {
    let [start, end] = datesAround(unit, wall(nowMs));
    let period = { startMs: midnight(start, wall), endMs: midnight(end, wall) };
    // Where a clock is set back over midnight, a date comes twice; its second hour belongs to the day after.
    while (nowMs >= period.endMs) {
      [start, end] = datesAround(unit, end);
      period = { startMs: period.endMs, endMs: midnight(end, wall) };
    }
    return period;
  };
}

/**
 * False for a zone that this runtime does not know, and for bare offsets, which know nothing of summer time.
 */
export function isZone(zone: string): boolean {
  try {
    return (
      /^[A-Za-z]/.test(zone) &&
      new Intl.DateTimeFormat('en', { timeZone: zone }) instanceof Intl.DateTimeFormat
    );
  } catch {
    return false;
  }
}

/** From an instant to what the zone's clocks show then, written as if that were UTC. */
export type WallClock = (atMs: number) => number;

export function wallClock(zone: string): WallClock {
  const format = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    calendar: 'gregory',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (atMs) => {
    const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? Number.NaN;
    const shownMs = Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second'),
    );
    return shownMs + (((atMs % 1000) + 1000) % 1000);
  };
}

/** No zone changes its clocks twice within this. */
const STEP_MS = 3 * 3_600_000;

/**
 * The part of [fromMs, untilMs) around an instant of it in which clocks only run on, set neither forward nor
 * back: there what they show is the instant and a constant.
 */
export function steadyAround(atMs: number, { startMs, endMs }: Period, wall: WallClock): Period {
  const offset = wall(atMs) - atMs;
  const steady = (instant: number): boolean => wall(instant) - instant === offset;
  let [first, last] = [atMs, atMs];
  while (first > startMs) {
    const earlier = Math.max(first - STEP_MS, startMs);
    if (!steady(earlier)) {
      first = boundary(earlier, first, steady);
      break;
    }
    first = earlier;
  }
  while (last < endMs - 1) {
    const later = Math.min(last + STEP_MS, endMs - 1);
    if (!steady(later)) {
      last = boundary(last, later, (instant) => !steady(instant)) - 1;
      break;
    }
    last = later;
  }
  return { startMs: first, endMs: last + 1 };
}

/**
 * The first instant after `before`, and at or before `after`, for which `holds`, given that from some instant
 * on it does.
 */
function boundary(before: number, after: number, holds: (atMs: number) => boolean): number {
  let [early, late] = [before, after];
  while (late - early > 1) {
    const between = Math.floor((early + late) / 2);
    if (holds(between)) late = between;
    else early = between;
  }
  return late;
}

/**
 * The first date of the period that holds a wall-clock time, and the first after it, as midnights on the
 * wall.
 */
function datesAround(unit: PeriodUnit, wallMs: number): [number, number] {
  const date = new Date(wallMs);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (unit === 'month') return [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)];
  const first = unit === 'week' ? day - ((date.getUTCDay() + 6) % 7) : day;
  return [Date.UTC(year, month, first), Date.UTC(year, month, first + (unit === 'week' ? 7 : 1))];
}

/** The first instant whose wall-clock time is a midnight or, where clocks jump over that, past it. */
function midnight(midnightMs: number, wall: WallClock): number {
  const offsets = [midnightMs - DAY_MS, midnightMs + DAY_MS].map((atMs) => wall(atMs) - atMs);
  const shownAt = offsets.map((offset) => midnightMs - offset).sort((a, b) => a - b);
  const found = shownAt.find((atMs) => wall(atMs) === midnightMs);
  if (found !== undefined) return found;
  return boundary(midnightMs - DAY_MS, midnightMs + DAY_MS, (atMs) => wall(atMs) >= midnightMs);
}
