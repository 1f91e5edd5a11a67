import type { Command } from 'commander';
import { usageError } from '../errors.ts';
import type { Call } from './command.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const UNITS_MS = new Map([
  ['s', 1000],
  ['m', MINUTE_MS],
  ['h', HOUR_MS],
  ['d', 24 * HOUR_MS],
]);
const DURATION = /^(\d{1,6})([smhd])$/;
const INSTANT =
  /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:\.(\d{3}))?)?(?:Z|([+-])([01]\d):([0-5]\d))?)?$/;

/**
 * The instant of `--since` or `--until` in milliseconds. `2h` means two hours before now. An ISO date, or
 * date and time, is in UTC unless it has an offset. Throws USAGE for anything else, and for days that don't
 * exist.
 */
export function readTime(option: string, text: string, nowMs: number): number {
  const beforeMs = durationOf(text);
  if (beforeMs !== undefined) return nowMs - beforeMs;
  const atMs = instantOf(text);
  if (atMs !== undefined) return atMs;
  throw usageError(
    `--${option} ${text} is not a time. Write a duration before now, such as 30s, 15m, 2h or 7d, ` +
      'or a time such as 2025-03-01 or 2025-03-01T10:00:00Z',
  );
}

/** A duration such as 15m, 24h or 7d in milliseconds. Undefined for any other text. */
export function durationOf(text: string): number | undefined {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  const unitMs = UNITS_MS.get(unit);
  return unitMs && Number(count) * unitMs;
}

function instantOf(text: string): number | undefined {
  const [, date, time = '00:00', second = '00', ms = '000', sign, hours, minutes] = INSTANT.exec(text) ?? [];
  const written = `${date}T${time}:${second}.${ms}Z`;
  const atMs = Date.parse(written);
  // Date.parse turns a day or an hour that doesn't exist into another one.
  if (Number.isNaN(atMs) || new Date(atMs).toISOString() !== written) return undefined;
  if (sign === undefined) return atMs;
  const offsetMs = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS;
  return sign === '+' ? atMs - offsetMs : atMs + offsetMs;
}

/** `--since` and `--until`. */
export function periodOptions(command: Command): Command {
  return command
    .option('--since <time>', 'from this time on: 30s, 15m, 2h or 7d ago, or an ISO time in UTC')
    .option('--until <time>', 'before this time, in the same form');
}

/** The period of the two options. Throws USAGE. */
export function periodOf(call: Call, nowMs: number): { readonly fromMs?: number; readonly untilMs?: number } {
  const [since, until] = [call.option('since'), call.option('until')];
  const period = {
    ...(since === undefined ? {} : { fromMs: readTime('since', since, nowMs) }),
    ...(until === undefined ? {} : { untilMs: readTime('until', until, nowMs) }),
  };
  if ((period.fromMs ?? 0) <= (period.untilMs ?? Infinity)) return period;
  throw usageError(`--since ${since} is after --until ${until}. Swap them`);
}
