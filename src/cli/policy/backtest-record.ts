import { readApart } from '../../simulation/proposal-apart.ts';
import type { RecordItem, RecordedEntry, RecordedPrices } from '../../simulation/record.ts';
import type { JournalEntry, ListSummary, Store } from '../../store/store.ts';
import { mergedEntries } from '../journal/pages.ts';
import { isoTime } from '../print.ts';

const PRICES_PAGE = 1000;

/**
 * The record that a store holds of some sources, in order of time, before an instant: what lists held when
 * the journal begins, as far as that is known, then the journal and the changes of prices. What is not known
 * goes to `warnings`.
 */
export async function* storeRecord(
  store: Store,
  sources: readonly string[],
  untilMs: number | undefined,
  warnings: string[],
): AsyncGenerator<RecordItem> {
  for (const source of sources) yield* listsBefore(store, source, warnings);
  const prices = priceChanges(store);
  let price = await prices.next();
  const until = untilMs === undefined ? {} : { untilMs };
  const streams = sources.map((source) => ({ source, ...until }));
  for await (const entry of mergedEntries(store, streams, false)) {
    while (price.done !== true && price.value.atMs <= entry.atMs) {
      yield price.value;
      price = await prices.next();
    }
    yield recorded(entry);
  }
}

function recorded({ detail: text, ...entry }: JournalEntry): RecordedEntry {
  try {
    const { rest: detail, proposal, prices } = readApart(text);
    return { ...entry, detail, proposal, prices };
  } catch {
    return { ...entry, ...NO_PROPOSAL, detail: text };
  }
}

const NO_PROPOSAL = { proposal: () => undefined, prices: 0 };

async function* priceChanges(store: Store): AsyncGenerator<RecordedPrices, undefined> {
  let after = 0;
  for (;;) {
    const page = await store.priceHistory({ after, limit: PRICES_PAGE });
    for (const { version, atMs, set, remove } of page) yield { type: 'prices', version, atMs, set, remove };
    const last = page.at(-1);
    if (last === undefined) return undefined;
    after = last.version;
  }
}

/**
 * What a source's lists held when its journal begins: the changes before that were never kept, or are no
 * longer.
 */
async function* listsBefore(store: Store, source: string, warnings: string[]): AsyncGenerator<RecordedEntry> {
  const [first] = await store.entries({ source, limit: 1 });
  if (first === undefined) return;
  for (const summary of await store.lists(source)) {
    const unchanged = summary.changedAtMs < first.atMs;
    let older = unchanged;
    if (unchanged) yield listEntry(source, summary, [], summary.changedAtMs);
    for await (const { value, addedAtMs } of store.listEntries(source, summary.list)) {
      if (addedAtMs >= first.atMs) continue;
      older = true;
      yield listEntry(source, summary, [value], addedAtMs);
    }
    if (older && !unchanged) {
      warnings.push(
        `the list ${source}/${summary.list} is older than the record, which begins at ${isoTime(first.atMs)}: what was taken off it since is not known to have been on it before`,
      );
    }
  }
}

function listEntry(
  source: string,
  { list }: ListSummary,
  add: readonly string[],
  atMs: number,
): RecordedEntry {
  const plain = { id: '', subject: '', verdict: '', code: '', claims: [], ...NO_PROPOSAL } as const;
  return { ...plain, source, atMs, type: 'list', detail: { list, add, remove: [] } };
}
