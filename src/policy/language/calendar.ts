import { closestMatch } from '../../values/closest-match.ts';
import { formatInput } from '../fault.ts';
import type { RuleContext } from '../rule-context.ts';

/*
 * All calculations with calendars and time zones: calendar periods and opening hours. Outside this file an
 * instant is a whole number of milliseconds since the epoch. values/clock.ts reads instants from texts.
 */

/** The instants in [startMs, endMs). */
export interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

const UNIT_LENGTHS = {
  day: { days: 1 },
  week: { weeks: 1 },
  month: { months: 1 },
  quarter: { months: 3 },
  year: { years: 1 },
} as const;
const LONGEST_DAYS = { day: 1, week: 7, month: 31, quarter: 92, year: 366 } as const;
export type PeriodUnit = keyof typeof UNIT_LENGTHS;

export const isPeriodUnit = (text: string): text is PeriodUnit => Object.hasOwn(UNIT_LENGTHS, text);

/** No period is longer. It has a day to spare, because clocks change. */
export const longestPeriodMs = (unit: PeriodUnit): number => (LONGEST_DAYS[unit] + 1) * DAY_MS;

/**
 * The day, the week (from Monday), the month, the quarter (from January, April, July or October) or the year
 * of an instant, from midnight to midnight in the zone. A day has 23 or 25 hours when the clocks change. It
 * starts at its first instant if the clocks skip midnight.
 */
export function createCalendar(unit: PeriodUnit, zone: string): (nowMs: number) => Period {
  const timeZone = temporalZone(zone);
  const startOf = (date: Temporal.PlainDate): number => date.toZonedDateTime(timeZone).epochMilliseconds;
  return (nowMs) => {
    let start = firstDate(unit, zonedTime(nowMs, timeZone).toPlainDate());
    let end = start.add(UNIT_LENGTHS[unit]);
    // If the clocks are set back past midnight, the end of a date occurs twice. The second time belongs to
    // the next day.
    while (nowMs >= startOf(end)) [start, end] = [end, end.add(UNIT_LENGTHS[unit])];
    return { startMs: startOf(start), endMs: startOf(end) };
  };
}

function firstDate(unit: PeriodUnit, date: Temporal.PlainDate): Temporal.PlainDate {
  if (unit === 'day') return date;
  if (unit === 'week') return date.subtract({ days: date.dayOfWeek - 1 });
  const month = { month: date.month, quarter: date.month - ((date.month - 1) % 3), year: 1 }[unit];
  return date.with({ month, day: 1 });
}

/** Reports a fault for text that is not a time zone, and a doubt about one that only `Intl` knows. */
export function checkZone(zone: string, context: Pick<RuleContext, 'fault' | 'warn'>): boolean {
  if (isZone(zone)) {
    const known = temporalZone(zone);
    if (!isIanaName(zone)) {
      context.warn(
        ['zone'],
        `${formatInput(zone)} is an abbreviation, and is taken for ${known}`,
        `write the name of the zone, like ${known}`,
      );
    }
    return true;
  }
  const suggestion = closestMatch(zone, Intl.supportedValuesOf('timeZone'));
  context.fault(
    ['zone'],
    `${formatInput(zone)} is not a time zone`,
    `write an IANA name, like ${suggestion ?? 'Europe/Berlin or UTC'}`,
  );
  return false;
}

/** Whether this runtime supports the zone. An offset alone is not a zone, since it has no summer time. */
export function isZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    temporalZone(zone);
    return true;
  } catch (thrown) {
    if (thrown instanceof RangeError) return false;
    throw thrown;
  }
}

/** `Intl` also knows abbreviations. People may mean another zone by them: BST is Asia/Dhaka. */
function isIanaName(zone: string): boolean {
  try {
    return new Temporal.ZonedDateTime(0n, zone).timeZoneId !== '';
  } catch (thrown) {
    if (thrown instanceof RangeError) return false;
    throw thrown;
  }
}

/**
 * The name by which Temporal knows the zone. `Intl` knows some zones by more names, like JST for Asia/Tokyo.
 * Throws a RangeError if there is no such zone.
 */
function temporalZone(zone: string): string {
  const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions();
  return new Temporal.ZonedDateTime(0n, timeZone).timeZoneId;
}

