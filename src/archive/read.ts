import { type Hash, createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createGunzip } from 'node:zlib';
import type { z } from 'zod';
import { messageOf } from '../errors.ts';
import { entryJson, entryShape } from '../journal/exported.ts';
import type { JournalEntry } from '../store/store.ts';
import { type LineFault, completeText, linesInChunks } from '../values/lines.ts';
import { formatSchemaError } from '../values/schema-error.ts';
import { jsonOrText } from '../values/text.ts';
import { type ArchiveFile, HASH_DIGITS, archiveFault } from './folder.ts';
import {
  type Extent,
  extendExtent,
  footer,
  footerShape,
  header,
  headerShape,
  isBefore,
  unchainLine,
} from './line.ts';

/** A file that was read to its end and has no fault. */
export interface VerifiedFile extends Extent {
  /** The hash of the last line of the file before. */
  readonly previous: string;
  /** The hash of its own last line. */
  readonly chainHash: string;
}

/** Gets an entry, and its line as it is in the file. */
export type OnEntry = (entry: JournalEntry, line: string) => void | Promise<void>;
/** Gets the line of a header or a footer. */
export type OnEdge = (line: string, source: string) => void;

/**
 * Reads a file of a source, one entry at a time, and verifies it. Rejects with STORE_CORRUPT, naming the
 * line, if a line was changed, removed, added or moved. Rejects with the errors of `onEntry`.
 */
export async function readFileOf(
  source: string,
  file: ArchiveFile,
  onEntry: OnEntry = () => undefined,
  onEdge: OnEdge = () => undefined,
): Promise<VerifiedFile> {
  const bytes = createHash('sha256');
  const chain = createChain(source, file);
  const fault: LineFault = (line, because) => archiveFault({ file: file.path, line, because });
  for await (const line of linesInChunks(unpack(file, bytes, chain), fault)) {
    const text = completeText(line, fault);
    const entry = chain.read(text);
    if (entry === undefined) onEdge(text, source);
    else await onEntry(entry, text);
  }
  const whole = chain.end();
  if (bytes.digest('hex').slice(0, HASH_DIGITS) !== file.bytesHash) {
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

/** The decompressed bytes of a file. The hash gets its bytes as they are. */
async function* unpack(
  { path }: ArchiveFile,
  hash: Hash,
  { fault }: Pick<Chain, 'fault'>,
): AsyncGenerator<Buffer> {
  const packed = createReadStream(path);
  const unpacked = createGunzip();
  let packedBytes = 0;
  packed.on('data', (chunk: Buffer) => {
    hash.update(chunk);
    packedBytes += chunk.length;
  });
  packed.on('error', (error) => unpacked.destroy(error));
  packed.pipe(unpacked);
  try {
    yield* unpacked as AsyncIterable<Buffer>;
  } catch (thrown) {
    throw fault(`the file can't be read from here: ${messageOf(thrown)}`, 1);
  } finally {
    packed.destroy();
  }
  // Node ends the decompression at zero bytes after the data.
  if (unpacked.bytesWritten !== packedBytes || !packed.readableEnded) {
    throw archiveFault({ file: path, line: 0, because: 'it has zero bytes after its compressed data' });
  }
}

interface Chain {
  /** Reads the next line. Returns its entry; undefined for the header and the footer. */
  read(text: string): JournalEntry | undefined;
  end(): VerifiedFile;
  /** A fault at the last line that was read, or `after` lines later. */
  fault(because: string, after?: number): Error;
}

function createChain(source: string, file: ArchiveFile): Chain {
  let line = 0;
  /** The hash of the line before. */
  let chainHash = '';
  let started: { readonly previous: string } | undefined;
  let isEnded = false;
  let extent: Extent | undefined;

  const fault: Chain['fault'] = (because, after = 0) =>
    archiveFault({ file: file.path, line: line + after, because });

  /** Reads a line of one kind, whose text is exactly what the archiver writes. Returns it without its links. */
  function readLine<T>(shape: z.ZodType<T>, text: string, membersOf: (read: T) => object): T {
    const chained = unchainLine(text);
    if (chained === undefined) throw fault('it is not a line of an archive');
    if (!chained.isIntact) throw fault('its hash is not the hash of its content');
    if (started !== undefined && chained.previous !== chainHash) {
      throw fault('it does not follow the line before: lines were removed, added or moved');
    }
    const json = jsonOrText(chained.text);
    const parsed = shape.safeParse(json);
    if (!parsed.success) {
      const because = formatSchemaError(parsed.error, json, 'all of it');
      throw fault(
        `its hash is right, but this version can't read it (${because}); use the version that wrote it`,
      );
    }
    if (JSON.stringify(membersOf(parsed.data)) !== chained.text)
      throw fault('no archiver writes it like this');
    started ??= { previous: chained.previous };
    chainHash = chained.hash;
    return parsed.data;
  }

  function readHeader(text: string): undefined {
    const found = readLine(headerShape, text, (read) => header(read.source, read.file));
    if (found.source !== source || found.file !== file.number) {
      throw fault(`it begins file ${found.file} of ${found.source}, not file ${file.number} of ${source}`);
    }
  }

  function readFooter(text: string): undefined {
    const found = readLine(footerShape, text, footer);
    if (extent === undefined || JSON.stringify(footer(extent)) !== JSON.stringify(footer(found))) {
      throw fault('the footer describes other entries than the file has');
    }
    isEnded = true;
  }

  function readEntry(text: string): JournalEntry {
    const entry = readLine(entryShape, text, entryJson);
    if (entry.source !== source) throw fault(`it is an entry of ${entry.source}, not of ${source}`);
    if (extent !== undefined && !isBefore(extent.lastId, entry.id)) {
      throw fault(`the entry ${entry.id} does not come after ${extent.lastId}`);
    }
    extent = extendExtent(extent, entry);
    return entry;
  }

  return {
    fault,
    read(text) {
      line++;
      if (isEnded) throw fault('it is after the footer');
      if (started === undefined) return readHeader(text);
      return text.startsWith('{"end":') ? readFooter(text) : readEntry(text);
    },
    end() {
      if (started === undefined || extent === undefined || !isEnded) {
        throw fault('the file ends here, before its last lines', 1);
      }
      return { ...extent, previous: started.previous, chainHash };
    },
  };
}
