import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, usageError } from '../errors.ts';
import { CLASSES, type ClassName } from '../reconcile/classes.ts';
import {
  type Closing,
  type Records,
  type Run,
  TEMPORARY,
  lastRuns,
  openExceptions,
  readRecords,
} from '../reconcile/records.ts';
import { stateOf } from '../reconcile/state.ts';

/*
 * What pages show of a reconciliation.
 */

export type Reconciled = ReturnType<typeof createReconciled>;
export type ReconciledDays = ReturnType<typeof daysOf>;
export type ReconciledRun = ReturnType<typeof runOf>;
export type ReconciledItem = ReconciledRun['classes'][number]['items'][number];

const RUNS_OF_PAGE = 50;
const EXCEPTIONS_OF_CLASS = 50;
const COINS_SHOWN = 100;
/** All records are read and verified, once for each change of the directory. */
const RECORDS_BYTES_MAX = 33_554_432;

/**
 * Reads the records of a directory, and keeps them until the directory changes: records are only ever added.
 * Each verb throws like readRecords, and USAGE for a directory that is too large.
 */
export function createReconciled(read: (directory: string) => Records = readRecords) {
  let kept: { readonly state: string; readonly records: Records } | undefined;

  function recordsIn(directory: string): Records {
    const { state, bytes } = stateOfFiles(directory);
    if (bytes > RECORDS_BYTES_MAX) {
      throw usageError(
        `the records in ${directory} have ${bytes} bytes, and a page reads at most ${RECORDS_BYTES_MAX}. Use ` +
          '`countersign reconcile show`',
      );
    }
    if (kept?.state === state) return kept.records;
    kept = undefined;
    const records = read(directory);
    kept = { state, records: { ...records, runs: records.runs.map(withoutCarried) } };
    return kept.records;
  }

  return {
    days: (directory: string, page: number) => daysOf(recordsIn(directory), page),
    /** Throws NOT_FOUND. */
    run: (directory: string, number: string) => runOf(recordsIn(directory), number),
  };
}

/** Pages don't show what is carried to the next day, which may be most of a record. */
const withoutCarried = (run: Run): Run => ({ ...run, settling: [], ahead: [] });

/**
 * The names, sizes and times of all files, and the bytes of the records. Reading says why a directory is
 * unusable.
 */
function stateOfFiles(directory: string): { readonly state: string; readonly bytes: number } {
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true) return { state: '', bytes: 0 };
  let bytes = 0;
  const state = readdirSync(directory)
    .filter((name) => !name.endsWith(TEMPORARY))
    .sort()
    .map((name) => {
      const found = name.endsWith('.json') && statSync(join(directory, name), { throwIfNoEntry: false });
      if (!found) return name;
      bytes += found.size;
      return `${name} ${found.size} ${found.mtimeMs} ${found.ctimeMs}`;
    });
  return { state: [directory, ...state].join('\n'), bytes };
}

/** A page of the days, newest first, and where the reconciliation stands. */
function daysOf(records: Records, wanted: number) {
  const { days, last, next, open, classes } = stateOf(records);
  const runs = [...lastRuns(records).values()].sort((a, b) => (a.day < b.day ? 1 : -1));
  const pages = Math.max(1, Math.ceil(runs.length / RUNS_OF_PAGE));
  const page = Math.min(Math.max(wanted, 1), pages);
  return {
    days,
    next,
    classes,
    last,
    open: open.length,
    page,
    pages,
    rows: runs.slice((page - 1) * RUNS_OF_PAGE, page * RUNS_OF_PAGE).map((run) => ({
      number: run.number,
      day: run.day,
      by: run.by,
      items: run.csv.items,
      exceptions: run.exceptions.length,
      open: openExceptions(records, run).length,
    })),
  };
}

/** A run with the first exceptions of each class, alarms first. */
function runOf(records: Records, wanted: string) {
  const run = records.runs.find((each) => String(each.number) === wanted);
  if (run === undefined) {
    throw new CountersignError('NOT_FOUND', 'there is no such run. The page of the journal lists all');
  }
  const closings = records.closings.filter((each) => each.run === run.number);
  return {
    ...run,
    /** The run that counts for the day: another one if this was replaced. */
    last: lastRuns(records).get(run.day)?.number ?? run.number,
    coins: run.coins.slice(0, COINS_SHOWN),
    moreCoins: Math.max(0, run.coins.length - COINS_SHOWN),
    exceptions: run.exceptions.length,
    closed: closings.length,
    open: openExceptions(records, run).length,
    classes: classesOf(run, closings),
  };
}

const isClass = (name: string): name is ClassName => Object.hasOwn(CLASSES, name);

function classesOf({ exceptions }: Run, closings: readonly Closing[]) {
  const closingOf = new Map(closings.map((closing) => [closing.item, closing]));
  return Object.keys(CLASSES)
    .filter(isClass)
    .sort((a, b) => (CLASSES[a].level < CLASSES[b].level ? -1 : 0))
    .map((name) => {
      const items = exceptions.filter((item) => item.class === name);
      const shown = items.slice(0, EXCEPTIONS_OF_CLASS);
      return {
        name,
        count: items.length,
        items: shown.map((item) => ({ ...item, closing: closingOf.get(item.item) })),
      };
    })
    .filter(({ count }) => count > 0);
}
