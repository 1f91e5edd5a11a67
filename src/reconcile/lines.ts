import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { messageOf } from '../errors.ts';

/** A line of a file. */
export interface Line {
  /** Without its line break. */
  readonly text: string;
  /** Counted from 1. */
  readonly number: number;
}

export interface LineReader {
  /** The lines in order, with bounded memory. To be read once. */
  readonly lines: AsyncGenerator<Line>;
  /** The SHA-256 of the file's bytes, once all lines were read. */
  readonly digest: () => string;
}

/** Makes the error for a fault in a line. Line 0 means the whole file. */
export type LineFault = (line: number, because: string) => Error;

const BUFFER_BYTES = 65_536;
/** More than an entry of the journal has: a body of 64 KiB, as JSON in JSON, and its plaintext. */
const LINE_MAX_BYTES = 16_777_216;
const LINE_BREAK = 10;

/**
 * Reads a file line by line. Rejects if it can't be read, is not UTF-8, or has a last line without a line
 * break: somebody still writes the file, or it was cut off.
 */
export function readLines(path: string, fault: LineFault): LineReader {
  const hash = createHash('sha256');
  let digest = '';
  return {
    lines: linesOf(path, fault, {
      update: (chunk) => void hash.update(chunk),
      end: () => void (digest = hash.digest('hex')),
    }),
    digest: () => digest,
  };
}

interface Digest {
  readonly update: (bytes: Uint8Array) => void;
  readonly end: () => void;
}

async function* linesOf(path: string, fault: LineFault, digest: Digest): AsyncGenerator<Line> {
  const file = await reading(fault, () => open(path, 'r'));
  try {
    // One buffer for the whole file: new ones would pile up faster than they are collected.
    let buffer = Buffer.allocUnsafe(BUFFER_BYTES);
    let [keptBytes, number] = [0, 0];
    for (;;) {
      const room = buffer.length - keptBytes;
      const { bytesRead } = await reading(fault, () => file.read(buffer, keptBytes, room));
      if (bytesRead === 0) break;
      digest.update(buffer.subarray(keptBytes, keptBytes + bytesRead));
      keptBytes += bytesRead;
      const kept = buffer.subarray(0, keptBytes);
      let from = 0;
      for (let to = kept.indexOf(LINE_BREAK); to !== -1; to = kept.indexOf(LINE_BREAK, from)) {
        const line = kept.subarray(from, to);
        number++;
        if (!isUtf8(line)) throw fault(number, 'it is not UTF-8. Write the file in UTF-8');
        yield { text: line.toString('utf8'), number };
        from = to + 1;
      }
      buffer.copyWithin(0, from, keptBytes);
      keptBytes -= from;
      if (keptBytes === buffer.length) buffer = grown(buffer, () => fault(number + 1, TOO_LONG));
    }
    if (keptBytes > 0) {
      throw fault(number + 1, 'it has no line break, so the file was cut off here. Write the file again');
    }
    digest.end();
  } finally {
    await file.close();
  }
}

const TOO_LONG = `it has more than ${LINE_MAX_BYTES} bytes. Name another file`;

function grown(buffer: Buffer<ArrayBuffer>, tooLong: () => Error): Buffer<ArrayBuffer> {
  if (buffer.length >= LINE_MAX_BYTES) throw tooLong();
  const more = Buffer.allocUnsafe(2 * buffer.length);
  buffer.copy(more);
  return more;
}

async function reading<T>(fault: LineFault, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw fault(0, `it can't be read: ${messageOf(thrown)}. Name a file that this user may read`);
  }
}
