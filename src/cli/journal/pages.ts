import type { JournalEntry, JournalQuery, Store } from '../../store/store.ts';

/** Entries in memory at a time, of each stream; each may be some hundred kilobytes. */
const PAGE = 200;

export type JournalStream = Omit<JournalQuery, 'limit'>;

/** The entries that a query is about, page by page. Those that are written meanwhile may come as well. */
export async function* pagedEntries(store: Store, query: JournalStream): AsyncGenerator<JournalEntry> {
  let { after = '' } = query;
  for (;;) {
    const page = await store.entries({ ...query, after, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}

/** Several streams as one, by time; entries of one millisecond in the order of the streams. */
export function mergedEntries(
  store: Store,
  streams: readonly Omit<JournalStream, 'newestFirst'>[],
  newestFirst: boolean,
): AsyncGenerator<JournalEntry> {
  const pages = streams.map((stream) => pagedEntries(store, { ...stream, newestFirst }));
  return mergedByTime(pages, newestFirst);
}

/**
 * The same of whatever has a time, each stream ordered by it; one item of each is in memory, beside what it
 * reads ahead.
 */
export async function* mergedByTime<T extends { readonly atMs: number }>(
  streams: readonly AsyncIterator<T>[],
  newestFirst: boolean,
): AsyncGenerator<T> {
  const heads: { item: T; readonly rest: AsyncIterator<T> }[] = [];
  for (const rest of streams) {
    const first = await rest.next();
    if (first.done !== true) heads.push({ item: first.value, rest });
  }
  const before = (a: T, b: T): boolean => (newestFirst ? a.atMs > b.atMs : a.atMs < b.atMs);
  for (;;) {
    const [one, ...others] = heads;
    if (one === undefined) return;
    const head = others.reduce((least, each) => (before(each.item, least.item) ? each : least), one);
    yield head.item;
    const next = await head.rest.next();
    if (next.done === true) heads.splice(heads.indexOf(head), 1);
    else head.item = next.value;
  }
}
