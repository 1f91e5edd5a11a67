import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';
import { messageOf } from '../errors.ts';

/** A line of a file. */
export interface Line {
  /** Without its line break. Valid until the next line is read. */
  readonly bytes: Buffer;
  /** Counted from 1. */
  readonly number: number;
  /** In bytes, with its line break. */
  readonly size: number;
  /** False for a last line without a line break: the file was cut off, or is being written. */
  readonly isComplete: boolean;
}

/** Makes the error for a fault in a line. Line 0 means the whole file. */
export type LineFault = (line: number, because: string) => Error;

const BUFFER_BYTES = 65_536;
/**
 * The most bytes of a line. No entry of the journal is that long: a body of 64 KiB, as JSON in JSON, with its
 * plaintext, or a change of a list with 50,000 values.
 */
export const LINE_MAX_BYTES = 33_554_432;
const LINE_BREAK = 10;

interface Range {
  /** Offsets in bytes. */
  readonly start: number;
  readonly end: number;
  /** The number of the line at `start`. */
  readonly firstLine: number;
}

const WHOLE: Range = { start: 0, end: Infinity, firstLine: 1 };

/** The lines of a part of an open file, with bounded memory. Throws if it can't be read or a line is too long. */
export function* linesOf(file: number, fault: LineFault, range: Partial<Range> = {}): Generator<Line> {
  const { start, end, firstLine } = { ...WHOLE, ...range };
  const buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  const splitter = createSplitter(fault, firstLine);
  for (let position = start; position < end;) {
    const read = readBytes(
      file,
      buffer.subarray(0, Math.min(buffer.length, end - position)),
      position,
      fault,
    );
    if (read === 0) break;
    position += read;
    yield* splitter.linesIn(buffer.subarray(0, read));
  }
  yield* splitter.rest();
}

function readBytes(file: number, into: Buffer, position: number, fault: LineFault): number {
  try {
    return readSync(file, into, 0, into.length, position);
  } catch (thrown) {
    throw unreadable(fault, thrown);
  }
}

const unreadable = (fault: LineFault, thrown: unknown): Error =>
  fault(0, `it can't be read: ${messageOf(thrown)}`);

/** The lines in chunks of bytes, with bounded memory. Rejects if a line is too long. */
export async function* linesInChunks(chunks: AsyncIterable<Buffer>, fault: LineFault): AsyncGenerator<Line> {
  const splitter = createSplitter(fault, 1);
  for await (const chunk of chunks) yield* splitter.linesIn(chunk);
  yield* splitter.rest();
}

/**
 * The texts of the lines of a file. Throws if it can't be read, is not UTF-8, or has a last line without a line
 * break: somebody still writes the file, or it was cut off.
 */
export function* readLines(
  path: string,
  fault: LineFault,
): Generator<{ readonly text: string; readonly number: number }> {
  let file: number;
  try {
    file = openSync(path, 'r');
  } catch (thrown) {
    throw unreadable(fault, thrown);
  }
  try {
    for (const line of linesOf(file, fault)) yield { text: completeText(line, fault), number: line.number };
  } finally {
    closeSync(file);
  }
}

/** The text of a line that has its line break. Throws for any other, and for one that is not UTF-8. */
export function completeText(line: Line, fault: LineFault): string {
  if (!line.isComplete) throw fault(line.number, 'it has no line break: the file was cut off here');
  return textOf(line, fault);
}

/** Throws for a line that is not UTF-8. */
export function textOf({ bytes, number }: Line, fault: LineFault): string {
  if (!isUtf8(bytes)) throw fault(number, 'it is not UTF-8');
  return bytes.toString('utf8');
}

interface Splitter {
  /** The lines that end in a chunk. */
  readonly linesIn: (chunk: Buffer) => Generator<Line>;
  /** What follows the last line break. */
  readonly rest: () => Generator<Line>;
}

function createSplitter(fault: LineFault, firstLine: number): Splitter {
  /** The beginning of a line that continues in the next chunk. */
  let kept = Buffer.alloc(0);
  let [keptBytes, number] = [0, firstLine];

  const keep = (bytes: Buffer): void => {
    const length = keptBytes + bytes.length;
    if (length > LINE_MAX_BYTES) throw fault(number, `it has more than ${LINE_MAX_BYTES} bytes`);
    if (length > kept.length) {
      const longer = Buffer.allocUnsafe(2 * length);
      kept.copy(longer, 0, 0, keptBytes);
      kept = longer;
    }
    bytes.copy(kept, keptBytes);
    keptBytes = length;
  };
  const takeKept = (): Buffer => {
    const whole = kept.subarray(0, keptBytes);
    keptBytes = 0;
    return whole;
  };

  return {
    *linesIn(chunk) {
      let from = 0;
      for (let to = chunk.indexOf(LINE_BREAK); to !== -1; to = chunk.indexOf(LINE_BREAK, from)) {
        let bytes = chunk.subarray(from, to);
        if (keptBytes > 0) {
          keep(bytes);
          bytes = takeKept();
        }
        yield { bytes, number: number++, size: bytes.length + 1, isComplete: true };
        from = to + 1;
      }
      if (from < chunk.length) keep(chunk.subarray(from));
    },
    *rest() {
      const size = keptBytes;
      if (size > 0) yield { bytes: takeKept(), number, size, isComplete: false };
    },
  };
}
