import type { Journal, JournalEntry, JournalQuery } from '../store/store.ts';
import type { ArchiveTask } from './archive.ts';

/** Entries in memory at a time; each may be some hundred kilobytes. */
const PAGE = 200;

/**
 * What is to be moved after an entry: of what is old enough, as much as one file takes; undefined if that is
 * nothing. The newest entry of all stays, so that a journal never looks as if it had been lost.
 */
export async function entriesToMove(
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
export async function* entriesFrom(
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
