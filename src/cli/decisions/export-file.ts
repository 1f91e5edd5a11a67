import { closeSync, constants, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { type CountersignError, messageOf, usageError } from '../../errors.ts';
import { createOrderCheck, isExportEnd, lineBeginning, mayBeginLine } from '../../journal/exported.ts';
import { type LineFault, linesOf, textOf } from '../../values/lines.ts';

/** A file that `decisions export --to` appends to. Each run continues where the run before ended. */
export interface ExportFile {
  /** The last complete entry of each source. Changes of prices have the source ''. */
  readonly ends: ReadonlyMap<string, { readonly id: string; readonly atMs: number }>;
  /** The latest instant of all lines; 0 for an empty file. */
  readonly lastMs: number;
  /** Whether the file has more than changes of lists, orders and prices. */
  readonly hasDecisions: boolean;
  /** Removes an incomplete last line, which an interrupted run leaves. Returns whether there was one. */
  removeIncompleteLine(): boolean;
  write(line: string): void;
  /** Returns once everything that was written is on the disk. */
  finish(): void;
  close(): void;
}

const FLUSH_BYTES = 65_536;
/** The bodies of callbacks are confidential. */
const MODE = 0o600;

/**
 * Opens or creates the file and reads its lines. Throws USAGE, and changes nothing, if it is not an export.
 */
export function openExportFile(path: string): ExportFile {
  const file = open(path);
  try {
    const { completeBytes, incompleteBytes, ...content } = readContent(file, path);
    return { ...content, ...createWriter(file, path, { completeBytes, incompleteBytes }) };
  } catch (thrown) {
    closeSync(file);
    throw thrown;
  }
}

interface Sizes {
  /** Of the lines that end in a line break. */
  readonly completeBytes: number;
  /** Of an incomplete last line. */
  readonly incompleteBytes: number;
}

function createWriter(
  file: number,
  path: string,
  { completeBytes, incompleteBytes }: Sizes,
): Pick<ExportFile, 'removeIncompleteLine' | 'write' | 'finish' | 'close'> {
  let pending: string[] = [];
  let pendingBytes = 0;
  let end = completeBytes + incompleteBytes;

  const flush = (): void => {
    // Two runs at the same time would mix their lines.
    if (fstatSync(file).size !== end) {
      throw unusable(path, 'another process writes to the file. Run one export at a time');
    }
    const bytes = Buffer.from(pending.join(''));
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at, bytes.length - at, end + at);
    end += bytes.length;
    [pending, pendingBytes] = [[], 0];
  };
  return {
    removeIncompleteLine() {
      if (incompleteBytes === 0) return false;
      ftruncateSync(file, completeBytes);
      end = completeBytes;
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

type Content = Sizes & Pick<ExportFile, 'ends' | 'lastMs' | 'hasDecisions'>;

function readContent(file: number, path: string): Content {
  const { size } = fstatSync(file);
  const ends = new Map<string, { readonly id: string; readonly atMs: number }>();
  const isInOrder = createOrderCheck();
  const fault: LineFault = (line) => notExported(path, line);
  let [lastMs, hasDecisions, incompleteBytes] = [0, false, 0];
  for (const line of linesOf(file, fault, { end: size })) {
    if (!line.isComplete) {
      // Half a character at its end is no fault.
      if (!mayBeginLine(line.bytes.toString('utf8'))) throw notExported(path, line.number);
      incompleteBytes = line.size;
      break;
    }
    const text = textOf(line, fault);
    if (text === '' || isExportEnd(text)) continue;
    const beginning = lineBeginning(text);
    if (beginning === undefined || !text.endsWith('}')) throw notExported(path, line.number);
    const { id, source, atMs, rest } = beginning;
    if (!isInOrder(beginning)) {
      throw unusable(
        path,
        `line ${line.number}: ${source}/${id} is older than the entry of ${source} before it, so the file ` +
          'has more than one export. Name another file',
      );
    }
    ends.set(source, { id, atMs });
    lastMs = Math.max(lastMs, atMs);
    hasDecisions ||= !STATE.test(rest.slice(0, STATE_CHARACTERS));
  }
  return { ends, lastMs, hasDecisions, completeBytes: size - incompleteBytes, incompleteBytes };
}

const STATE = /^"type":"(?:list|order|prices)"/;
const STATE_CHARACTERS = 16;
function open(path: string): number {
  try {
    // `w` would empty the file. With `a`, nothing could be read or removed.
    const file = openSync(path, constants.O_RDWR | constants.O_CREAT, MODE);
    if (fstatSync(file).isFile()) return file;
    closeSync(file);
    throw new Error('it is not a plain file');
  } catch (thrown) {
    throw unusable(path, messageOf(thrown));
  }
}

/** A new file is on the disk only once its directory is. */
function syncDirectory(path: string): void {
  const directory = openSync(dirname(path), 'r');
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function notExported(path: string, line: number): CountersignError {
  return unusable(path, `line ${line} was not written by an export. Name another file`);
}

function unusable(path: string, what: string): CountersignError {
  return usageError(`--to ${path}: ${what}`, { file: path });
}
