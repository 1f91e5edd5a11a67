import { closeSync, fstatSync, openSync } from 'node:fs';
import { z } from 'zod';
import { CountersignError, messageOf, usageError } from '../errors.ts';
import {
  type LineOrder,
  createOrderCheck,
  isExportEnd,
  lineBeginning,
  readExported,
} from '../journal/exported.ts';
import { type RecordItem, isPriceChange } from '../journal/record.ts';
import { type RecordedText, recordedText } from '../journal/recorded.ts';
import { type Line, type LineFault, linesOf, textOf } from '../values/lines.ts';

/*
 * A record is a file of JSON Lines that `decisions export` or `journal export` wrote. The entries of one
 * source are in order of time. The file as a whole need not be: an archive is written source by source, and
 * the sources of one store may lie on servers whose clocks differ. So a file is read as runs of lines that
 * ascend in time, and these runs are merged.
 */

/**
 * Reads a record in order of time and with bounded memory. An item that is in the file twice, in the same
 * millisecond, is returned once. Throws USAGE for a file that can't be read, naming the line, and for a file
 * with more than one export.
 */
export function* readRecordFile(
  path: string,
  progress: (part: number) => void = () => undefined,
): Generator<RecordItem> {
  for (const { item } of readRecordLines(path, progress)) yield item;
}

/** Like {@link readRecordFile}, with the number of each item's line. */
export function* readRecordLines(
  path: string,
  progress: (part: number) => void = () => undefined,
): Generator<{ readonly item: RecordItem; readonly line: number }> {
  const file = open(path);
  try {
    const { size } = fstatSync(file);
    let done = 0;
    const cursors = findRuns(file, path).map((run) => cursorAt(readRun(file, path, run)));
    let seen = new Set<string>();
    let nowMs = -1;
    for (;;) {
      const cursor = cursors.reduce<Cursor | undefined>(earlier, undefined);
      const next = cursor?.next;
      if (cursor === undefined || next === undefined) return;
      const { item, line, bytes } = next;
      if (item.atMs !== nowMs) [seen, nowMs] = [new Set(), item.atMs];
      const name = isPriceChange(item) ? `prices ${item.version}` : `${item.source} ${item.id}`;
      if (!seen.has(name)) yield { item, line };
      seen.add(name);
      done += bytes;
      progress(done / size);
      advance(cursor);
    }
  } finally {
    closeSync(file);
  }
}

interface ReadItem {
  readonly item: RecordItem;
  readonly line: number;
  readonly bytes: number;
}

interface Cursor {
  next: ReadItem | undefined;
  readonly rest: Iterator<ReadItem>;
}

function cursorAt(rest: Iterator<ReadItem>): Cursor {
  const cursor: Cursor = { next: undefined, rest };
  advance(cursor);
  return cursor;
}

function advance(cursor: Cursor): void {
  const next = cursor.rest.next();
  cursor.next = next.done === true ? undefined : next.value;
}

/**
 * Changes of prices come before the entries of their millisecond. Otherwise the order in the file decides.
 */
function earlier(a: Cursor | undefined, b: Cursor): Cursor | undefined {
  if (b.next === undefined) return a;
  if (a?.next === undefined) return b;
  const [one, other] = [a.next.item, b.next.item];
  if (one.atMs !== other.atMs) return one.atMs < other.atMs ? a : b;
  return isPriceChange(other) && !isPriceChange(one) ? b : a;
}

function* readRun(file: number, path: string, run: Run): Generator<ReadItem> {
  const fault = faultIn(path);
  for (const line of linesOf(file, fault, run)) {
    const text = textOf(line, fault);
    const item = text === '' ? undefined : readExported(text);
    if (typeof item === 'string') throw fault(line.number, item);
    if (item !== undefined && !('end' in item)) yield { item, line: line.number, bytes: line.size };
  }
}

/** The callback of one entry, to be read again. */
export interface RecordedBody extends RecordedText {
  readonly id: string;
  readonly source: string;
}

/**
 * The callback of the journal's entry in a text, which an export wrote. Undefined for another text, such as a body.
 * Throws USAGE for several entries, and for one without a callback.
 */
