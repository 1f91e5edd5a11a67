import { closeSync, fsyncSync, openSync, readFileSync, readdirSync, renameSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { expectDirectory, syncFolder } from '../archive/folder.ts';
import { CountersignError, usageError } from '../errors.ts';
import { type Json, sha256Hex } from '../values/canonical.ts';
import { formatSchemaError } from '../values/schema-error.ts';
import { FLOWS, type Item } from './classes.ts';
import { amountText } from './approvals.ts';
import { FILE_MODE } from './items-csv.ts';
import { CLASS_NAMES } from './summary.ts';

/*
 * The directory of a reconciliation has numbered records, each a file: a run, or the closing of an exception.
 * Each record has the SHA-256 of the record before, so together they are a chain. The items of a run are in a
 * CSV file beside it, whose SHA-256 the run has. A record is on the disk as a whole, or not at all.
 */

/** The `previous` of the first record. */
const FIRST_PREVIOUS = '0'.repeat(64);
const NAME = /^(\d{8})-(run-\d{4}-\d\d-\d\d|close)\.json$/;
const CSV_NAME = /^\d{8}-run-\d{4}-\d\d-\d\d\.csv$/;
/** A killed run leaves files with this ending. */
export const TEMPORARY = '.tmp';

const text = z.string();
const count = z.int().nonnegative();
const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const side = z.strictObject({
  coin: text,
  amount: text,
  user: text,
  time: text,
  place: text,
  approvers: z.array(text).readonly().optional(),
});
const item = z.strictObject({
  item: z.int().positive(),
  class: z.enum(CLASS_NAMES),
  flow: z.enum(FLOWS),
  source: text,
  id: text,
  ours: side.optional(),
  theirs: side.optional(),
  note: text,
});
const sum = z.strictObject({ count, amount: text });
const chain = { number: z.int().positive(), at: z.iso.datetime(), by: text, previous: sha256 };

const runShape = z.strictObject({
  record: z.literal('run'),
  ...chain,
  /** The run of the same day that this one replaces; 0 if there was none. */
  replaces: count,
  day: text,
  zone: text,
  fromMs: count,
  untilMs: count,
  settleMs: count,
  sources: z.array(text),
  inputs: z.strictObject({
    bills: z.array(z.strictObject({ source: text, records: count, sha256 })),
    journal: z.strictObject({ entries: count, sha256 }),
    /** The run of the day before, whose settling items were carried; 0 for the first day. */
    before: z.strictObject({ run: count, sha256: text }),
  }),
  coins: z.array(
    z.strictObject({
      flow: z.enum(FLOWS),
      coin: text,
      approved: sum,
      settled: sum,
      difference: text,
      settling: sum,
      unexplained: text,
      unlimited: count,
    }),
  ),
  classes: z.partialRecord(z.enum(CLASS_NAMES), count),
  exceptions: z.array(item),
  settling: z.array(item),
  ahead: z.array(z.strictObject({ source: text, subjects: z.array(text) })),
  csv: z.strictObject({ file: text, items: count, sha256 }),
});

const closingShape = z.strictObject({
  record: z.literal('close'),
  ...chain,
  run: z.int().positive(),
  item: z.int().positive(),
  class: z.enum(CLASS_NAMES),
  source: text,
  id: text,
  message: text,
  /** The entry of the journal: `shop/17`. */
  entry: text,
});

export type Run = Readonly<z.output<typeof runShape>>;
export type Closing = Readonly<z.output<typeof closingShape>>;
export type RecordedItem = Readonly<z.output<typeof item>>;

const shapes = { run: runShape, close: closingShape };

export interface Records {
  readonly directory: string;
  readonly runs: readonly Run[];
  readonly closings: readonly Closing[];
  readonly next: Readonly<{ number: number; previous: string }>;
}

/**
 * Reads and verifies all records. Throws USAGE if the directory is missing or has files of something else,
 * and STORE_CORRUPT, naming the file, if a record was changed, removed or added.
 */
export function readRecords(directory: string): Records {
  expectDirectory(directory);
  const [runs, closings]: [Run[], Closing[]] = [[], []];
  let next = { number: 1, previous: FIRST_PREVIOUS };
  for (const name of recordNames(directory)) {
    const path = join(directory, name);
    const bytes = readFileSync(path);
    const record = parseRecord(path, bytes, name.includes('close') ? shapes.close : shapes.run);
    const isNext = record.number === next.number && name.startsWith(padded(record.number));
    if (!isNext) throw fault(path, `it is not record ${next.number}: a record was removed, added or renamed`);
    if (record.previous !== next.previous)
      throw fault(path, 'it does not continue the record before, or that was changed');
    if (record.record === 'run') runs.push(record);
    else closings.push(record);
    next = { number: next.number + 1, previous: sha256Hex(bytes) };
  }
  return { directory, runs, closings, next };
}

function recordNames(directory: string): readonly string[] {
  const names = readdirSync(directory).filter((name) => !name.startsWith('.') && name !== 'lost+found');
  const other = names.find((name) => !NAME.test(name) && !CSV_NAME.test(name) && !name.endsWith(TEMPORARY));
  if (other !== undefined) {
    throw usageError(
      `${join(directory, other)} is not a file of a reconciliation. Name a directory of its own`,
      { directory },
    );
  }
  return names.filter((name) => NAME.test(name)).sort();
}

function parseRecord(
  path: string,
  bytes: Buffer,
  shape: typeof runShape | typeof closingShape,
): Run | Closing {
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw fault(path, 'it is not JSON');
  }
  const read = shape.safeParse(json);
  if (!read.success) throw fault(path, formatSchemaError(read.error, json));
  return read.data;
}

