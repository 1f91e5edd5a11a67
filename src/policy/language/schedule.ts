import { z } from 'zod';
import { FEWER, looserIf } from './looser.ts';
import { formatInput } from '../fault.ts';
import {
  type ConstantPeriod,
  DAY_NAMES,
  MAX_SEARCH_DAYS,
  type OpeningHours,
  type OpeningSchedule,
  checkZone,
  clockAt,
  createOpeningSchedule,
  WEEK_MINUTES,
  isDate,
  minutesOfWeek,
  readSpan,
} from './calendar.ts';
import { type ValueSet, numbers } from './value-sets.ts';
import { textList } from './parameter.ts';
import type { RuleOutcome } from '../outcome.ts';
import { type RuleContext, compileLines } from '../rule-context.ts';

const ZONE = 'an IANA time zone, like Europe/Berlin or UTC';
const FILE = 'the name of a file beside the policy';
const WHOLE_DAY = '00:00-24:00';

/** The parameters of the rule, and of `during` in conditions. */
export const scheduleParameters = z
  .strictObject({
    zone: z.string({ error: ZONE }).min(1, { error: ZONE }).describe('The time zone.'),
    days: textList
      .optional()
      .describe('Days of the week: mon, tue, wed, thu, fri, sat, sun. The default is every day.'),
    hours: textList
      .optional()
      .describe('A span of the day, like 09:00-17:30, or a list of spans. The default is all day.'),
    holidays: z
      .string({ error: FILE })
      .min(1, { error: FILE })
      .optional()
      .describe(
        'A file beside the policy, with a date like 2026-12-25 a line. It becomes part of the revision.',
      )
      .register(looserIf, FEWER),
  })
  .superRefine(({ days, hours, holidays }, context) => {
    if (days !== undefined || hours !== undefined || holidays !== undefined) return;
    context.addIssue({
      code: 'custom',
      message: 'it has neither days, hours nor holidays, so it is always open',
      params: { fix: 'give at least one of them' },
    });
  });

type Context = Pick<RuleContext, 'fault' | 'warn' | 'listFile' | 'listAsWritten'>;

export interface CompiledSchedule {
  /** Judges an instant: it passes while the schedule is open. */
  readonly evaluate: (callback: unknown, facts: { readonly nowMs: number }) => RuleOutcome;
  readonly zone: string;
  /** The minutes of a week without holidays in which it is open, by the clocks of the zone. */
  readonly week: ValueSet;
  readonly hasHolidays: boolean;
}

/** Undefined after a fault. */
export function compileSchedule(
  { zone, days, hours, holidays }: z.output<typeof scheduleParameters>,
  context: Context,
): CompiledSchedule | undefined {
  const open = {
    days: daysOf(days ?? DAY_NAMES, context),
    spans: spansOf(hours ?? [WHOLE_DAY], context),
    holidays: holidays === undefined ? new Set<string>() : holidaysOf(holidays, context),
  };
  if (!checkZone(zone, context)) return undefined;
  if (open.days === undefined || open.spans === undefined || open.holidays === undefined) return undefined;
  const whenOpen: OpeningHours = { days: open.days, spans: open.spans, holidays: open.holidays };
  const written = { zone, hours: (hours ?? [WHOLE_DAY]).join(', ') };
  return {
    evaluate: createEvaluator(createOpeningSchedule(whenOpen, zone), whenOpen, written),
    zone,
    week: numbers(minutesOfWeek(whenOpen), WEEK_MINUTES - 1n),
    hasHolidays: holidays !== undefined,
  };
}

const MINUTE_MS = 60_000;

