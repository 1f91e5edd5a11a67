import { CountersignError, usageError } from '../errors.ts';
import { type Day, dateAfter, dateBefore } from './day.ts';
import { type Records, type Run, lastRuns, subjectOfItem } from './records.ts';
import type { EarlierRuns } from './source.ts';

/**
 * The run of the day before. Undefined if the day is the first one. Throws USAGE if a day between was left
 * out, because its approvals would never be reconciled, and if the run must be repeated.
 */
export function runBefore(records: Records, day: Day, sources: readonly string[]): Run | undefined {
  const { directory } = records;
  const other = records.runs.find(({ zone }) => zone !== day.zone);
  if (other !== undefined) {
    throw usage(
      `the runs in ${directory} have days of ${other.zone}, not of ${day.zone}. Name another directory`,
    );
  }
  const before = lastRuns(records).get(dateBefore(day.date));
  if (before === undefined) {
    const missing = dateBefore(day.date);
    if (!records.runs.some((run) => run.day < day.date)) return undefined;
    throw usage(
      `${missing} was not reconciled in ${directory}, which has earlier days. Reconcile ${missing} first, ` +
        'or begin a new directory',
    );
  }
  assertRests(records, before);
  const lost = before.sources.filter((source) => !sources.includes(source));
  if (lost.length === 0) return before;
  throw usage(
    `run ${before.number} of ${before.day} includes ${lost.join(', ')}, and this call does not. ` +
      'Give the same --source each day, or another directory for each',
  );
}

/** Throws USAGE if the day before the run's was reconciled again since: what it carries may be wrong. */
function assertRests(records: Records, run: Run): void {
  const under = replacedUnder(lastRuns(records), run);
  if (under === undefined) return;
  const { number, day } = run;
  throw usage(
    `run ${number} of ${day} does not rest on run ${under.number}, the last of ${under.day}. ` +
      `Repeat ${day} first`,
  );
}

/** The last run of the day before, if the run rests on another one. */
function replacedUnder(last: ReadonlyMap<string, Run>, { day, inputs }: Run): Run | undefined {
  const under = last.get(dateBefore(day));
  return under === undefined || under.number === inputs.before.run ? undefined : under;
}

/**
 * The first day that must be repeated because the day before was, or else the day after the last one.
 * Undefined without runs.
 */
export function nextDay(records: Records): string | undefined {
  const last = lastRuns(records);
  const days = [...last.keys()].sort();
  const repeated = days.find((day) => {
    const run = last.get(day);
    return run !== undefined && replacedUnder(last, run) !== undefined;
  });
  const newest = days.at(-1);
  return repeated ?? (newest === undefined ? undefined : dateAfter(newest));
}

/** What the runs of earlier days found about a source. */
export function earlierRuns(
  records: Records,
  day: Day,
  before: Run | undefined,
  source: string,
): EarlierRuns {
  const newestFirst = [...lastRuns(records).values()]
    .filter((run) => run.day < day.date && run.sources.includes(source))
    .sort((a, b) => (a.day < b.day ? 1 : -1));
  const settling = (before?.settling ?? []).filter((item) => item.source === source);
  return {
    knowsDayBefore: before?.sources.includes(source) === true,
    settling: new Map(settling.map((item) => [subjectOfItem(item), `${before?.number}/${item.item}`])),
    ahead: new Set(before?.ahead.find((each) => each.source === source)?.subjects),
    unsettled: (subject) => unsettledIn(newestFirst, source, subject),
    runAt: (atMs) => newestFirst.find(({ fromMs, untilMs }) => atMs >= fromMs && atMs < untilMs)?.number,
  };
}

const UNSETTLED: ReadonlySet<string> = new Set(['approved-not-billed', 'approved-not-signed']);

function unsettledIn(newestFirst: readonly Run[], source: string, subject: string): string | undefined {
  for (const { number, exceptions } of newestFirst) {
    const found = exceptions.find((item) => item.source === source && subjectOfItem(item) === subject);
    if (found !== undefined) return UNSETTLED.has(found.class) ? `${number}/${found.item}` : undefined;
  }
  return undefined;
}

const usage = (message: string): CountersignError => usageError(message);