/**
 * Writes the next record. Resolves once it is on the disk, with its bytes. The caller must hold the
 * directory.
 */
export async function writeRecord(
  { directory }: Pick<Records, 'directory'>,
  name: string,
  record: Json,
): Promise<void> {
  const path = join(directory, name);
  const temporary = `${path}${TEMPORARY}`;
  const file = openSync(temporary, 'w', FILE_MODE);
  try {
    const bytes = Buffer.from(`${JSON.stringify(record, undefined, 1)}\n`);
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  await syncFolder(directory);
}

export const runName = (number: number, day: string): string => `${padded(number)}-run-${day}`;
export const closingName = (number: number): string => `${padded(number)}-close`;
const padded = (number: number): string => String(number).padStart(8, '0');

/** An item as records and `--json` have it. */
export function recordedItem(number: number, { ours, theirs, ...rest }: Item): RecordedItem {
  const { class: name, flow, source, id, note } = rest;
  return {
    item: number,
    class: name,
    flow,
    source,
    id,
    ...(ours === undefined ? {} : { ours: { ...ours, amount: amountText(ours.amount) } }),
    ...(theirs === undefined ? {} : { theirs: { ...theirs, amount: amountText(theirs.amount) } }),
    note,
  };
}

export const subjectOfItem = ({ flow, id }: Pick<RecordedItem, 'flow' | 'id'>): string =>
  `${flow === 'transfer-order' ? 'payment' : flow}:${id}`;

/** The exceptions of a run that are not closed. */
export function openExceptions({ closings }: Pick<Records, 'closings'>, run: Run): readonly RecordedItem[] {
  const closed = new Set(closings.filter((each) => each.run === run.number).map((each) => each.item));
  return run.exceptions.filter((each) => !closed.has(each.item));
}

/** The run that counts for each day, by date: the last one. */
export function lastRuns({ runs }: Pick<Records, 'runs'>): ReadonlyMap<string, Run> {
  return new Map(runs.map((run) => [run.day, run]));
}

const fault = (path: string, because: string): CountersignError =>
  new CountersignError(
    'STORE_CORRUPT',
    `the reconciliation is damaged: ${path}: ${because}. Restore the directory from a copy`,
    { file: path },
  );
