import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { CountersignError, usageError } from '../errors.ts';
import { pagedEntries } from '../journal/record.ts';
import type { Journal, JournalEntry, JournalQuery } from '../store/store.ts';
import { type ArchiveFile, lastFile, prepareFolder } from './folder.ts';
import { FIRST_PREVIOUS } from './line.ts';
import { readFileOf } from './read.ts';
import { type WriteStep, writeFileOf } from './write.ts';

/** The most entries in one file. */
export const FILE_ENTRIES_MAX = 100_000;

export interface ArchiveTask {
  readonly store: Pick<Journal, 'entries' | 'dropEntries'>;
  readonly directory: string;
  readonly source: string;
  /** Entries before this instant, by the store's clock, are archived. The newest entry always stays. */
  readonly beforeMs: number;
  /** The most entries in one file. */
  readonly entriesMax: number;
  /** Called after each step, with the number of entries in finished files. */
  readonly onStep: (step: ArchiveStep, entries: number) => void;
}

export type ArchiveStep = WriteStep | 'resumed' | 'dropped';

export interface Archived {
  readonly source: string;
  /** Files and entries that were written. */
  readonly files: number;
  readonly entries: number;
  /** Entries that an interrupted run had written already, and that this run only dropped. */
  readonly resumed: number;
  /** The hash at the end of the chain. Undefined while the source has no file. */
  readonly end: string | undefined;
}

interface End {
  readonly number: number;
  /** The hash of the last line of the last file. */
  readonly chainHash: string;
  /** The empty text before the first file. */
  readonly lastId: string;
}

/**
 * Moves the old entries of one source to files. Entries are dropped from the store once their file is on the
 * disk. If it is interrupted, the next call continues. The caller must hold the directory (see
 * lockDirectory). Rejects with STORE_UNREACHABLE, with STORE_CORRUPT if the last file is damaged, and with
 * USAGE if the archive belongs to another journal.
 */
export async function archiveSource(task: ArchiveTask): Promise<Archived> {
  const { store, directory, source, onStep } = task;
  const folder = await prepareFolder(directory, source);
  const last = lastFile(folder);
  let end: End = { number: 0, chainHash: FIRST_PREVIOUS, lastId: '' };
  let resumed = 0;
  if (last !== undefined) {
    end = { ...(await readFileOf(source, last)), number: last.number };
    resumed = await resume(task, last, end.lastId);
  }
  onStep('resumed', 0);
  let [files, entries] = [0, 0];
  for (;;) {
    const found = await entriesToMove(task, end.lastId);
    if (found === undefined) break;
    const written = await writeFileOf(folder, source, end, found, (step) => onStep(step, entries));
    // Read the file as any reader would, before its entries are dropped.
    await readFileOf(source, written);
    [files, entries, end] = [files + 1, entries + written.entries, written];
    await dropUpTo(store, source, end.lastId);
    onStep('dropped', entries);
  }
  return { source, files, entries, resumed, end: end.number === 0 ? undefined : end.chainHash };
}

/**
 * Drops the entries of the last file that the store still has. Each must equal the archived entry. Otherwise
 * the directory belongs to another journal, and dropping would lose entries that no file has. Resolves with
 * the number of dropped entries.
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
    // Claims and explanations are not compared: another version of the program may read them in another way.
    const other =
      COMPARED.find((member) => entry[member] !== archived[member]) ??
      (inputsOf(entry) === inputsOf(archived) ? undefined : 'detail');
    if (other !== undefined) throw foreign(directory, entry, `has another ${other}`);
    head = await nextOf(left);
  });
  if (head !== undefined) throw foreign(directory, head, 'is missing');
  return dropUpTo(store, source, lastId);
}

const COMPARED = ['atMs', 'type', 'subject', 'verdict', 'code', 'revision', 'of'] as const;

const callbackDetail = z.object({
  requestId: z.string(),
  body: z.string(),
  plaintext: z.string().optional(),
});

/** The request, the body and the plaintext of a callback's entry; the whole detail of any other entry. */
function inputsOf({ detail }: Pick<JournalEntry, 'detail'>): string {
  try {
    const { data } = callbackDetail.safeParse(JSON.parse(detail));
    return data === undefined ? detail : JSON.stringify(data);
  } catch {
    return detail;
  }
}

async function nextOf(entries: AsyncIterator<JournalEntry>): Promise<JournalEntry | undefined> {
  const next = await entries.next();
  return next.done === true ? undefined : next.value;
}

function foreign(directory: string, { source, id }: JournalEntry, what: string): CountersignError {
  return usageError(
    `the journal's entry ${source}/${id} ${what} in the archive in ${directory}: the archive ` +
      'belongs to another store, or the store was restored from a backup. Nothing was dropped. Name ' +
      'another directory',
    { directory, source, id },
  );
}

/**
 * The next entries to move, at most as many as one file takes. Undefined if no entry is old enough. The
 * newest entry stays, so that an archived journal is not taken for a lost one.
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

/** The entries of a query, up to but not including `stop`. */
async function* entriesFrom(
  store: Pick<Journal, 'entries'>,
  query: Omit<JournalQuery, 'limit' | 'newestFirst'>,
  stop: string | undefined,
): AsyncGenerator<JournalEntry> {
  for await (const entry of pagedEntries(store, query)) {
    if (entry.id === stop) return;
    yield entry;
  }
}

async function* atMost(count: number, entries: AsyncIterable<JournalEntry>): AsyncGenerator<JournalEntry> {
  let left = count;
  for await (const entry of entries) {
    yield entry;
    if (--left === 0) return;
  }
}

/** Decisions wait while entries are dropped. After each step, pause for this many times its duration. */
const PAUSE_FACTOR = 3;

/** Drops all entries up to and including `upTo`, step by step. Resolves with their number. */
async function dropUpTo(store: Pick<Journal, 'dropEntries'>, source: string, upTo: string): Promise<number> {
  for (let dropped = 0; ;) {
    const startedMs = performance.now();
    const step = await store.dropEntries({ source, upTo });
    if (step === 0) return dropped;
    dropped += step;
    await pause(Math.ceil(PAUSE_FACTOR * (performance.now() - startedMs)));
  }
}
