import { readSync } from 'node:fs';
import { CountersignError } from '../errors.ts';

/** A part of a file whose lines ascend in time. */
export interface Run {
  /** In bytes; `end` is past its last line. */
  readonly start: number;
  readonly end: number;
  /** The number of its first line, counted from 1. */
  readonly firstLine: number;
}

export interface Line {
  readonly text: string;
  readonly line: number;
  /** Of the line with its break. */
  readonly bytes: number;
}

/** Each run is read on its own, with a buffer of its own. */
const RUNS_MAX = 1000;
const BUFFER_BYTES = 65_536;
/**
 * An entry holds a body of 64 KiB at most, as JSON within JSON, and a plaintext; nothing that long is an
 * entry.
 */
const LINE_MAX_BYTES = 16_777_216;
const LINE_BREAK = 10;

/** How `decisions export` begins a line: id, source and time are known without reading the rest. */
export const LINE_BEGINNING = /^\{"id":"([^"\\]*)","source":"([^"\\]*)","atMs":(\d{1,16}),/;
const BEGINNING_BYTES = 512;

/**
 * The fewest runs that a file falls into. Throws USAGE for a file in no order at all, or a line without a
 * time.
 */
export function findRuns(file: number, path: string): readonly Run[] {
  const runs: Run[] = [];
  let [start, firstLine, at, lastMs] = [0, 1, 0, 0];
  const whole = { start: 0, end: Number.MAX_SAFE_INTEGER, firstLine: 1 };
  for (const { bytes, line, slice } of slicesOf(file, whole)) {
    const atMs = slice.length === 0 ? lastMs : timeOf(slice);
    if (atMs === undefined) throw wrong(path, `line ${line} has no time (atMs)`);
    if (atMs < lastMs) {
      runs.push({ start, end: at, firstLine });
      [start, firstLine] = [at, line];
    }
    if (runs.length >= RUNS_MAX) throw wrong(path, `its lines are in no order of time`);
    lastMs = atMs;
    at += bytes;
  }
  if (at > start) runs.push({ start, end: at, firstLine });
  return runs;
}

/** The lines of a run, but for empty ones. */
export function* linesOf(file: number, run: Run): Generator<Line> {
  for (const { bytes, line, slice } of slicesOf(file, run)) {
    const text = slice.toString('utf8');
    if (text !== '') yield { text, line, bytes };
  }
}

interface Slice {
  /** Valid until the next is asked for. */
  readonly slice: Buffer;
  readonly line: number;
  readonly bytes: number;
}

function* slicesOf(file: number, { start, end, firstLine }: Run): Generator<Slice> {
  let buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  let [position, held, line] = [start, 0, firstLine];
  for (;;) {
    const room = Math.min(buffer.length - held, end - position);
    const read = room === 0 ? 0 : readSync(file, buffer, held, room, position);
    position += read;
    held += read;
    let from = 0;
    for (;;) {
      const found = buffer.subarray(0, held).indexOf(LINE_BREAK, from);
      const to = found === -1 && read === 0 && from < held ? held : found;
      if (to === -1) break;
      yield { slice: buffer.subarray(from, to), line, bytes: Math.min(to + 1, held) - from };
      from = Math.min(to + 1, held);
      line++;
    }
    if (read === 0) return;
    buffer.copyWithin(0, from, held);
    held -= from;
    if (held === buffer.length) buffer = grown(buffer, held, line);
  }
}

function grown(buffer: Buffer<ArrayBuffer>, held: number, line: number): Buffer<ArrayBuffer> {
  if (buffer.length >= LINE_MAX_BYTES) {
    throw new CountersignError(
      'USAGE',
      `line ${line} has more than ${LINE_MAX_BYTES} bytes; it is no entry of the journal`,
    );
  }
  const more = Buffer.allocUnsafe(buffer.length * 2);
  buffer.copy(more, 0, 0, held);
  return more;
}

function timeOf(slice: Buffer): number | undefined {
  const found = LINE_BEGINNING.exec(slice.toString('latin1', 0, BEGINNING_BYTES))?.[3];
  if (found !== undefined) return Number(found);
  const text = slice.toString('utf8');
  try {
    const written: unknown = JSON.parse(text);
    const atMs: unknown =
      typeof written === 'object' && written !== null && 'atMs' in written ? written.atMs : undefined;
    return typeof atMs === 'number' && Number.isSafeInteger(atMs) ? atMs : undefined;
  } catch {
    return undefined;
  }
}

function wrong(path: string, what: string): CountersignError {
  return new CountersignError(
    'USAGE',
    `${path}: ${what}; make the file with \`countersign decisions export\``,
    { file: path },
  );
}