const zonedTime = (atMs: number, timeZone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(timeZone);

export const DAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type DayName = (typeof DAY_NAMES)[number];

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** How many days ahead the next opening is searched. */
export const MAX_SEARCH_DAYS = 31;

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

export interface OpeningSchedule {
  /** The period that contains an instant. */
  readonly at: (nowMs: number) => ConstantPeriod;
  /** The next opening after a closed period; undefined if it is more than 31 days ahead. */
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
  try {
    return Temporal.PlainDate.from(text).toString() === text;
  } catch (thrown) {
    if (thrown instanceof RangeError) return false;
    throw thrown;
  }
}

/**
 * The opening hours by the clocks of the zone. An hour that the clocks repeat counts twice. A time that the
 * clocks skip is the first instant after it. A span past midnight belongs to the day on which it starts. A
 * holiday is closed from midnight to midnight, and no span starts on it.
 */
export function createOpeningSchedule(hours: OpeningHours, zone: string): OpeningSchedule {
  const timeZone = temporalZone(zone);
  const times = [...new Set([0, ...hours.spans.flatMap(({ startMs, endMs }) => [startMs, endMs]), DAY_MS])];
  times.sort((a, b) => a - b);
  const at = (nowMs: number): ConstantPeriod => constantPeriod(nowMs, hours, times, timeZone);
  return {
    at,
    after: (closed) => {
      let period = closed;
      while (!period.open && period.endMs - closed.endMs < MAX_SEARCH_DAYS * DAY_MS) {
        period = at(period.endMs);
      }
      return period.open ? period.startMs : undefined;
    },
  };
}

/** What the clocks show at an instant of the period: `2026-03-02`, `09:15`, and the day of the week. */
export function clockAt(
  nowMs: number,
  { offsetMs }: ConstantPeriod,
): { readonly date: string; readonly time: string; readonly day: DayName } {
  const local = zonedTime(nowMs + offsetMs, 'UTC');
  return {
    date: local.toPlainDate().toString(),
    time: local.toPlainTime().toString({ smallestUnit: 'minute' }),
    day: dayOf(local.toPlainDate()),
  };
}

/** `times` are all times of the day at which the state may change. */
function constantPeriod(
  nowMs: number,
  hours: OpeningHours,
  times: readonly number[],
  timeZone: string,
): ConstantPeriod {
  const now = zonedTime(nowMs, timeZone);
  const offsetMs = now.offsetNanoseconds / 1e6;
  const timeMs = (((nowMs + offsetMs) % DAY_MS) + DAY_MS) % DAY_MS;
  const before = times.findLast((time) => time <= timeMs) ?? 0;
  const after = times.find((time) => time > timeMs) ?? DAY_MS;
  // `getTimeZoneTransition('previous')` excludes the instant itself, so ask from one millisecond later.
  const previous = zonedTime(nowMs + 1, timeZone).getTimeZoneTransition('previous');
  const next = now.getTimeZoneTransition('next');
  return {
    startMs: Math.max(nowMs - timeMs + before, previous?.epochMilliseconds ?? -Infinity),
    endMs: Math.min(nowMs - timeMs + after, next?.epochMilliseconds ?? Infinity),
    open: isOpen(now.toPlainDate(), timeMs, hours),
    offsetMs,
  };
}

function isOpen(date: Temporal.PlainDate, timeMs: number, { days, spans, holidays }: OpeningHours): boolean {
  const starts = (day: Temporal.PlainDate): boolean => days.has(dayOf(day)) && !holidays.has(day.toString());
  const [today, yesterday] = [starts(date), starts(date.subtract({ days: 1 }))];
  return (
    !holidays.has(date.toString()) &&
    spans.some(({ startMs, endMs }) =>
      startMs < endMs
        ? today && timeMs >= startMs && timeMs < endMs
        : (today && timeMs >= startMs) || (yesterday && timeMs < endMs),
    )
  );
}

const DAY_MINUTES = BigInt(DAY_MS / MINUTE_MS);
export const WEEK_MINUTES = 7n * DAY_MINUTES;

/** The spans of a week without holidays, in minutes from its first midnight to the last minute, included. */
export function minutesOfWeek({ days, spans }: OpeningHours): readonly (readonly [bigint, bigint])[] {
  return [...days].flatMap((day) =>
    spans.flatMap(({ startMs, endMs }): readonly (readonly [bigint, bigint])[] => {
      const midnight = BigInt(DAY_NAMES.indexOf(day)) * DAY_MINUTES;
      const from = midnight + BigInt(startMs / MINUTE_MS);
      const to = midnight + BigInt(endMs / MINUTE_MS) + (endMs > startMs ? 0n : DAY_MINUTES) - 1n;
      if (to < WEEK_MINUTES) return [[from, to]];
      return [
        [from, WEEK_MINUTES - 1n],
        ...(to === WEEK_MINUTES - 1n ? [] : [[0n, to - WEEK_MINUTES] as const]),
      ];
    }),
  );
}

const clockMs = (hour: string, minute: string): number => (Number(hour) * 60 + Number(minute)) * MINUTE_MS;

const dayOf = ({ dayOfWeek }: Temporal.PlainDate): DayName => DAY_NAMES[dayOfWeek % 7] ?? 'sun';
