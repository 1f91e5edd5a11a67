import type { Window } from '../../claims/window.ts';
import { closestMatch } from '../../values/closest-match.ts';
import { type Period, type PeriodUnit, createCalendar, isZone } from './calendar.ts';
import { durationMs } from './duration.ts';
import type { Outcome, RuleContext } from './rule.ts';

/** A rolling window errs by at most this part of its length, to the safe side. */
const BUCKETS = 60;

/** A window's parameters, read: its name in counters and messages, and the window at an instant. */
export interface CountingWindow {
  /** Equal for windows that count alike, such as 24h and 1d. */
  readonly identity: string;
  /** `24h`, `day (UTC)`. */
  readonly text: string;
  readonly at: (nowMs: number) => { readonly window: Window; readonly valid: Outcome['valid'] };
}

/** `90s`, `1m`, `24h`, `7d`, rolling; or `day`, `week`, `month` of a time zone. */
export function compileWindow(
  window: string,
  zone: string | undefined,
  context: RuleContext,
): CountingWindow | undefined {
  return window === 'day' || window === 'week' || window === 'month'
    ? calendarWindow(window, zone ?? 'UTC', context)
    : rollingWindow(window, zone, context);
}

function rollingWindow(
  text: string,
  zone: string | undefined,
  context: RuleContext,
): CountingWindow | undefined {
  const lengthMs = durationMs(text);
  if (lengthMs === undefined) {
    return context.fault(
      ['window'],
      `${JSON.stringify(text)} is not a window`,
      'write a length from 1s to 92d, like 90s, 1m, 24h or 7d, or one of day, week and month',
    );
  }
  if (zone !== undefined) {
    return context.fault(
      ['zone'],
      `a rolling window of ${text} has no time zone`,
      'leave zone out, or count by day',
    );
  }
  const window = { type: 'rolling', lengthMs, bucketMs: Math.ceil(lengthMs / BUCKETS) } as const;
  const found = { window, valid: undefined };
  return { identity: `rolling ${lengthMs}`, text, at: () => found };
}

function calendarWindow(unit: PeriodUnit, zone: string, context: RuleContext): CountingWindow | undefined {
  if (!isZone(zone)) {
    const meant = closestMatch(zone, Intl.supportedValuesOf('timeZone'));
    return context.fault(
      ['zone'],
      `${JSON.stringify(zone)} is no time zone`,
      `write an IANA name, like ${meant ?? 'Europe/Berlin or UTC'}`,
    );
  }
  const periodAt = createCalendar(unit, zone);
  let last = foundIn({ startMs: 0, endMs: 0 });
  return {
    identity: `${unit} ${zone}`,
    text: `${unit} (${zone})`,
    at: (nowMs) => {
      if (nowMs < last.valid.fromMs || nowMs >= last.valid.untilMs) last = foundIn(periodAt(nowMs));
      return last;
    },
  };
}

/** A calendar window, and the instants at which it is the one: its own. */
function foundIn({ startMs, endMs }: Period) {
  return {
    window: { type: 'calendar', startMs, endMs },
    valid: { fromMs: startMs, untilMs: endMs },
  } as const;
}
