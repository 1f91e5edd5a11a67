import type { JournalEntry, JournalQuery, PriceHistoryEntry, Store } from '../store/store.ts';

/** An item of a record: an entry of one source, or a change of the prices that all sources share. */
export type RecordItem = JournalEntry | PriceHistoryEntry;

export const isPriceChange = (item: RecordItem): item is PriceHistoryEntry => 'version' in item;

export interface RecordQuery {
  /** Each source continues after an entry; without `after` it begins at its first. */
  readonly sources: readonly { readonly source: string; readonly after?: string }[];
  /** Entries from this instant on. Of earlier entries, only the changes of lists and orders. */
  readonly fromMs?: number | undefined;
  /** False leaves out everything before `fromMs`. */
  readonly state?: boolean;
  readonly untilMs?: number | undefined;
  /** Changes of prices after this version, and not before this instant. */
  readonly prices?: { readonly after: number; readonly fromMs: number };
  /** Called after each entry that was read, also if it is left out. */
  readonly entryRead?: () => void;
}

/**
 * The record of some sources in order of time. A change of prices comes before the entries of its
 * millisecond.
 */
export function readStoreRecord(
  store: Pick<Store, 'entries' | 'priceHistory'>,
  query: RecordQuery,
): AsyncGenerator<RecordItem> {
  const entries = query.sources.map((each) => entriesOf(store, each, query));
  return mergedByTime<RecordItem>([priceChanges(store, query), ...entries], false);
}

async function* entriesOf(
  store: Pick<Store, 'entries'>,
  { source, after = '' }: RecordQuery['sources'][number],
  { fromMs = 0, state = true, untilMs, entryRead }: RecordQuery,
): AsyncGenerator<JournalEntry> {
  const query: PagedQuery = {
    source,
    after,
    ...(untilMs !== undefined && { untilMs }),
    ...(!state && { fromMs }),
  };
  for await (const entry of pagedEntries(store, query)) {
    entryRead?.();
    if (entry.atMs >= fromMs || entry.type === 'list' || entry.type === 'order') yield entry;
  }
}

const PRICES_PAGE = 1000;

async function* priceChanges(
  store: Pick<Store, 'priceHistory'>,
  { fromMs = 0, state = true, untilMs = Infinity, prices = { after: 0, fromMs: 0 } }: RecordQuery,
): AsyncGenerator<PriceHistoryEntry> {
  let { after } = prices;
  const earliestMs = state ? prices.fromMs : Math.max(prices.fromMs, fromMs);
  for (;;) {
    const page = await store.priceHistory({ after, limit: PRICES_PAGE });
    for (const change of page) {
      if (change.atMs >= untilMs) return;
      if (change.atMs >= earliestMs) yield change;
    }
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.version;
  }
}

/**
 * Entries in memory at a time, for each query. An entry can have some hundred kilobytes. Redis answers nobody else
 * while it reads a page, and larger pages make reading at most 5 % faster.
 */
const PAGE = 50;

type PagedQuery = Omit<JournalQuery, 'limit'>;

/** The entries that a query finds, page by page. Entries that are written meanwhile may be among them. */
export async function* pagedEntries(
  store: Pick<Store, 'entries'>,
  query: PagedQuery,
): AsyncGenerator<JournalEntry> {
  let { after = '' } = query;
  for (;;) {
    const page = await store.entries({ ...query, after, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.id;
  }
}

/** Several queries as one, by time. Entries of one millisecond come in the order of the queries. */
export function mergedEntries(
  store: Pick<Store, 'entries'>,
  queries: readonly Omit<PagedQuery, 'newestFirst'>[],
  newestFirst: boolean,
): AsyncGenerator<JournalEntry> {
  const streams = queries.map((query) => pagedEntries(store, { ...query, newestFirst }));
  return mergedByTime(streams, newestFirst);
}

/** Merges streams that are each in order of time. */
async function* mergedByTime<T extends { readonly atMs: number }>(
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
