import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { z } from 'zod';
import { CountersignError, messageOf } from '../errors.ts';
import { isExportEnd } from '../store/export-end.ts';
import { JOURNAL_TYPES } from '../store/store.ts';
import { parseAmount } from '../values/amount.ts';
import { formatSchemaError } from '../values/schema-error.ts';
import {
  type SplitProposal,
  type RecordItem,
  type RecordedPrices,
  type RecordedText,
  recordedText,
  splitProposal,
} from './record.ts';

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
      const name = item.type === 'prices' ? `prices ${item.version}` : `${item.source} ${item.id}`;
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
  return other.type === 'prices' && one.type !== 'prices' ? b : a;
}

function* readRun(file: number, path: string, run: Run): Generator<ReadItem> {
  for (const { text, line, bytes } of linesOf(file, run)) {
    if (isExportEnd(text)) continue;
    const item = itemOf(text);
    if (typeof item === 'string') throw invalidLineError(path, line, item);
    yield { item, line, bytes };
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
  if (!LINE_BEGINNING.test(first)) return undefined;
  const item = itemOf(first);
  if (lines.length > 1 || typeof item === 'string' || item.type === 'prices') {
    const what = typeof item === 'string' ? item : `it has ${lines.length} lines`;
    throw new CountersignError(
      'USAGE',
      `this is not one entry of the journal: ${what}. Give one line of an export`,
    );
  }
  const { id, source, type } = item;
  const recorded = recordedText(item);
  if (typeof recorded !== 'string') return { id, source, ...recorded };
  const fix = 'Give an entry of a decision';
  throw new CountersignError(
    'USAGE',
    `the entry ${source}/${id} (${type}) has no callback: ${recorded}. ${fix}`,
  );
}

const entryShape = z.object({
  id: z.string(),
  source: z.string(),
  atMs: z.int(),
  type: z.enum(JOURNAL_TYPES),
  subject: z.string(),
  verdict: z.enum(['SUCCESS', 'FAILURE', '']),
  code: z.string(),
  of: z.string().optional(),
  claims: z.unknown(),
  detail: z.unknown(),
});

const price = z
  .object({
    asset: z.string(),
    price: z
      .string()
      .refine((text) => (parseAmount(text) ?? 0n) > 0n, 'not a price')
      .transform((text) => parseAmount(text) ?? 0n),
    asOf: z.iso.datetime(),
  })
  .transform(({ asOf, ...rest }) => ({ ...rest, asOfMs: Date.parse(asOf) }));

const pricesShape = z
  .object({
    type: z.literal('prices'),
    atMs: z.int(),
    detail: z.object({ version: z.int(), set: z.array(price), remove: z.array(z.string()) }),
  })
  .transform(({ type, atMs, detail }): RecordedPrices => ({ type, atMs, ...detail }));

/** The item of a line, or a sentence that says what is wrong with it. */
function itemOf(text: string): RecordItem | string {
  let split: SplitProposal;
  try {
    split = splitProposal(text);
  } catch (thrown) {
    return messageOf(thrown);
  }
  const { rest: written, proposal, prices } = split;
  const isPrices =
    typeof written === 'object' && written !== null && 'type' in written && written.type === 'prices';
  const read = isPrices ? pricesShape.safeParse(written) : entryShape.safeParse(written);
  if (read.success) return read.data.type === 'prices' ? read.data : { ...read.data, proposal, prices };
  return formatSchemaError(read.error, written);
}

function invalidLineError(path: string, line: number, why: string): CountersignError {
  return new CountersignError(
    'USAGE',
    `line ${line} of ${path} is not an entry of the journal (${why}). ${EXPORT_AGAIN}`,
    { file: path, line },
  );
}

function open(path: string): number {
  try {
    const file = openSync(path, 'r');
    if (fstatSync(file).isFile()) return file;
    closeSync(file);
    throw new Error('it is not a plain file');
  } catch (thrown) {
    throw new CountersignError(
      'USAGE',
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
  for (const { bytes, line, slice } of slicesOf(file, { start: 0, end: Infinity, firstLine: 1 })) {
    const isEntry = slice.length > 0 && !isExportEnd(slice.toString('latin1', 0, BEGINNING_BYTES));
    const entry = isEntry ? beginningOf(slice) : { source: '', atMs: lastMs };
    if (entry === undefined) throw unusable(path, `line ${line} has no time (atMs). ${EXPORT_AGAIN}`);
    if (!isInOrder(entry)) throw unusable(path, severalExports(path, line, entry.source));
    if (entry.atMs < lastMs) {
      runs.push({ start, end: at, firstLine });
      [start, firstLine] = [at, line];
    }
    if (runs.length >= RUNS_MAX)
      throw unusable(path, `its lines are not sorted by time. ${EXPORT_AGAIN} Or ${sortFix(path)}`);
    lastMs = entry.atMs;
    at += bytes;
  }
  if (at > start) runs.push({ start, end: at, firstLine });
  return runs;
}

/** The source and the time, by which lines are ordered. Changes of prices have the source ''. */
interface LineOrder {
  readonly source: string;
  readonly atMs: number;
}

/**
 * Makes a check that is false for the first line at which a source goes back in time. One export never does,
 * so the file has several. Changes of prices may: an export with `--after` repeats some.
 */
export function createOrderCheck(): (line: LineOrder) => boolean {
  const lastMsOf = new Map<string, number>();
  return ({ source, atMs }) => {
    if (source === '') return true;
    if (atMs < (lastMsOf.get(source) ?? 0)) return false;
    lastMsOf.set(source, atMs);
    return true;
  };
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

interface Line {
  readonly text: string;
  readonly line: number;
  /** With its line break. */
  readonly bytes: number;
}

/** The lines of a run, without empty ones. */
export function* linesOf(file: number, run: Run): Generator<Line> {
  for (const { bytes, line, slice } of slicesOf(file, run)) {
    const text = slice.toString('utf8');
    if (text !== '') yield { text, line, bytes };
  }
}

const BUFFER_BYTES = 65_536;
/** More than an entry can have: a body of 64 KiB, as JSON in JSON, and its plaintext. */
const LINE_MAX_BYTES = 16_777_216;
const LINE_BREAK = 10;

interface Slice {
  /** Valid until the next slice is read. */
  readonly slice: Buffer;
  readonly line: number;
  readonly bytes: number;
}

function* slicesOf(file: number, { start, end, firstLine }: Run): Generator<Slice> {
  let buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  let [position, keptBytes, line] = [start, 0, firstLine];
  for (;;) {
    const room = Math.min(buffer.length - keptBytes, end - position);
    const read = room === 0 ? 0 : readSync(file, buffer, keptBytes, room, position);
    position += read;
    keptBytes += read;
    let from = 0;
    for (;;) {
      const found = buffer.subarray(0, keptBytes).indexOf(LINE_BREAK, from);
      const to = found === -1 && read === 0 && from < keptBytes ? keptBytes : found;
      if (to === -1) break;
      yield { slice: buffer.subarray(from, to), line, bytes: Math.min(to + 1, keptBytes) - from };
      from = Math.min(to + 1, keptBytes);
      line++;
    }
    if (read === 0) return;
    buffer.copyWithin(0, from, keptBytes);
    keptBytes -= from;
    if (keptBytes === buffer.length) buffer = grown(buffer, keptBytes, line);
  }
}

function grown(buffer: Buffer<ArrayBuffer>, keptBytes: number, line: number): Buffer<ArrayBuffer> {
  if (buffer.length >= LINE_MAX_BYTES) {
    throw new CountersignError(
      'USAGE',
      `line ${line} has more than ${LINE_MAX_BYTES} bytes, so it is not an entry of the journal. ` +
        EXPORT_AGAIN,
    );
  }
  const more = Buffer.allocUnsafe(buffer.length * 2);
  buffer.copy(more, 0, 0, keptBytes);
  return more;
}

/** How an exported line begins: its id, source and time can be read without the rest. */
export const LINE_BEGINNING = /^\{"id":"([^"\\]*)","source":"([^"\\]*)","atMs":(\d{1,16}),/;
const BEGINNING_BYTES = 512;

function beginningOf(slice: Buffer): LineOrder | undefined {
  const [, , source, time] = LINE_BEGINNING.exec(slice.toString('latin1', 0, BEGINNING_BYTES)) ?? [];
  if (source !== undefined) return { source, atMs: Number(time) };
  try {
    return orderShape.safeParse(JSON.parse(slice.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

const orderShape = z.object({ source: z.string().default(''), atMs: z.int() });

function unusable(path: string, what: string): CountersignError {
  return new CountersignError('USAGE', `${path}: ${what}`, { file: path });
}
