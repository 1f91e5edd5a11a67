import type { Clock } from '../../src/values/clock.ts';
import type { Snapshot } from './state.ts';

/** The clock of the sandbox, which people can set and move. */
export interface SandboxClock {
  readonly nowMs: () => number;
  readonly set: (atMs: number) => void;
  /** The state for a snapshot. */
  readonly kept: () => Snapshot['clock'];
  readonly restore: (kept: Snapshot['clock']) => void;
}

/**
 * A clock that stands at `standsAtMs`, or without it goes with `system`. After `set`, it goes on as before.
 */
export function createClock(system: Clock, standsAtMs: number | undefined): SandboxClock {
  let standing = standsAtMs !== undefined;
  let baseMs = standsAtMs ?? 0;
  const nowMs = (): number => (standing ? baseMs : baseMs + system());
  const set = (atMs: number): void => {
    baseMs = standing ? atMs : atMs - system();
  };
  return {
    nowMs,
    set,
    kept: () => ({ standing, atMs: nowMs() }),
    restore(kept) {
      ({ standing } = kept);
      set(kept.atMs);
    },
  };
}

export const DAY_MS = 86_400_000;

const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_AND_TIME = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/;

/** Texts of days and times in the platform's time zone. */
export interface Zone {
  /** `yyyy-MM-dd HH:mm:ss` */
  textOf(atMs: number): string;
  /** `yyyy-MM-dd` */
  dayOf(atMs: number): string;
  /** The instant of a `yyyy-MM-dd HH:mm:ss`; undefined for any other text. */
  instantOf(text: string): number | undefined;
  /** The first millisecond of a `yyyy-MM-dd`, and that of the next day; undefined for any other text. */
  boundsOf(day: string): { readonly fromMs: number; readonly untilMs: number } | undefined;
}

/** `name` is one of the IANA database, such as Asia/Shanghai. Throws a RangeError for any other. */
export function createZone(name: string): Zone {
  const local = (atMs: number) => Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(name);
  local(0);
  const startOf = (day: Temporal.PlainDate): number => day.toZonedDateTime(name).epochMilliseconds;
  return {
    textOf: (atMs) => local(atMs).toPlainDateTime().toString({ smallestUnit: 'second' }).replace('T', ' '),
    dayOf: (atMs) => local(atMs).toPlainDate().toString(),
    instantOf(text) {
      const [, day = '', time = ''] = DAY_AND_TIME.exec(text) ?? [];
      return undefinedIfThrown(
        () => Temporal.PlainDateTime.from(`${day}T${time}`).toZonedDateTime(name).epochMilliseconds,
      );
    },
    boundsOf(text) {
      if (!DAY.test(text)) return undefined;
      const day = undefinedIfThrown(() => Temporal.PlainDate.from(text));
      return day && { fromMs: startOf(day), untilMs: startOf(day.add({ days: 1 })) };
    },
  };
}

function undefinedIfThrown<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}
