const INSTANT =
  /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,3}))?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** For messages: how an instant is written. */
export const INSTANT_FORM = 'an instant like 2026-03-02T10:00:00Z or 2026-03-02T11:00:00+01:00';

/**
 * Milliseconds of an ISO date and time that says its zone; undefined for anything else, days that no calendar
 * has included.
 */
export function readInstant(written: string): number | undefined {
  const [, day = '', hour = '', minute = '', second = '00', fraction = '', zone = ''] =
    INSTANT.exec(written) ?? [];
  const local = `${day}T${hour}:${minute}:${second}.${fraction.padEnd(3, '0')}Z`;
  const localMs = Date.parse(local);
  // A day that does not exist is carried over into another.
  if (Number.isNaN(localMs) || new Date(localMs).toISOString() !== local) return undefined;
  return zone === 'Z' ? localMs : Date.parse(`${local.slice(0, -1)}${zone}`);
}
