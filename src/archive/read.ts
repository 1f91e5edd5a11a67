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

/** A file that was read to its end and has no fault. */
export interface WholeFile extends Extent {
  /** The hash at the end of the file before. */
  readonly previous: string;
  /** The hash at its own end. */
  readonly hash: string;
}

export type EntryRead = (entry: ArchivedEntry) => void | Promise<void>;

/**
 * Reads a file of a source, one entry at a time, and verifies it. Rejects with STORE_CORRUPT, naming the
 * line, if a line was changed, removed, added or moved.
 */
export async function readFileOf(
  source: string,
  file: ArchiveFile,
  entryRead: EntryRead = () => undefined,
): Promise<WholeFile> {
  const bytes = createHash('sha256');
  const chain = createChain(source, file);
  let byCaller: { readonly thrown: unknown } | undefined;
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
          const entry = chain.read(line);
          if (entry === undefined) continue;
          try {
            await entryRead(entry);
          } catch (thrown) {
            byCaller = { thrown };
            throw thrown;
          }
        }
      },
    );
  } catch (thrown) {
    if (byCaller !== undefined) throw byCaller.thrown;
    // Node ends the decompression at zero bytes after the data, and so aborts the pipeline.
    if (codeOf(thrown) === 'ABORT_ERR') {
      throw archiveFault({
        file: file.path,
        line: 0,
        because: 'it has zero bytes after its compressed data',
      });
    }
    if (!isOfTheFile(thrown)) throw thrown;
    throw chain.fault(`the file can't be read from here: ${messageOf(thrown)}`, 1);
  }
  const whole = chain.end();
  if (bytes.digest('hex').slice(0, HASH_DIGITS) !== file.hash) {
    throw archiveFault({
      file: file.path,
      line: 0,
      because:
        'its lines are unchanged, but its bytes do not match the hash in its name: it was ' +
        'compressed again or renamed',
    });
  }
  return whole;
}

/** Whether it is an error of reading or unpacking. Other errors come from the caller's `entryRead`. */
function isOfTheFile(thrown: unknown): boolean {
  const syscall = thrown instanceof Error && 'syscall' in thrown ? thrown.syscall : '';
  return String(codeOf(thrown)).startsWith('Z_') || syscall === 'open' || syscall === 'read';
}

const codeOf = (thrown: unknown): unknown =>
  thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;

interface Chain {
  /** Reads the next line. Returns its entry; undefined for the header and the footer. */
  read(line: Buffer): ArchivedEntry | undefined;
  end(): WholeFile;
  /** A fault at the last line that was read, or `after` lines later. */
  fault(because: string, after?: number): Error;
}

function createChain(source: string, file: ArchiveFile): Chain {
  let line = 0;
  let previous = '';
  let started: { readonly previous: string } | undefined;
  let ended: string | undefined;
  let extent: Extent | undefined;

  const fault: Chain['fault'] = (because, after = 0) =>
    archiveFault({ file: file.path, line: line + after, because });

  /** Reads a line of one kind. Its text must be exactly the text that the archiver writes for its members. */
  function readLine<T extends Links>(shape: z.ZodType<T>, text: string, membersOf: (value: T) => object): T {
    const json = jsonOf(text);
    const value = shape.safeParse(json);
    if (!value.success)
      throw fault(`it is not a line of an archive (${formatSchemaError(value.error, json, 'all of it')})`);
    const written = sealed(membersOf(value.data), value.data.previous);
    if (written.hash !== value.data.hash || written.line !== text)
      throw fault('its hash is not the hash of its content');
    if (started !== undefined && value.data.previous !== previous) {
      throw fault('it does not follow the line before: lines were removed, added or moved');
    }
    previous = written.hash;
    return value.data;
  }

  function readHeader(text: string): undefined {
    const found = readLine(lineShapes.header, text, (value) => header(value.source, value.file));
    if (found.source !== source || found.file !== file.number) {
      throw fault(`it begins file ${found.file} of ${found.source}, not file ${file.number} of ${source}`);
    }
    started = { previous: found.previous };
  }

  function readFooter(text: string): undefined {
    const found = readLine(lineShapes.footer, text, footer);
    if (extent === undefined || JSON.stringify(footer(extent)) !== JSON.stringify(footer(found))) {
      throw fault('the footer describes other entries than the file has');
    }
    ended = found.hash;
  }

  function readEntry(text: string): ArchivedEntry {
    const entry = readLine(lineShapes.entry, text, entryMembers);
    if (entry.source !== source) throw fault(`it is an entry of ${entry.source}, not of ${source}`);
    if (extent !== undefined && !isBefore(extent.lastId, entry.id)) {
      throw fault(`the entry ${entry.id} does not come after ${extent.lastId}`);
    }
    extent = extended(extent, entry);
    return entryMembers(entry);
  }

  return {
    fault,
    read(bytes) {
      line++;
      if (ended !== undefined) throw fault('it is after the footer');
      if (!isUtf8(bytes)) throw fault('it is not UTF-8');
      const text = bytes.toString('utf8');
      if (started === undefined) return readHeader(text);
      return text.startsWith('{"end":') ? readFooter(text) : readEntry(text);
    },
    end() {
      if (started === undefined || extent === undefined || ended === undefined) {
        throw fault('the file ends here, before its last lines', 1);
      }
      return { ...extent, previous: started.previous, hash: ended };
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

/** Lines without their breaks. Each line must have a break, and no more bytes than an entry can have. */
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
