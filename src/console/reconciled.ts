import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError } from '../errors.ts';
import { CLASSES, type ClassName } from '../reconcile/classes.ts';
import {
  type Closing,
  type RecordedItem,
  type Records,
  type Run,
  TEMPORARY,
  lastRuns,
  openExceptions,
  readRecords,
} from '../reconcile/records.ts';
import { type State, stateOf } from '../reconcile/state.ts';

/*
 * What pages show of a reconciliation.
 */

/** A page of the days, newest first, and where the reconciliation stands. */
export interface ReconciledDays extends Pick<State, 'days' | 'next' | 'classes'> {
  readonly last: Pick<Run, 'day' | 'zone'> | undefined;
  readonly open: number;
  readonly page: number;
  readonly pages: number;
  readonly rows: readonly (Pick<Run, 'number' | 'day' | 'by'> & {
    readonly items: number;
    readonly exceptions: number;
    readonly open: number;
  })[];
}

/** A run with the first exceptions of each class, alarms first. */
export interface ReconciledRun extends Pick<Run, 'number' | 'day' | 'zone' | 'at' | 'by' | 'csv'> {
  /** The run that counts for the day: another one if this was replaced. */
  readonly last: number;
  readonly coins: Run['coins'];
  readonly moreCoins: number;
  readonly exceptions: number;
  readonly closed: number;
  readonly open: number;
  readonly classes: readonly {
    readonly name: ClassName;
    readonly count: number;
    readonly items: readonly ReconciledItem[];
  }[];
}

export interface ReconciledItem extends RecordedItem {
  readonly closing: Pick<Closing, 'message' | 'by' | 'entry'> | undefined;
}

export interface Reconciled {
  days(directory: string, page: number): ReconciledDays;
  /** Throws NOT_FOUND. */
  run(directory: string, number: string): ReconciledRun;
}

const RUNS_OF_PAGE = 50;
const EXCEPTIONS_OF_CLASS = 50;
const COINS_SHOWN = 100;
/** All records are read and verified, once for each change of the directory. */
const RECORDS_BYTES_MAX = 33_554_432;

/**
 * Reads the records of a directory, and keeps them until the directory changes: records are only ever added.
 * Each verb throws like readRecords, and USAGE for a directory that is too large.
 */
export function createReconciled(read: (directory: string) => Records = readRecords): Reconciled {
  let kept: { readonly state: string; readonly records: Records } | undefined;

  function recordsIn(directory: string): Records {
    const { state, bytes } = stateOfFiles(directory);
    if (bytes > RECORDS_BYTES_MAX) {
      throw new CountersignError(
        'USAGE',
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
    days: (directory, page) => daysOf(recordsIn(directory), page),
    run: (directory, number) => runOf(recordsIn(directory), number),
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

function daysOf(records: Records, wanted: number): ReconciledDays {
  const { days, last, next, open, classes } = stateOf(records);
  const runs = [...lastRuns(records).values()].sort((a, b) => (a.day < b.day ? 1 : -1));
  const pages = Math.max(1, Math.ceil(runs.length / RUNS_OF_PAGE));
  const page = Math.min(Math.max(wanted, 1), pages);
  return {
    days,
    next,
    classes,
    last: last && { day: last.day, zone: last.zone },
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

function runOf(records: Records, wanted: string): ReconciledRun {
  const run = records.runs.find((each) => String(each.number) === wanted);
  if (run === undefined) {
    throw new CountersignError('NOT_FOUND', 'there is no such run. The page of the journal lists all');
  }
  const { number, day, zone, at, by, csv, coins, exceptions } = run;
  const closings = records.closings.filter((each) => each.run === number);
  return {
    number,
    day,
    zone,
    at,
    by,
    csv,
    last: lastRuns(records).get(day)?.number ?? number,
    coins: coins.slice(0, COINS_SHOWN),
    moreCoins: Math.max(0, coins.length - COINS_SHOWN),
    exceptions: exceptions.length,
    closed: closings.length,
    open: openExceptions(records, run).length,
    classes: classesOf(run, closings),
  };
}

const isClass = (name: string): name is ClassName => Object.hasOwn(CLASSES, name);

function classesOf({ exceptions }: Run, closings: readonly Closing[]): ReconciledRun['classes'] {
  const closingOf = new Map(
    closings.map(({ item, message, by, entry }) => [item, { message, by, entry }] as const),
  );
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
