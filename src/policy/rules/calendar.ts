import { closestMatch } from '../../values/closest-match.ts';
import { formatInput } from '../fault.ts';
import type { RuleContext } from './rule.ts';

/*
 * All calculations with dates and time zones: calendar periods and opening hours. Outside this file an
 * instant is a number of milliseconds since the epoch. The functions that depend on the UTC offset of a zone
 * are at the end of the file.
 */

/** The instants in [startMs, endMs). */
export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

export type PeriodUnit = 'day' | 'week' | 'month';

/**
 * The day, the week (from Monday) or the month of an instant, from midnight to midnight in the zone. A day
 * has 23 or 25 hours when the clocks change. It starts at its first instant if the clocks skip midnight.
 */
export function createCalendar(unit: PeriodUnit, zone: string): (nowMs: number) => Period {
  const wall = wallClock(zone);
  return (nowMs) => {
    let [start, end] = datesAround(unit, wall(nowMs));
    let period = { startMs: midnight(start, wall), endMs: midnight(end, wall) };
    // If the clocks are set back past midnight, the end of a date occurs twice. The second time belongs to
    // the next day.
    while (nowMs >= period.endMs) {
      [start, end] = datesAround(unit, end);
      period = { startMs: period.endMs, endMs: midnight(end, wall) };
    }
    return period;
  };
}

/** Reports a fault for text that is no time zone. */
export function checkZone(zone: string, context: RuleContext): boolean {
  if (isZone(zone)) return true;
  const meant = closestMatch(zone, Intl.supportedValuesOf('timeZone'));
  context.fault(
    ['zone'],
    `${formatInput(zone)} is no time zone`,
    `write an IANA name, like ${meant ?? 'Europe/Berlin or UTC'}`,
  );
  return false;
}

/** Whether this runtime supports the zone. An offset alone is not a zone, since it has no summer time. */
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

export const DAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type DayName = (typeof DAY_NAMES)[number];

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** How many days ahead the next opening is searched. */
export const AHEAD_DAYS = 31;

/**
 * In milliseconds since midnight; the end is exclusive. A span that ends at or before its start ends on the
 * next day.
 */
interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

export interface OpeningHours {
  readonly days: ReadonlySet<DayName>;
  readonly spans: readonly Span[];
  /** Dates like `2026-12-25`. */
  readonly holidays: ReadonlySet<string>;
}

/** A period of at most a day in which the opening state and the UTC offset are constant. */
export interface ConstantPeriod extends Period {
  readonly open: boolean;
  /** The UTC offset: local time minus UTC. */
  readonly offsetMs: number;
}

export interface Opening {
  /** The stretch that contains an instant. */
  readonly at: (nowMs: number) => ConstantPeriod;
  /** The next opening after a closed stretch; undefined if it is more than 31 days ahead. */
  readonly after: (closed: ConstantPeriod) => number | undefined;
}

/**
 * Reads `09:00-17:30`. Undefined for other text, and for a span without length. `24:00` can only be the end.
 */
