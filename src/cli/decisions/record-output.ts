import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { CountersignError, messageOf } from '../../errors.ts';
import { LINE_BEGINNING, linesOf } from '../../simulation/file-runs.ts';

/** A file that an export is appended to, whenever it is run. */
export interface RecordOutput {
  /**
   * Where the file ends: by source the last entry that it holds whole. Changes of prices are those of the
   * source ''.
   */
  readonly ends: ReadonlyMap<string, { readonly id: string; readonly atMs: number }>;
  /** The latest instant of all its lines; 0 for an empty file. */
  readonly lastMs: number;
  /** It holds more than the state that stood before its period. */
  readonly begun: boolean;
  /** Cuts off the half line at which an earlier run was ended; true if there was one. */
  mend(): boolean;
  write(line: string): void;
  /** Once it returns, all that was written is on the disk. */
  finish(): void;
  close(): void;
}

const FLUSH_BYTES = 65_536;
/** Bodies of callbacks are nobody else's business. */
const MODE = 0o600;

/**
 * Opens or makes the file, and looks through what it holds. Throws USAGE for one that is no export; it is
 * left alone then.
 */
export function openRecordOutput(path: string): RecordOutput {
  const file = open(path);
  try {
    const { whole, half, ...found } = lookThrough(file, path);
    return { ...found, ...writerOf(file, path, { whole, half }) };
  } catch (thrown) {
    closeSync(file);
    throw thrown;
  }
}

function writerOf(
  file: number,
  path: string,
  { whole, half }: { readonly whole: number; readonly half: number },
): Pick<RecordOutput, 'mend' | 'write' | 'finish' | 'close'> {
  let pending: string[] = [];
  let pendingBytes = 0;
  let end = whole + half;

  const flush = (): void => {
    // Two runs at once would mix their lines.
    if (fstatSync(file).size !== end) {
      throw wrong(path, 'another process writes to it; run one export at a time');
    }
    const bytes = Buffer.from(pending.join(''));
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at, end + at);
    end += bytes.length;
    [pending, pendingBytes] = [[], 0];
  };
  return {
    mend() {
      if (half === 0) return false;
      ftruncateSync(file, whole);
      end = whole;
      return true;
    },
    write(line) {
      pending.push(line, '\n');
      pendingBytes += line.length;
      if (pendingBytes >= FLUSH_BYTES) flush();
    },
    finish() {
      flush();
      fsyncSync(file);
      syncDirectory(path);
    },
    close: () => closeSync(file),
  };
}

interface Found extends Pick<RecordOutput, 'ends' | 'lastMs' | 'begun'> {
  /** Bytes of the lines that end in a line break, and of what follows the last of them. */
  readonly whole: number;
  readonly half: number;
}

function lookThrough(file: number, path: string): Found {
  const { size } = fstatSync(file);
  const ends = new Map<string, { readonly id: string; readonly atMs: number }>();
  const unbroken = size > 0 && lastByte(file, size) !== LINE_BREAK;
  let [lastMs, begun, half, at] = [0, false, 0, 0];
  for (const { text, line, bytes } of linesOf(file, { start: 0, end: size, firstLine: 1 })) {
    at += bytes;
    if (unbroken && at === size) {
      if (!isBegun(text)) throw wrong(path, `line ${line} is none that an export wrote; name another file`);
      half = bytes;
      break;
    }
    const [beginning = '', id, source, time] = LINE_BEGINNING.exec(text) ?? [];
    if (id === undefined || source === undefined || !text.endsWith('}')) {
      throw wrong(path, `line ${line} is none that an export wrote; name another file`);
    }
    const atMs = Number(time);
    ends.set(source, { id, atMs });
    lastMs = Math.max(lastMs, atMs);
    begun ||= !STATE.test(text.slice(beginning.length, beginning.length + STATE_CHARACTERS));
  }
  return { ends, lastMs, begun, whole: size - half, half };
}

const STATE = /^"type":"(?:list|order|prices)"/;
const STATE_CHARACTERS = 16;
const LINE_BREAK = 10;
const BEGINNING = '{"id":"';

/** Whether a half line could be the beginning of one of ours, so that nothing of others is cut off. */
function isBegun(text: string): boolean {
  return text.length < BEGINNING.length ? BEGINNING.startsWith(text) : text.startsWith(BEGINNING);
}

function lastByte(file: number, size: number): number | undefined {
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, size - 1);
  return byte[0];
}

function open(path: string): number {
  try {
    // Neither `w`, which would empty it, nor `a`, under which nothing is read or cut off.
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT, MODE);
    if (fstatSync(file).isFile()) return file;
    closeSync(file);
    throw new Error('it is no plain file');
  } catch (thrown) {
    throw wrong(path, messageOf(thrown));
  }
}

/** A file that was just made is on the disk only once its directory is. */
function syncDirectory(path: string): void {
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function wrong(path: string, what: string): CountersignError {
  return new CountersignError('USAGE', `--to ${path}: ${what}`, { file: path });
}