/** Caches the last outcome, which is constant within one period and one minute of local time. */
function createEvaluator(
  openingSchedule: OpeningSchedule,
  { holidays }: OpeningHours,
  written: { readonly zone: string; readonly hours: string },
): (callback: unknown, facts: { readonly nowMs: number }) => RuleOutcome {
  let last: { readonly period: ConstantPeriod; readonly opens: string | undefined } | undefined;
  let cached: { readonly minute: number; readonly outcome: RuleOutcome } | undefined;
  return (_, { nowMs }) => {
    if (last === undefined || nowMs < last.period.startMs || nowMs >= last.period.endMs) {
      const period = openingSchedule.at(nowMs);
      const opensMs = period.open ? undefined : openingSchedule.after(period);
      last = { period, opens: opensMs === undefined ? undefined : instantText(opensMs) };
      cached = undefined;
    }
    const { period, opens } = last;
    const minute = Math.floor((nowMs + period.offsetMs) / MINUTE_MS);
    if (cached?.minute !== minute) {
      const clock = clockAt(nowMs, period);
      const isHoliday = holidays.has(clock.date);
      cached = { minute, outcome: outcomeAt(period, clock, { ...written, opens, isHoliday }) };
    }
    return cached.outcome;
  };
}

function outcomeAt(
  period: ConstantPeriod,
  { date, time, day }: ReturnType<typeof clockAt>,
  {
    zone,
    hours,
    opens,
    isHoliday,
  }: {
    readonly zone: string;
    readonly hours: string;
    readonly opens: string | undefined;
    readonly isHoliday: boolean;
  },
): RuleOutcome {
  const now = `${day} ${date} ${time} in ${zone}`;
  const common: Pick<RuleOutcome, 'retryable' | 'valid'> = {
    retryable: true,
    valid: { fromMs: period.startMs, untilMs: period.endMs },
  };
  const values = { now: `${date} ${time}`, day, zone, hours };
  if (period.open) return { verdict: 'pass', because: `open: it is ${now}`, values, ...common };
  const until = opens === undefined ? `for the next ${MAX_SEARCH_DAYS} days` : `until ${opens}`;
  return {
    verdict: 'refuse',
    because: `closed ${until}: it is ${now}${isHoliday ? ', a holiday' : ''}`,
    values: { ...values, ...(isHoliday ? { holiday: date } : {}), opens: opens ?? 'unknown' },
    ...common,
  };
}

function daysOf(written: readonly string[], context: Context): OpeningHours['days'] | undefined {
  const days = new Set<(typeof DAY_NAMES)[number]>();
  for (const text of written) {
    const day = DAY_NAMES.find((each) => each === text);
    if (day === undefined) {
      return context.fault(
        ['days'],
        `${formatInput(text)} is not a day`,
        'write mon, tue, wed, thu, fri, sat or sun',
      );
    }
    days.add(day);
  }
  return days;
}

function spansOf(written: readonly string[], context: Context): OpeningHours['spans'] | undefined {
  if (written.length > SPANS_MAX) {
    return context.fault(
      ['hours'],
      `it has ${written.length} spans`,
      `remove some: at most ${SPANS_MAX} are allowed`,
    );
  }
  const spans = written.map(readSpan);
  const wrong = written.find((_, index) => spans[index] === undefined);
  if (wrong !== undefined) {
    const fix = 'write it like 09:00-17:30, 22:00-06:00 or 00:00-24:00, with two digits each';
    return context.fault(['hours'], `${formatInput(wrong)} is not a span of hours`, fix);
  }
  return spans.filter((span) => span !== undefined);
}

const SPANS_MAX = 24;

/** Every day of 27 years. */
const DATES_MAX = 10_000;

function holidaysOf(file: string, context: Context): OpeningHours['holidays'] | undefined {
  const fix = 'put one date a line, like 2026-12-25';
  const place = { path: ['holidays'], fix: 'put the file beside the policy, one date a line' };
  const dates = compileLines(file, place, context, (values, _, own) => {
    const wrong = values.find((value) => !isDate(value));
    if (wrong === undefined) return values;
    return own.fault(place.path, `${file} has ${formatInput(wrong)}, which is not a date`, fix);
  });
  if (dates === undefined) return undefined;
  if (dates.length > DATES_MAX) {
    const remove = `remove dates in the past: at most ${DATES_MAX} are allowed`;
    return context.fault(['holidays'], `${file} has ${dates.length} dates`, remove);
  }
  if (dates.length === 0)
    return context.fault(['holidays'], `${file} has no date`, `${fix}, or leave holidays out`);
  return new Set(dates);
}

const instantText = (atMs: number): string => new Date(atMs).toISOString().replace('.000Z', 'Z');
