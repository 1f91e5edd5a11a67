import type { JournalEntry, JournalQuery, Store } from '../store/store.ts';

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
export async function* mergedEntries(
  store: Store,
  streams: readonly Omit<JournalStream, 'newestFirst'>[],
  newestFirst: boolean,
): AsyncGenerator<JournalEntry> {
  const heads: { entry: JournalEntry; readonly rest: AsyncGenerator<JournalEntry> }[] = [];
  for (const stream of streams) {
    const rest = pagedEntries(store, { ...stream, newestFirst });
    const first = await rest.next();
    if (first.done !== true) heads.push({ entry: first.value, rest });
  }
  const before = (a: JournalEntry, b: JournalEntry): boolean =>
    newestFirst ? a.atMs > b.atMs : a.atMs < b.atMs;
  for (;;) {
    const [one, ...others] = heads;
    if (one === undefined) return;
    const head = others.reduce((least, each) => (before(each.entry, least.entry) ? each : least), one);
    yield head.entry;
    const next = await head.rest.next();
    if (next.done === true) heads.splice(heads.indexOf(head), 1);
    else head.entry = next.value;
  }
}
