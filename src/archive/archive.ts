import { setTimeout as pause } from 'node:timers/promises';
import { CountersignError } from '../errors.ts';
import type { Journal, JournalEntry, JournalQuery } from '../store/store.ts';
import { type ArchiveFile, lastFile, prepareFolder } from './folder.ts';
import { NOTHING_BEFORE } from './line.ts';
import { readFileOf } from './read.ts';
import { type WriteStep, writeFileOf } from './write.ts';

/** Entries of one file at most. */
export const FILE_ENTRIES_MAX = 100_000;

export interface ArchiveTask {
  readonly store: Pick<Journal, 'entries' | 'dropEntries'>;
  readonly directory: string;
  readonly source: string;
  /** Entries from before this instant of the store are archived; the newest of all stays in any case. */
  readonly beforeMs: number;
  /** Entries of one file at most. */
  readonly entriesMax: number;
  /** After each step, with how many entries were written to files that are done. */
  readonly stepped: (step: ArchiveStep, entries: number) => void;
}

export type ArchiveStep = WriteStep | 'resumed' | 'dropped';

export interface Archived {
  readonly source: string;
  /** Files and entries that were written. */
  readonly files: number;
  readonly entries: number;
  /** Entries that an archiver which was ended before had written already, and that only had to be dropped. */
  readonly resumed: number;
  /** The end of the chain, to be noted elsewhere; undefined while the source has no file. */
  readonly end: string | undefined;
}

interface End {
  readonly number: number;
  readonly hash: string;
  /** The empty text before the first file. */
  readonly lastId: string;
}

/**
 * Moves the old entries of one source to files: they are dropped from the store once the file that has them
 * is on the disk. It can be ended at any point, and goes on from there: whoever calls it holds the directory
 * (see lockDirectory). Rejects with STORE_UNREACHABLE, with STORE_CORRUPT if the last file is damaged, and
 * with USAGE if the archive is of another journal.
 */
export async function archiveSource(task: ArchiveTask): Promise<Archived> {
  const { store, directory, source, stepped } = task;
  const folder = await prepareFolder(directory, source);
  const last = lastFile(folder);
  let end: End = { number: 0, hash: NOTHING_BEFORE, lastId: '' };
  let resumed = 0;
  if (last !== undefined) {
    end = { ...(await readFileOf(source, last)), number: last.number };
    resumed = await resume(task, last, end.lastId);
  }
  stepped('resumed', 0);
  let [files, entries] = [0, 0];
  for (;;) {
    const found = await entriesToMove(task, end.lastId);
    if (found === undefined) break;
    const written = await writeFileOf(folder, source, end, found, (step) => stepped(step, entries));
    // What is dropped can be read: the file is taken for whole only after it was read as any reader would.
    await readFileOf(source, written);
    [files, entries, end] = [files + 1, entries + written.entries, { ...written, hash: written.end }];
    await dropUpTo(store, source, end.lastId);
    stepped('dropped', entries);
  }
  return { source, files, entries, resumed, end: end.number === 0 ? undefined : end.hash };
}

/**
 * Drops what the store still has of the last file. Each of those entries must be the archived one, or the
 * directory is that of another journal, and dropping would lose what no file has. Resolves with how many were
 * dropped.
 */
async function resume(
  { store, source, directory }: ArchiveTask,
  last: ArchiveFile,
  lastId: string,
): Promise<number> {
  const [next] = await store.entries({ source, after: lastId, limit: 1 });
  const left = entriesFrom(store, { source }, next?.id);
  let head = await nextOf(left);
  if (head === undefined) return 0;
  await readFileOf(source, last, async (archived) => {
    const entry = head;
    if (entry?.id !== archived.id) return;
    // Not the claims: how they are read may have changed since.
    const other = COMPARED.find((member) => entry[member] !== archived[member]);
    if (other !== undefined) throw foreign(directory, entry, `with another ${other}`);
    head = await nextOf(left);
  });
  if (head !== undefined) throw foreign(directory, head, 'not at all');
  return dropUpTo(store, source, lastId);
}

const COMPARED = ['atMs', 'type', 'subject', 'verdict', 'code', 'revision', 'of', 'detail'] as const;

async function nextOf(entries: AsyncIterator<JournalEntry>): Promise<JournalEntry | undefined> {
  const next = await entries.next();
  return next.done === true ? undefined : next.value;
}

function foreign(directory: string, { source, id }: JournalEntry, how: string): CountersignError {
  return new CountersignError(
    'USAGE',
    `the journal has the entry ${source}/${id} from before the end of the archive in ${directory}, which has it ${how}: the archive is that of another store, or the store was restored from a backup. Nothing was dropped; name another directory`,
    { directory, source, id },
  );
}

/** Entries in memory at a time; each may be some hundred kilobytes. */
const PAGE = 200;

/**
 * What is to be moved after an entry: of what is old enough, as much as one file takes; undefined if that is
 * nothing. The newest entry of all stays, so that a journal never looks as if it had been lost.
 */
async function entriesToMove(
  { store, source, beforeMs, entriesMax }: ArchiveTask,
  after: string,
): Promise<AsyncIterable<JournalEntry> | undefined> {
  const [newest] = await store.entries({ source, newestFirst: true, limit: 1 });
  const query = { source, after, untilMs: beforeMs };
  const [first] = await store.entries({ ...query, limit: 1 });
  if (first === undefined || newest === undefined || first.id === newest.id) return undefined;
  return atMost(entriesMax, entriesFrom(store, query, newest.id));
}

/** The entries of a query, page by page, up to the one before `stop`. */
async function* entriesFrom(
  store: Pick<Journal, 'entries'>,
  query: Omit<JournalQuery, 'limit' | 'newestFirst'>,
  stop: string | undefined,
): AsyncGenerator<JournalEntry> {
  let { after = '' } = query;
  for (;;) {
    const page = await store.entries({ ...query, after, limit: PAGE });
    for (const entry of page) {
      if (entry.id === stop) return;
      yield entry;
    }
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

async function* atMost(count: number, entries: AsyncIterable<JournalEntry>): AsyncGenerator<JournalEntry> {
  let left = count;
  for await (const entry of entries) {
    yield entry;
    if (--left === 0) return;
  }
}

/**
 * A step keeps decisions waiting; after each they have the store to themselves for at least so many times as
 * long.
 */
const RESTS = 3;

/** Drops entries step by step until none is left up to `upTo`; resolves with how many. */
async function dropUpTo(store: Pick<Journal, 'dropEntries'>, source: string, upTo: string): Promise<number> {
  for (let dropped = 0; ;) {
    const begunMs = performance.now();
    const step = await store.dropEntries({ source, upTo });
    if (step === 0) return dropped;
    dropped += step;
    await pause(Math.ceil(RESTS * (performance.now() - begunMs)));
  }
}
