import { type Period, type WallClock, steadyAround, wallClock } from './calendar.ts';

export const DAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type DayName = (typeof DAY_NAMES)[number];

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** How far an opening is looked for. */
export const AHEAD_DAYS = 31;

/**
 * Times of the clock in milliseconds since midnight, the end excluded. One that ends at or before its start
 * runs past midnight.
 */
interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

export interface OpeningHours {
  readonly days: ReadonlySet<DayName>;
  readonly spans: readonly Span[];
  /** Dates as `2026-12-25`. */
  readonly holidays: ReadonlySet<string>;
}

/** Instants at which it is open, or closed, all along, and clocks only run on. At most a day of them. */
export interface Stretch extends Period {
  readonly open: boolean;
  /** What clocks show is the instant and this. */
  readonly offsetMs: number;
}

export interface Opening {
  /** The stretch that holds an instant. */
  readonly at: (nowMs: number) => Stretch;
  /**
   * The instant at which it opens after a stretch that is closed; undefined if that is more than 31 days
   * ahead.
   */
  readonly after: (closed: Stretch) => number | undefined;
}

/** `09:00-17:30`; undefined if it is none, or as long as nothing. `24:00` is an end alone. */
export function readSpan(text: string): Span | undefined {
  const match = /^([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|24:00)$/.exec(text);
  if (match === null) return undefined;
  const [, hour = '', minute = '', endHour = '24', endMinute = '00'] = match;
  const span = { startMs: clockMs(hour, minute), endMs: clockMs(endHour, endMinute) };
  return span.startMs === span.endMs ? undefined : span;
}

/** `2026-12-25`, of a day that there is. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const atMs = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(atMs) && dateOf(atMs) === text;
}

/**
 * When it is open, by what clocks in the zone show: where they are set back, an hour counts twice; where they
 * are set forward, a time that is skipped is that of the first instant after it. A span past midnight belongs
 * to the day it begins on. On a holiday it is closed from midnight to midnight, and no span begins.
 */
export function createOpening(hours: OpeningHours, zone: string): Opening {
  const wall = wallClock(zone);
  const times = [...new Set([0, ...hours.spans.flatMap(({ startMs, endMs }) => [startMs, endMs]), DAY_MS])];
  times.sort((a, b) => a - b);
  const at = (nowMs: number): Stretch => stretchAt(nowMs, hours, times, wall);
  return {
    at,
    after: (closed) => {
      let stretch = closed;
      while (!stretch.open && stretch.endMs - closed.endMs < AHEAD_DAYS * DAY_MS) stretch = at(stretch.endMs);
      return stretch.open ? stretch.startMs : undefined;
    },
  };
}

/** What the clock shows at an instant, as `2026-03-02 09:15`, and the day of the week. */
export function shownAt(
  nowMs: number,
  { offsetMs }: Stretch,
): { readonly date: string; readonly time: string; readonly day: DayName } {
  const wallMs = nowMs + offsetMs;
  return {
    date: dateOf(wallMs),
    time: new Date(wallMs).toISOString().slice(11, 16),
    day: dayOf(wallMs),
  };
}

/** Between two times at which it may open or close, or the clocks change, nothing does. */
function stretchAt(nowMs: number, hours: OpeningHours, times: readonly number[], wall: WallClock): Stretch {
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
  const begins = (dayMs: number): boolean => days.has(dayOf(dayMs)) && !holidays.has(dateOf(dayMs));
  return (
    !isHoliday &&
    spans.some(({ startMs, endMs }) =>
      startMs < endMs
        ? begins(wallMs) && timeMs >= startMs && timeMs < endMs
        : (begins(wallMs) && timeMs >= startMs) || (begins(wallMs - DAY_MS) && timeMs < endMs),
    )
  );
}

const clockMs = (hour: string, minute: string): number => (Number(hour) * 60 + Number(minute)) * MINUTE_MS;

const timeOf = (wallMs: number): number => ((wallMs % DAY_MS) + DAY_MS) % DAY_MS;

const dateOf = (wallMs: number): string => new Date(wallMs).toISOString().slice(0, 10);

const dayOf = (wallMs: number): DayName => DAY_NAMES[new Date(wallMs).getUTCDay()] ?? 'sun';
