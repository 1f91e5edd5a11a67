import { nextDay } from './earlier.ts';
import { type RecordedItem, type Records, type Run, lastRuns, openExceptions } from './records.ts';
import { type Summary, countClasses } from './summary.ts';

/** Where a reconciliation stands. */
export interface State {
  readonly days: number;
  /** The run of the newest day. */
  readonly last: Run | undefined;
  /** The next day to reconcile; undefined without runs. */
  readonly next: string | undefined;
  /** The exceptions of all days that are not closed, by day, with the number of their run. */
  readonly open: readonly OpenException[];
  readonly classes: Summary['classes'];
}

export interface OpenException extends RecordedItem {
  readonly run: number;
  readonly day: string;
}

export function stateOf(records: Records): State {
  const runs = [...lastRuns(records).values()].sort((a, b) => (a.day < b.day ? -1 : 1));
  const open = runs.flatMap((run) =>
    openExceptions(records, run).map((item) => ({ run: run.number, day: run.day, ...item })),
  );
  return {
    days: runs.length,
    last: runs.at(-1),
    next: nextDay(records),
    open,
    classes: countClasses(open),
  };
}
