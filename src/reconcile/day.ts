import { CountersignError, usageError } from '../errors.ts';

/** A calendar day in a time zone. It has 23 or 25 hours if the zone's clocks change on it. */
export interface Day {
  /** `2026-03-02`. */
  readonly date: string;
  readonly zone: string;
  /** Its first millisecond, and that of the next day. */
  readonly fromMs: number;
  readonly untilMs: number;
}

const DATE = /^\d{4}-\d\d-\d\d$/;

/** Throws USAGE for a text that is no date, for an unknown zone, and for a day that the zone skipped. */
export function readDay(text: string, zone: string): Day {
  const date = dateOf(text);
  if (date === undefined) throw usage(`${text} is not a day. Write one such as 2026-03-02`);
  const fromMs = startOf(date, zone);
  const untilMs = startOf(date.add({ days: 1 }), zone);
  if (fromMs === untilMs) throw usage(`${text} does not exist in ${zone}, whose calendar skipped it`);
  return { date: text, zone, fromMs, untilMs };
}

/** The date before, as text. */
export const dateBefore = (date: string): string =>
  Temporal.PlainDate.from(date).subtract({ days: 1 }).toString();
/** The date after, as text. */
export const dateAfter = (date: string): string => Temporal.PlainDate.from(date).add({ days: 1 }).toString();

/** The date in the zone at an instant, such as `2026-03-02`. */
export const dateAt = (atMs: number, zone: string): string =>
  Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone).toPlainDate().toString();

function dateOf(text: string): Temporal.PlainDate | undefined {
  if (!DATE.test(text)) return undefined;
  try {
    return Temporal.PlainDate.from(text);
  } catch {
    return undefined;
  }
}

/** A day starts at its first instant, which is not midnight if the zone's clocks skip midnight. */
function startOf(date: Temporal.PlainDate, zone: string): number {
  try {
    return date.toZonedDateTime(zone).epochMilliseconds;
  } catch {
    throw usage(`${zone} is not a time zone. Write its IANA name, such as Asia/Shanghai or Europe/Paris`);
  }
}

// ---- the times of a bill ----

const LOCAL = /^(\d{4}-\d\d-\d\d)[ T]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,3})?$/;
/** Epoch milliseconds of the years 2001 to 2286. */
const EPOCH_MS = /^\d{13}$/;

/**
 * The date of a bill's time in the zone, such as `2026-03-02`. The time is `yyyy-MM-dd HH:mm:ss` in the zone,
 * or epoch milliseconds (section 1). Undefined for any other text. The date of a local time is what it says,
 * also in an hour that the zone has twice.
 */
export function billDate(time: string, zone: string): string | undefined {
  const [, date = ''] = LOCAL.exec(time) ?? [];
  if (date !== '') return dateOf(date) === undefined ? undefined : date;
  return EPOCH_MS.test(time) ? dateAt(Number(time), zone) : undefined;
}

const usage = (message: string): CountersignError => usageError(message);