export function recordedBody(text: string): RecordedBody | undefined {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !isExportEnd(line));
  const [first = ''] = lines;
  if (lineBeginning(first) === undefined) return undefined;
  const item = readExported(first);
  if (lines.length > 1 || typeof item === 'string' || 'end' in item || isPriceChange(item)) {
    const what = typeof item === 'string' ? item : `it has ${lines.length} lines`;
    throw usageError(`this is not one entry of the journal: ${what}. Give one line of an export`);
  }
  const { id, source, type } = item;
  const recorded = recordedText(item);
  if (typeof recorded !== 'string') return { id, source, ...recorded };
  const fix = 'Give an entry of a decision';
  throw usageError(`the entry ${source}/${id} (${type}) has no callback: ${recorded}. ${fix}`);
}

const faultIn =
  (path: string): LineFault =>
  (line, because) =>
    usageError(`line ${line} of ${path} is not an entry of the journal (${because}). ${EXPORT_AGAIN}`, {
      file: path,
      line,
    });

function open(path: string): number {
  try {
    const file = openSync(path, 'r');
    if (fstatSync(file).isFile()) return file;
    closeSync(file);
    throw new Error('it is not a plain file');
  } catch (thrown) {
    throw usageError(
      `${path} can't be read: ${messageOf(thrown)}. Name a file that \`countersign decisions export\` wrote`,
    );
  }
}

/** Consecutive lines of a file that ascend in time. */
interface Run {
  /** Offsets in bytes. `end` is the offset after its last line. */
  readonly start: number;
  readonly end: number;
  /** The number of its first line, counted from 1. */
  readonly firstLine: number;
}

/** Each run is read with its own buffer. */
const RUNS_MAX = 1000;

/** Throws USAGE for more than one export in the file, for too many runs, and for a line without a time. */
function findRuns(file: number, path: string): readonly Run[] {
  const runs: Run[] = [];
  const isInOrder = createOrderCheck();
  let [start, firstLine, at, lastMs] = [0, 1, 0, 0];
  for (const line of linesOf(file, faultIn(path))) {
    const { bytes, number, size } = line;
    const isEntry = bytes.length > 0 && !isExportEnd(bytes.toString('latin1', 0, BEGINNING_BYTES));
    const entry = isEntry ? orderOf(line) : { source: '', atMs: lastMs };
    if (entry === undefined) throw unusable(path, `line ${number} has no time (atMs). ${EXPORT_AGAIN}`);
    if (!isInOrder(entry)) throw unusable(path, severalExports(path, number, entry.source));
    if (entry.atMs < lastMs) {
      runs.push({ start, end: at, firstLine });
      [start, firstLine] = [at, number];
    }
    if (runs.length >= RUNS_MAX)
      throw unusable(path, `its lines are not sorted by time. ${EXPORT_AGAIN} Or ${sortFix(path)}`);
    lastMs = entry.atMs;
    at += size;
  }
  if (at > start) runs.push({ start, end: at, firstLine });
  return runs;
}

const EXPORT_AGAIN = 'Make the file with `countersign decisions export`.';

const severalExports = (path: string, line: number, source: string): string =>
  `line ${line} is older than the entry of ${source} before it: the file has several exports, or ` +
  'its lines are not sorted by time. Continue an export with `countersign decisions export --to ' +
  `FILE\`, or ${sortFix(path)}`;

/**
 * The fourth part between colons begins with the time. A stable sort keeps the entries of one millisecond.
 */
const sortFix = (path: string): string => `sort the lines: \`sort -s -n -t : -k 4,4 ${path} > SORTED\``;

const BEGINNING_BYTES = 512;

/** The source and the time of a line, from its beginning if it was written by an export. */
function orderOf({ bytes }: Line): LineOrder | undefined {
  const beginning = lineBeginning(bytes.toString('latin1', 0, BEGINNING_BYTES));
  if (beginning !== undefined) return beginning;
  try {
    return orderShape.safeParse(JSON.parse(bytes.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

const orderShape = z.object({ source: z.string().default(''), atMs: z.int() });

function unusable(path: string, what: string): CountersignError {
  return usageError(`${path}: ${what}`, { file: path });
}
