import { createHash } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { CountersignError, usageError } from '../errors.ts';
import { entryJson } from '../journal/exported.ts';
import type { JournalEntry } from '../store/store.ts';
import { LINE_MAX_BYTES } from '../values/lines.ts';
import { type ArchiveFile, HASH_DIGITS, fileName, syncFolder, temporaryOf } from './folder.ts';
import { type Extent, type ChainedLine, extendExtent, footer, header, chainLine } from './line.ts';

/** The bodies of callbacks are confidential. */
const MODE = 0o600;

/** The end of a chain, which the next file continues. */
export interface ChainEnd {
  readonly number: number;
  /** The hash of its last line. */
  readonly chainHash: string;
}

/** The steps of writing a file, in order. */
export type WriteStep = 'begun' | 'written' | 'synced' | 'renamed' | 'kept';

export interface WrittenFile extends Extent, ArchiveFile {
  /** The hash of its last line, which the next file continues. */
  readonly chainHash: string;
}

/**
 * Writes the entries, at least one, as the file after `end`. The file gets its name only once all of it is on
 * the disk. Rejects with USAGE for an entry that is too long.
 */
export async function writeFileOf(
  folder: string,
  source: string,
  end: ChainEnd,
  entries: AsyncIterable<JournalEntry>,
  onStep: (step: WriteStep) => void,
): Promise<WrittenFile> {
  try {
    return await writeNextFile(folder, source, end, entries, onStep);
  } catch (thrown) {
    if (!(thrown instanceof Error && 'syscall' in thrown)) throw thrown;
    throw usageError(
      `the archive in ${folder} can't be written: ${thrown.message}. The store still has the ` +
        'entries of this file. Make room or repair the disk, and run the command again',
      { folder },
    );
  }
}

async function writeNextFile(
  folder: string,
  source: string,
  end: ChainEnd,
  entries: AsyncIterable<JournalEntry>,
  onStep: (step: WriteStep) => void,
): Promise<WrittenFile> {
  const number = end.number + 1;
  const temporary = temporaryOf(folder);
  const bytes = createHash('sha256');
  const lines = createLines(source, end);
  // Exclusive: prepareFolder has removed an older one.
  const file = await open(temporary, 'wx', MODE);
  try {
    onStep('begun');
    await pipeline(lines.of(entries), createGzip(), async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        bytes.update(chunk);
        await file.appendFile(chunk);
      }
    });
    onStep('written');
    await file.sync();
    onStep('synced');
  } finally {
    await file.close();
  }
  const { extent, chainHash } = lines.result();
  const bytesHash = bytes.digest('hex').slice(0, HASH_DIGITS);
  const path = join(folder, fileName(number, bytesHash));
  await rename(temporary, path);
  onStep('renamed');
  await syncFolder(folder);
  onStep('kept');
  return { ...extent, path, number, bytesHash, chainHash };
}

interface Lines {
  of(entries: AsyncIterable<JournalEntry>): AsyncGenerator<string>;
  /** The result, once all lines are written. */
  result(): { readonly extent: Extent; readonly chainHash: string };
}

function createLines(source: string, { number, chainHash }: ChainEnd): Lines {
  let previous = chainHash;
  let extent: Extent | undefined;
  const lineOf = (members: object): string => {
    const next: ChainedLine = chainLine(members, previous);
    previous = next.hash;
    return `${next.line}\n`;
  };
  const expectExtent = (): Extent => {
    if (extent === undefined) throw new Error('a file of the archive has at least one entry');
    return extent;
  };
  return {
    async *of(entries) {
      yield lineOf(header(source, number + 1));
      for await (const entry of entries) {
        const line = lineOf(entryJson(entry));
        if (Buffer.byteLength(line) > LINE_MAX_BYTES) throw tooLong(entry);
        extent = extendExtent(extent, entry);
        yield line;
      }
      yield lineOf(footer(expectExtent()));
    },
    result: () => ({ extent: expectExtent(), chainHash: previous }),
  };
}

function tooLong({ source, id }: JournalEntry): CountersignError {
  return usageError(
    `the entry ${source}/${id} has more than ${LINE_MAX_BYTES} bytes and can't be archived. Keep ` +
      'it with `countersign decisions export`, and give an --older-than that leaves it in the ' +
      'journal',
    { source, id },
  );
}
