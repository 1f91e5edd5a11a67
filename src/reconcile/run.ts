import { existsSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expectDirectory, lockDirectory, syncFolder } from '../archive/folder.ts';
import { usageError } from '../errors.ts';
import { sha256Hex } from '../values/canonical.ts';
import type { Clock } from '../values/clock.ts';
import { isException } from './classes.ts';
import { dateAfter } from './day.ts';
import { earlierRuns, nextDay, runBefore } from './earlier.ts';
import { writeItems } from './items-csv.ts';
import { type DayParts, type DayResult, reconcileDay } from './reconcile-day.ts';
import {
  type RecordedItem,
  type Records,
  type Run,
  TEMPORARY,
  lastRuns,
  openExceptions,
  readRecords,
  recordedItem,
  runName,
  writeRecord,
} from './records.ts';
import { createSummarizer } from './summary.ts';

export interface RunParts extends Omit<DayParts, 'earlier'> {
  /** Where runs are kept; it must exist. */
  readonly directory: string;
  readonly by: string;
  readonly clock: Clock;
}

export interface RunResult {
  readonly run: Run;
  /** False if the same inputs gave this result before. Nothing was written then. */
  readonly isNew: boolean;
  /** The exceptions that are not closed. */
  readonly open: readonly RecordedItem[];
  /** The run of the next day, if it rests on another run of this day. It must be repeated. */
  readonly outdated: number | undefined;
}

/**
 * Reconciles a day and keeps the result in the directory. An interrupted call leaves no run and can be
 * repeated. Rejects with USAGE while another process works in the directory, and before the day and
 * its settle time are over.
 */
export async function runDay(parts: RunParts): Promise<RunResult> {
  return holding(parts.directory, () => runHeld(parts));
}

export interface Period {
  readonly directory: string;
  /** The day to begin with if the directory has no runs, and the last day. */
  readonly first: string;
  readonly through: string;
}

/** How long a run of a period waits for another process in the directory, such as that of another replica. */
const WAIT_MS = 600_000;

/**
 * Reconciles the next day of the period: the day after the last run, or a day that must be repeated.
 * Undefined if this is after the period. While another process works in the directory, it waits, and blocks
 * this thread. So several processes may call it: each day is reconciled by one of them.
 */
export async function runNextDay(
  { directory, first, through }: Period,
  partsOf: (date: string) => Promise<Omit<RunParts, 'directory'>>,
): Promise<RunResult | undefined> {
  const runNext = async (): Promise<RunResult | undefined> => {
    const date = nextDay(readRecords(directory)) ?? first;
    return date > through ? undefined : runHeld({ ...(await partsOf(date)), directory });
  };
  return holding(directory, runNext, WAIT_MS);
}

/** Runs the work while no other process works in the directory. Waits for `waitMs`, and blocks the thread. */
export async function holding<T>(directory: string, work: () => Promise<T>, waitMs = 0): Promise<T> {
  expectDirectory(directory);
  const lock = lockDirectory(directory, 'reconciliation', waitMs);
  try {
    for (const name of readdirSync(directory)) if (name.endsWith(TEMPORARY)) rmSync(join(directory, name));
    return await work();
  } finally {
    lock.release();
  }
}

async function runHeld(parts: RunParts): Promise<RunResult> {
  const { day, settleMs, directory, entries, clock } = parts;
  const settledMs = day.untilMs + settleMs;
  if (clock() < settledMs) {
    const end = new Date(settledMs).toISOString();
    throw usageError(
      `${day.date} and its settle time are not over in ${day.zone} before ${end}. Run this then`,
    );
  }
  const records = readRecords(directory);
  const sources = [...entries.sources].sort();
  const before = runBefore(records, day, sources);
  const earlier = (source: string) => earlierRuns(records, day, before, source);
  const result = await reconcileDay({ ...parts, earlier });
  const last = records.runs.findLast((run) => run.day === day.date);
  const made = runOf(parts, records, { result, before, last, sources });
  if (last !== undefined && isSameResult(last, made)) {
    await restoreItems(directory, last, result);
    const open = openExceptions(records, last);
    return { run: last, isNew: false, open, outdated: outdatedRun(records, last) };
  }
  await writeItemsFile(directory, made.csv.file, result);
  await writeRecord(records, `${runName(made.number, day.date)}.json`, made);
  return { run: made, isNew: true, open: made.exceptions, outdated: outdatedRun(records, made) };
}

function outdatedRun(records: Records, { day, number }: Run): number | undefined {
  const next = lastRuns(records).get(dateAfter(day));
  return next === undefined || next.inputs.before.run === number ? undefined : next.number;
}

interface Found {
  readonly result: DayResult;
  readonly before: Run | undefined;
  readonly last: Run | undefined;
  readonly sources: readonly string[];
}

function runOf(
  { day, settleMs, by, clock }: RunParts,
  { next }: Records,
  { result, before, last, sources }: Found,
): Run {
  const summarizer = createSummarizer();
  const exceptions: RecordedItem[] = [];
  const settling: RecordedItem[] = [];
  function* counted() {
    let number = 0;
    for (const item of result.items()) {
      number++;
      summarizer.add(item);
      if (isException(item)) exceptions.push(recordedItem(number, item));
      if (item.class === 'settling') settling.push(recordedItem(number, item));
      yield item;
    }
  }
  const csv = writeItems(undefined, counted());
  const { coins, classes } = summarizer.summary();
  return {
    record: 'run',
    number: next.number,
    at: new Date(clock()).toISOString(),
    by,
    previous: next.previous,
    replaces: last?.number ?? 0,
    day: day.date,
    zone: day.zone,
    fromMs: day.fromMs,
    untilMs: day.untilMs,
    settleMs,
    sources: [...sources],
    inputs: {
      bills: result.inputs.bills.map((bill) => ({ ...bill })),
      journal: { ...result.inputs.journal },
      before: { run: before?.number ?? 0, sha256: before?.csv.sha256 ?? '' },
    },
    coins: coins.map((coin) => ({ ...coin })),
    classes,
    exceptions,
    settling,
    ahead: result.ahead.map(({ source, subjects }) => ({ source, subjects: [...subjects] })),
    csv: { file: `${runName(next.number, day.date)}.csv`, ...csv },
  };
}

/** Whether two runs of a day read the same and found the same. */
function isSameResult(a: Run, b: Run): boolean {
  const read = ({ inputs, sources, settleMs, csv }: Run): string =>
    JSON.stringify([inputs, sources, settleMs, csv.sha256]);
  return read(a) === read(b);
}

async function writeItemsFile(directory: string, name: string, { items }: DayResult): Promise<void> {
  const path = join(directory, name);
  writeItems(`${path}${TEMPORARY}`, items());
  renameSync(`${path}${TEMPORARY}`, path);
  await syncFolder(directory);
}

/** Writes the items of an earlier run again if their file is missing or was changed. */
async function restoreItems(directory: string, { csv }: Run, result: DayResult): Promise<void> {
  const path = join(directory, csv.file);
  if (existsSync(path) && sha256Hex(readFileSync(path)) === csv.sha256) return;
  await writeItemsFile(directory, csv.file, result);
}
