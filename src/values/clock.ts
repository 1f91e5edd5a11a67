/** Milliseconds since the epoch. Functions that need the time receive a clock, so that tests can set it. */
export type Clock = () => number;

export const systemClock: Clock = () => Date.now();

const DAY = String.raw`(\d{4}-\d\d-\d\d)`;
const TIME = String.raw`([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,3}))?)?`;
const ZONE = String.raw`(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)`;
const INSTANT = new RegExp(`^${DAY}T${TIME}${ZONE}$`);

/** How to write an instant, for error messages. */
export const INSTANT_FORM = 'an instant like 2026-03-02T10:00:00Z or 2026-03-02T11:00:00+01:00';

/**
 * Milliseconds since the epoch of an ISO 8601 date and time with a zone. Undefined for any other text, and
 * for a day that the calendar does not have.
 */
export function readInstant(written: string): number | undefined {
  const [, day = '', hour = '', minute = '', second = '00', fraction = '', zone = ''] =
    INSTANT.exec(written) ?? [];
  const local = `${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0')}Z`;
  const localMs = Date.parse(local);
  // Date.parse may turn 30 February into a day of March.
  if (Number.isNaN(localMs) || new Date(localMs).toISOString() !== local) return undefined;
  return zone === 'Z' ? localMs : Date.parse(`${local.slice(0, -1)}${zone}`);
}
