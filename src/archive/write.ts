import { createHash } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { CountersignError } from '../errors.ts';
import type { JournalEntry } from '../store/store.ts';
import { type ArchiveFile, HASH_DIGITS, fileName, syncFolder, temporaryOf } from './folder.ts';
import {
  type Extent,
  LINE_MAX_BYTES,
  type Sealed,
  archivedEntry,
  extended,
  footer,
  header,
  sealed,
} from './line.ts';

/** The bodies of callbacks are confidential. */
const MODE = 0o600;

/** The end of a chain, which the next file continues. */
export interface ChainEnd {
  readonly number: number;
  readonly hash: string;
}

/** The steps of writing a file, in order. */
export type WriteStep = 'begun' | 'written' | 'synced' | 'renamed' | 'kept';

export interface WrittenFile extends Extent, ArchiveFile {
  /** The hash of its last line, which the next file continues. */
  readonly end: string;
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
  stepped: (step: WriteStep) => void,
): Promise<WrittenFile> {
  try {
    return await written(folder, source, end, entries, stepped);
  } catch (thrown) {
    if (!(thrown instanceof Error && 'syscall' in thrown)) throw thrown;
    throw new CountersignError(
      'USAGE',
      `the archive in ${folder} can't be written: ${thrown.message}. The store still has the ` +
        'entries of this file. Make room or repair the disk, and run the command again',
      { folder },
    );
  }
}

async function written(
  folder: string,
  source: string,
  end: ChainEnd,
  entries: AsyncIterable<JournalEntry>,
  stepped: (step: WriteStep) => void,
): Promise<WrittenFile> {
  const number = end.number + 1;
  const temporary = temporaryOf(folder);
  const bytes = createHash('sha256');
  const lines = createLines(source, end);
  // Exclusive: prepareFolder has removed an older one.
  const file = await open(temporary, 'wx', MODE);
  try {
    stepped('begun');
    await pipeline(lines.of(entries), createGzip(), async (chunks: AsyncIterable<Buffer>) => {
      for await (const chunk of chunks) {
        bytes.update(chunk);
        await file.appendFile(chunk);
      }
    });
    stepped('written');
    await file.sync();
    stepped('synced');
  } finally {
    await file.close();
  }
  const { extent, end: hashOfEnd } = lines.ended();
  const hash = bytes.digest('hex').slice(0, HASH_DIGITS);
  const path = join(folder, fileName(number, hash));
  await rename(temporary, path);
  stepped('renamed');
  await syncFolder(folder);
  stepped('kept');
  return { ...extent, path, number, hash, end: hashOfEnd };
}

interface Lines {
  of(entries: AsyncIterable<JournalEntry>): AsyncGenerator<string>;
  /** The result, once all lines are written. */
  ended(): { readonly extent: Extent; readonly end: string };
}

function createLines(source: string, { number, hash }: ChainEnd): Lines {
  let previous = hash;
  let extent: Extent | undefined;
  const lineOf = (members: object): string => {
    const next: Sealed = sealed(members, previous);
    previous = next.hash;
    return `${next.line}\n`;
  };
  const whole = (): Extent => {
    if (extent === undefined) throw new Error('a file of the archive has at least one entry');
    return extent;
  };
  return {
    async *of(entries) {
      yield lineOf(header(source, number + 1));
      for await (const entry of entries) {
        const line = lineOf(archivedEntry(entry));
        if (Buffer.byteLength(line) > LINE_MAX_BYTES) throw tooLong(entry);
        extent = extended(extent, entry);
        yield line;
      }
      yield lineOf(footer(whole()));
    },
    ended: () => ({ extent: whole(), end: previous }),
  };
}

function tooLong({ source, id }: JournalEntry): CountersignError {
  return new CountersignError(
    'USAGE',
    `the entry ${source}/${id} has more than ${LINE_MAX_BYTES} bytes and can't be archived. Keep ` +
      'it with `countersign decisions export`, and give an --older-than that leaves it in the ' +
      'journal',
    { source, id },
  );
}
