import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { z } from 'zod';
import { messageOf } from '../errors.ts';
import { formatSchemaError } from '../values/schema-error.ts';
import { type ArchiveFile, HASH_DIGITS, archiveFault } from './folder.ts';
import {
  type ArchivedEntry,
  type Extent,
  LINE_MAX_BYTES,
  entryMembers,
  extended,
  footer,
  header,
  isBefore,
  lineShapes,
  sealed,
} from './line.ts';

/** A file that was read to its end, and is whole. */
export interface WholeFile extends Extent {
  /** The hash of the file before's end. */
  readonly previous: string;
  /** The hash of its own end. */
  readonly hash: string;
}

export type EntryRead = (entry: ArchivedEntry) => void | Promise<void>;

/**
 * Reads a file of a source, an entry at a time, and holds it against what it says of itself. Rejects with
 * STORE_CORRUPT, which names the line, for whatever was changed, is missing, was added or stands in another
 * order.
 */
export async function readFileOf(
  source: string,
  file: ArchiveFile,
  entryRead: EntryRead = () => undefined,
): Promise<WholeFile> {
  const bytes = createHash('sha256');
  const chain = createChain(source, file);
  try {
    await pipeline(
      createReadStream(file.path),
      new Transform({
        transform(chunk: Buffer, _encoding, passed) {
          bytes.update(chunk);
          passed(null, chunk);
        },
      }),
      createGunzip(),
      async (chunks: AsyncIterable<Buffer>) => {
        for await (const line of linesOf(chunks, chain)) {
          const entry = chain.take(line);
          if (entry !== undefined) await entryRead(entry);
        }
      },
    );
  } catch (thrown) {
    if (!isOfTheFile(thrown)) throw thrown;
    throw chain.fault(`it can't be read on from here: ${messageOf(thrown)}`, 1);
  }
  const whole = chain.end();
  if (bytes.digest('hex').slice(0, HASH_DIGITS) !== file.hash) {
    throw archiveFault({
      file: file.path,
      line: 0,
      because:
        'its bytes are not those that its name says, though its lines are; it was packed or named anew',
    });
  }
  return whole;
}

/** A fault in unpacking or in reading; whatever else was thrown is of who takes the entries. */
function isOfTheFile(thrown: unknown): boolean {
  if (!(thrown instanceof Error) || !('code' in thrown)) return false;
  const syscall = 'syscall' in thrown ? thrown.syscall : '';
  return String(thrown.code).startsWith('Z_') || syscall === 'open' || syscall === 'read';
}

interface Chain {
  /** Takes the next line; the entry that it is, if it is one. */
  take(line: Buffer): ArchivedEntry | undefined;
  end(): WholeFile;
  /** A fault at the last line that was taken, or so many lines on. */
  fault(because: string, on?: number): Error;
}

function createChain(source: string, file: ArchiveFile): Chain {
  let line = 0;
  let previous = '';
  let begun: { readonly previous: string } | undefined;
  let ended: string | undefined;
  let extent: Extent | undefined;

  const fault: Chain['fault'] = (because, on = 0) =>
    archiveFault({ file: file.path, line: line + on, because });

  /** The line as its kind, once it is exactly what would be written for what it says. */
  function read<T extends Links>(shape: z.ZodType<T>, text: string, membersOf: (value: T) => object): T {
    const json = jsonOf(text);
    const value = shape.safeParse(json);
    if (!value.success)
      throw fault(`it is no line of an archive (${formatSchemaError(value.error, json, 'all of it')})`);
    const is = sealed(membersOf(value.data), value.data.previous);
    if (is.hash !== value.data.hash || is.line !== text) throw fault('its hash is not that of what it says');
    if (begun !== undefined && value.data.previous !== previous) {
      throw fault('it does not follow the line before: lines were taken out, put in or moved');
    }
    previous = is.hash;
    return value.data;
  }

  function takeHeader(text: string): undefined {
    const is = read(lineShapes.header, text, (value) => header(value.source, value.file));
    if (is.source !== source || is.file !== file.number) {
      throw fault(`it begins file ${is.file} of ${is.source}, not file ${file.number} of ${source}`);
    }
    begun = { previous: is.previous };
  }

  function takeFooter(text: string): undefined {
    const is = read(lineShapes.footer, text, footer);
    if (extent === undefined || JSON.stringify(footer(extent)) !== JSON.stringify(footer(is))) {
      throw fault('it tells of other entries than the file has');
    }
    ended = is.hash;
  }

  function takeEntry(text: string): ArchivedEntry {
    const entry = read(lineShapes.entry, text, entryMembers);
    if (entry.source !== source) throw fault(`it is an entry of ${entry.source}, not of ${source}`);
    if (extent !== undefined && !isBefore(extent.lastId, entry.id)) {
      throw fault(`the entry ${entry.id} does not come after ${extent.lastId}`);
    }
    extent = extended(extent, entry);
    return entryMembers(entry);
  }

  return {
    fault,
    take(bytes) {
      line++;
      if (ended !== undefined) throw fault('it stands after the end');
      if (!isUtf8(bytes)) throw fault('it is not UTF-8');
      const text = bytes.toString('utf8');
      if (begun === undefined) return takeHeader(text);
      return text.startsWith('{"end":') ? takeFooter(text) : takeEntry(text);
    },
    end() {
      if (begun === undefined || extent === undefined || ended === undefined) {
        throw fault('the file ends here, without its last lines', 1);
      }
      return { ...extent, previous: begun.previous, hash: ended };
    },
  };
}

interface Links {
  readonly previous: string;
  readonly hash: string;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const LINE_BREAK = 10;

/** Lines without their breaks; each must have one, and none more bytes than an entry can have. */
async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  { fault }: Pick<Chain, 'fault'>,
): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let to = chunk.indexOf(LINE_BREAK); to !== -1; to = chunk.indexOf(LINE_BREAK, from)) {
      const rest = chunk.subarray(from, to);
      yield held.length === 0 ? rest : Buffer.concat([...held, rest]);
      [held, heldBytes, from] = [[], 0, to + 1];
    }
    const rest = chunk.subarray(from);
    if (rest.length > 0) held.push(rest);
    heldBytes += rest.length;
    if (heldBytes > LINE_MAX_BYTES) throw fault(`it has more than ${LINE_MAX_BYTES} bytes`, 1);
  }
  if (heldBytes > 0) throw fault('it has no line break: the file was cut off here', 1);
}
