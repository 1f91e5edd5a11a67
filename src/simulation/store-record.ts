import { type RecordItem, readStoreRecord } from '../journal/record.ts';
import type { JournalEntry, Store } from '../store/store.ts';
import { isoTime } from '../values/text.ts';

/** What a record is read from. */
export type RecordStore = Pick<Store, 'entries' | 'lists' | 'listEntries' | 'priceHistory'>;

/** The lists as they were when the journal begins, if that is known, and then the record in order of time. */
export async function* storeRecord(
  store: RecordStore,
  sources: readonly string[],
  untilMs: number | undefined,
  warnings: string[],
): AsyncGenerator<RecordItem> {
  for (const source of sources) yield* listsBefore(store, source, warnings);
  yield* readStoreRecord(store, { sources: sources.map((source) => ({ source })), untilMs });
}

/**
 * The content of a source's lists when its journal begins. Changes before that are no longer in the journal.
 */
async function* listsBefore(
  store: RecordStore,
  source: string,
  warnings: string[],
): AsyncGenerator<JournalEntry> {
  const [first] = await store.entries({ source, limit: 1 });
  if (first === undefined) return;
  for (const { list, changedAtMs } of await store.lists(source)) {
    const unchanged = changedAtMs < first.atMs;
    let isOlder = unchanged;
    if (unchanged) yield listEntry(source, list, [], changedAtMs);
    for await (const { value, addedAtMs } of store.listEntries(source, list)) {
      if (addedAtMs >= first.atMs) continue;
      isOlder = true;
      yield listEntry(source, list, [value], addedAtMs);
    }
    if (isOlder && !unchanged) {
      warnings.push(
        `the list ${source}/${list} is older than the record, which begins at ` +
          `${isoTime(first.atMs)}: values that were removed since are treated as if they had never ` +
          'been on it',
      );
    }
  }
}

function listEntry(source: string, list: string, add: readonly string[], atMs: number): JournalEntry {
  const empty = { id: '', subject: '', verdict: '', code: '', revision: '', of: '', claims: [] } as const;
  return { ...empty, source, atMs, type: 'list', detail: JSON.stringify({ list, add, remove: [] }) };
}
