import type { JournalEntry, PriceHistoryEntry, Store } from '../../store/store.ts';
import { formatAmount } from '../../values/amount.ts';
import { entryJson } from './text.ts';
import { type JournalStream, mergedByTime, pagedEntries } from '../journal/pages.ts';
import { isoTime } from '../print.ts';

/** What is to be written of the journal and of the prices. */
export interface RecordQuery {
  /** Each with the id of the entry after which it goes on; the empty text begins at the first. */
  readonly sources: readonly { readonly source: string; readonly after: string }[];
  /**
   * Entries from here on; of what was before, only what makes the state: changes of lists, orders and prices.
   */
  readonly fromMs: number | undefined;
  /** False leaves out what was before `fromMs` altogether. */
  readonly state: boolean;
  readonly untilMs: number;
  /** Changes of prices after this version, and not before this instant. */
  readonly prices: { readonly after: number; readonly fromMs: number };
  /** After each entry that was looked at, written or not. */
  readonly looked?: () => void;
}

/** One line of the record: its beginning, by which a reader orders lines, and all of it as JSON. */
export interface RecordLine {
  readonly id: string;
  /** The empty text for a change of prices, which are those of all sources. */
  readonly source: string;
  readonly atMs: number;
  readonly json: object;
}

/** The record in order of time, a change of prices before the entries of its millisecond. */
export function recordLines(store: Store, query: RecordQuery): AsyncGenerator<RecordLine> {
  const entries = query.sources.map((each) => entryLines(store, each, query));
  return mergedByTime([priceLines(store, query), ...entries], false);
}

async function* entryLines(
  store: Store,
  { source, after }: RecordQuery['sources'][number],
  { fromMs = 0, state, untilMs, looked }: RecordQuery,
): AsyncGenerator<RecordLine> {
  const stream: JournalStream = { source, after, untilMs, ...(state ? {} : { fromMs }) };
  for await (const entry of pagedEntries(store, stream)) {
    looked?.();
    if (entry.atMs >= fromMs || isState(entry)) yield lineOf(entry);
  }
}

const isState = ({ type }: JournalEntry): boolean => type === 'list' || type === 'order';

function lineOf(entry: JournalEntry): RecordLine {
  const { id, source, atMs, ...rest } = entryJson(entry);
  return { id, source, atMs, json: { id, source, atMs, ...rest } };
}

const PRICES_PAGE = 1000;

async function* priceLines(store: Store, query: RecordQuery): AsyncGenerator<RecordLine> {
  let { after } = query.prices;
  const fromMs = Math.max(query.prices.fromMs, query.state ? 0 : (query.fromMs ?? 0));
  for (;;) {
    const page = await store.priceHistory({ after, limit: PRICES_PAGE });
    for (const change of page) {
      if (change.atMs >= query.untilMs) return;
      if (change.atMs >= fromMs) yield priceLine(change);
    }
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.version;
  }
}

function priceLine({ version, atMs, set, remove, by }: PriceHistoryEntry): RecordLine {
  const id = `v${version}`;
  const prices = set.map(({ asset, price, asOfMs }) => ({
    asset,
    price: formatAmount(price),
    asOf: isoTime(asOfMs),
  }));
  const detail = { version, set: prices, remove, by };
  return { id, source: '', atMs, json: { id, source: '', atMs, type: 'prices', detail } };
}