export function readSpan(text: string): Span | undefined {
  const match = /^([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)$/.exec(text);
  if (match === null) return undefined;
  const [, hour = '', minute = '', endHour = '24', endMinute = '00'] = match;
  const span = { startMs: clockMs(hour, minute), endMs: clockMs(endHour, endMinute) };
  return span.startMs === span.endMs ? undefined : span;
}

/** Whether the text is an existing date, like `2026-12-25`. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const atMs = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(atMs) && dateOf(atMs) === text;
}

/**
 * The opening hours by the clocks of the zone. An hour that the clocks repeat counts twice. A time that the
 * clocks skip is the first instant after it. A span past midnight belongs to the day on which it starts. A
 * holiday is closed from midnight to midnight, and no span starts on it.
 */
export function createOpening(hours: OpeningHours, zone: string): Opening {
  const wall = wallClock(zone);
  const times = [...new Set([0, ...hours.spans.flatMap(({ startMs, endMs }) => [startMs, endMs]), DAY_MS])];
  times.sort((a, b) => a - b);
  const at = (nowMs: number): ConstantPeriod => stretchAt(nowMs, hours, times, wall);
  return {
    at,
    after: (closed) => {
      let stretch = closed;
      while (!stretch.open && stretch.endMs - closed.endMs < AHEAD_DAYS * DAY_MS) stretch = at(stretch.endMs);
      return stretch.open ? stretch.startMs : undefined;
    },
  };
}

/** What the clocks show at an instant of the stretch: `2026-03-02`, `09:15`, and the day of the week. */
export function clockAt(
  nowMs: number,
  { offsetMs }: ConstantPeriod,
): { readonly date: string; readonly time: string; readonly day: DayName } {
  const wallMs = nowMs + offsetMs;
  return {
    date: dateOf(wallMs),
    time: new Date(wallMs).toISOString().slice(11, 16),
    day: dayOf(wallMs),
  };
}

/** `times` are all times of the day at which the state may change. */
function stretchAt(
  nowMs: number,
  hours: OpeningHours,
  times: readonly number[],
  wall: WallClock,
): ConstantPeriod {
  const wallMs = wall(nowMs);
  const timeMs = timeOf(wallMs);
  const before = times.findLast((time) => time <= timeMs) ?? 0;
  const after = times.find((time) => time > timeMs) ?? DAY_MS;
  const around = { startMs: nowMs - (timeMs - before), endMs: nowMs + (after - timeMs) };
  return { ...steadyAround(nowMs, around, wall), open: isOpen(wallMs, hours), offsetMs: wallMs - nowMs };
}

function isOpen(wallMs: number, { days, spans, holidays }: OpeningHours): boolean {
  const timeMs = timeOf(wallMs);
  const isHoliday = holidays.has(dateOf(wallMs));
  const starts = (dayMs: number): boolean => days.has(dayOf(dayMs)) && !holidays.has(dateOf(dayMs));
  return (
    !isHoliday &&
    spans.some(({ startMs, endMs }) =>
      startMs < endMs
        ? starts(wallMs) && timeMs >= startMs && timeMs < endMs
        : (starts(wallMs) && timeMs >= startMs) || (starts(wallMs - DAY_MS) && timeMs < endMs),
    )
  );
}

const clockMs = (hour: string, minute: string): number => (Number(hour) * 60 + Number(minute)) * MINUTE_MS;

const timeOf = (wallMs: number): number => ((wallMs % DAY_MS) + DAY_MS) % DAY_MS;

const dateOf = (wallMs: number): string => new Date(wallMs).toISOString().slice(0, 10);

const dayOf = (wallMs: number): DayName => DAY_NAMES[new Date(wallMs).getUTCDay()] ?? 'sun';

/** Converts an instant to the time on the clocks of a zone, written as if it were UTC. */
type WallClock = (atMs: number) => number;

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
    const secondMs = Date.UTC(
      part('year'),
      part('month') - 1,
      part('day'),
      part('hour'),
      part('minute'),
      part('second'),
    );
    return secondMs + (((atMs % 1000) + 1000) % 1000);
  };
}

/** No zone changes its clocks twice within this time. */
const STEP_MS = 3 * 3_600_000;

/** The part of the period around `atMs` in which the clocks have a constant offset from UTC. */
export function steadyAround(atMs: number, { startMs, endMs }: Period, wall: WallClock): Period {
  const offset = wall(atMs) - atMs;
  const isSteady = (instant: number): boolean => wall(instant) - instant === offset;
  let [first, last] = [atMs, atMs];
  while (first > startMs) {
    const earlier = Math.max(first - STEP_MS, startMs);
    if (!isSteady(earlier)) {
      first = firstInstant(earlier, first, isSteady);
      break;
    }
    first = earlier;
  }
  while (last < endMs - 1) {
    const later = Math.min(last + STEP_MS, endMs - 1);
    if (!isSteady(later)) {
      last = firstInstant(last, later, (instant) => !isSteady(instant)) - 1;
      break;
    }
    last = later;
  }
  return { startMs: first, endMs: last + 1 };
}

/**
 * The first instant in (before, after] for which `holds`. `holds` must be true at `after`, and must not
 * become false again.
 */
function firstInstant(before: number, after: number, holds: (atMs: number) => boolean): number {
  let [early, late] = [before, after];
  while (late - early > 1) {
    const between = Math.floor((early + late) / 2);
    if (holds(between)) late = between;
    else early = between;
  }
  return late;
}

/**
 * The first date of the period around a time, and the first date after the period, as midnights on the
 * clocks.
 */
function datesAround(unit: PeriodUnit, wallMs: number): [number, number] {
  const date = new Date(wallMs);
  const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()];
  if (unit === 'month') return [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)];
  const first = unit === 'week' ? day - ((date.getUTCDay() + 6) % 7) : day;
  return [Date.UTC(year, month, first), Date.UTC(year, month, first + (unit === 'week' ? 7 : 1))];
}

/** The first instant at which the clocks show this midnight or, if they skip it, a later time. */
function midnight(midnightMs: number, wall: WallClock): number {
  const offsets = [midnightMs - DAY_MS, midnightMs + DAY_MS].map((atMs) => wall(atMs) - atMs);
  const candidates = offsets.map((offset) => midnightMs - offset).sort((a, b) => a - b);
  const found = candidates.find((atMs) => wall(atMs) === midnightMs);
  if (found !== undefined) return found;
  return firstInstant(midnightMs - DAY_MS, midnightMs + DAY_MS, (atMs) => wall(atMs) >= midnightMs);
}
