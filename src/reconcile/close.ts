import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CountersignError, usageError } from '../errors.ts';
import type { Journal } from '../store/store.ts';
import { sha256Hex } from '../values/canonical.ts';
import type { Clock } from '../values/clock.ts';
import {
  type Closing,
  type RecordedItem,
  type Records,
  type Run,
  closingName,
  lastRuns,
  openExceptions,
  readRecords,
  runName,
  writeRecord,
} from './records.ts';
import { holding } from './run.ts';

export interface ClosingParts {
  readonly directory: string;
  readonly run: number;
  readonly item: number;
  readonly message: string;
  readonly by: string;
  readonly clock: Clock;
  readonly store: Pick<Journal, 'record' | 'entries'>;
}

/** The detail of a journal entry of type `reconciliation`, as JSON. */
export interface ClosingDetail {
  readonly change: 'close';
  readonly run: number;
  /** The SHA-256 of the run's record, so that the journal shows whether the record was changed since. */
  readonly runSha256: string;
  readonly day: string;
  readonly item: RecordedItem;
  readonly by: string;
  readonly message: string;
}

export interface ClosingResult {
  readonly closing: Closing;
  /** The exceptions of the run that are still open. */
  readonly open: number;
}

/**
 * Closes an exception of a run with a note. The journal of the source gets an entry first, so a closing is
 * never without one; a call that was interrupted between the two finds its entry again. Rejects with
 * NOT_FOUND, and with USAGE for a run that was replaced and an exception that is closed.
 */
export async function closeException(parts: ClosingParts): Promise<ClosingResult> {
  const { directory, by, clock, message } = parts;
  return holding(directory, async () => {
    const records = readRecords(directory);
    const { next } = records;
    const run = runToClose(records, parts.run);
    const item = itemToClose(records, run, parts.item);
    const open = openExceptions(records, run).length;
    const { number, day } = run;
    const runSha256 = sha256Hex(readFileSync(join(directory, `${runName(number, day)}.json`)));
    const detail: ClosingDetail = { change: 'close', run: number, runSha256, day, item, by, message };
    const entry = await journalled(parts, item, detail);
    const closing: Closing = {
      record: 'close',
      number: next.number,
      at: new Date(clock()).toISOString(),
      by,
      previous: next.previous,
      run: number,
      item: item.item,
      class: item.class,
      source: item.source,
      id: item.id,
      message,
      entry: `${item.source}/${entry}`,
    };
    await writeRecord({ directory }, `${closingName(closing.number)}.json`, closing);
    return { closing, open: open - 1 };
  });
}

function runToClose(records: Records, number: number): Run {
  const run = records.runs.find((each) => each.number === number);
  if (run === undefined) {
    const numbers = records.runs.map((each) => each.number).join(', ');
    throw notFound(`${records.directory} has no run ${number}. Its runs: ${numbers || 'none'}`);
  }
  const last = lastRuns(records).get(run.day);
  if (last === undefined || last.number === number) return run;
  throw usageError(
    `run ${number} was replaced by run ${last.number}, because its inputs changed. Close an item of that`,
  );
}

function itemToClose(records: Records, run: Run, number: number): RecordedItem {
  const item = run.exceptions.find((each) => each.item === number);
  if (item === undefined) {
    const numbers = openExceptions(records, run).map((each) => each.item);
    const list = numbers.length === 0 ? 'none' : numbers.slice(0, 20).join(', ');
    throw notFound(`item ${number} of run ${run.number} is not an exception. Its open exceptions: ${list}`);
  }
  const closed = records.closings.find((each) => each.run === run.number && each.item === number);
  if (closed === undefined) return item;
  throw usageError(
    `item ${number} of run ${run.number} was closed by ${closed.by} at ${closed.at}: ${closed.message}. ` +
      'There is nothing left to do',
  );
}

/** The id of the closing's entry: the one of an interrupted call, or a new one. */
async function journalled(
  { store }: ClosingParts,
  { source }: RecordedItem,
  detail: ClosingDetail,
): Promise<string> {
  const subject = `reconciliation:${detail.runSha256.slice(0, 16)}/${detail.item.item}`;
  const text = JSON.stringify(detail);
  const known = await store.entries({ source, subject, limit: 1000 });
  const same = known.find((entry) => entry.type === 'reconciliation' && entry.detail === text);
  if (same !== undefined) return same.id;
  return store.record({
    source,
    type: 'reconciliation',
    subject,
    verdict: '',
    code: CODE,
    of: '',
    detail: text,
  });
}

const CODE = 'EXCEPTION_CLOSED';

const notFound = (message: string): CountersignError => new CountersignError('NOT_FOUND', message);
