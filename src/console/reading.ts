import { explainJournalEntry } from '../journal/explanation.ts';
import { type SearchPage, type SearchQuery, searchJournal } from '../journal/search.ts';
import { priceChanges } from '../orders/price-changes.ts';
import { releaseInForce, storedRelease } from '../release/stored.ts';
import { recordedTransaction } from '../simulation/recorded-transaction.ts';
import {
  type LimitsParts,
  type LimitsQuery,
  type LimitsWanted,
  limitsInUse,
  limitsOfEntries,
} from '../simulation/limits.ts';
import type { JournalEntry, ListEntry, Lockout, Store } from '../store/store.ts';

/*
 * What pages read. Queries that look at many entries are bounded.
 */

export type ReadingStore = Pick<
  Store,
  | 'buckets'
  | 'control'
  | 'document'
  | 'entries'
  | 'entry'
  | 'health'
  | 'history'
  | 'listEntries'
  | 'lockouts'
  | 'priceHistory'
  | 'prices'
>;

/** When a query ends: after so many entries, or after so long, but not before it has looked at some. */
export interface Bounds {
  readonly most: number;
  readonly least: number;
  readonly ms: number;
}

/** An entry of the journal with its explanation, which takes longer than the rest of a page. */
export interface FoundEntry extends Pick<
  JournalEntry,
  'source' | 'id' | 'atMs' | 'type' | 'verdict' | 'code' | 'subject' | 'revision'
> {
  readonly because: string;
  /** The rule that refused, as POLICY/RULE; the empty text if none did. */
  readonly rule: string;
}

export interface FoundPage extends Omit<SearchPage, 'entries'> {
  readonly entries: readonly FoundEntry[];
}

export interface ListedValues {
  /** Sorted by value. */
  readonly entries: readonly ListEntry[];
  readonly looked: number;
  /** Whether there may be more. */
  readonly more: boolean;
}

export type Reading = ReturnType<typeof createReading>;

export function createReading(store: ReadingStore, groupOf: (source: string) => string | undefined) {
  const limitsParts = async (): Promise<LimitsParts> => {
    const [release, prices, { nowMs }] = await Promise.all([
      releaseInForce(store),
      store.prices(),
      store.health(),
    ]);
    return { store, release, prices, groupOf, nowMs };
  };
  return {
    /** See searchJournal. */
    async search(query: Omit<SearchQuery, 'most' | 'isOver'>, bounds: Bounds): Promise<FoundPage> {
      const page = await searchJournal(store, { ...query, most: bounds.most, isOver: endOf(bounds) });
      return { ...page, entries: page.entries.map(foundEntry) };
    },
    /** At most `most` entries about a subject, newest first. */
    about: async (source: string, subject: string, most: number): Promise<readonly FoundEntry[]> =>
      (await store.entries({ source, subject, newestFirst: true, limit: most })).map(foundEntry),
    /** See recordedTransaction. Policies that are no longer in force are compiled again. */
    transaction: (decided: JournalEntry) =>
      recordedTransaction(decided, (revision) => storedRelease(store, revision)),
    /** The limits in use under the policies in force. `bounds.most` is for each source. */
    limits: async (query: Omit<LimitsQuery, 'entries' | 'isOver'>, bounds: Bounds) =>
      limitsInUse(await limitsParts(), { ...query, entries: bounds.most, isOver: endOf(bounds) }),
    /** The limits that these entries count in under the policies in force, the fullest first. */
    async limitsOf(of: readonly Pick<JournalEntry, 'source' | 'id'>[], wanted: LimitsWanted) {
      const found = await Promise.all(of.map(({ source, id }) => store.entry(source, id)));
      const known = found.filter((each) => each !== undefined);
      return limitsOfEntries(await limitsParts(), known, wanted);
    },
    /** The first `rows` entries of a list that contain a text, in the order of the store. */
    listValues: (list: Named, contains: string, rows: number, bounds: Bounds) =>
      listValues(store, list, { contains, rows, bounds }),
    /** Which of the values are on the list; all of its values if none are given. */
    listed: (list: Named, wanted: readonly string[] | undefined) => listed(store, list, wanted),
    /** At most `most` lock-outs, newest first, and whether there are more. */
    lockedOut: (sources: readonly string[], most: number) => lockedOut(store, sources, most),
    /** See priceChanges; `rows` is the most of them, and `bounds` counts changes of the table. */
    priceChanges(rows: number, bounds: Bounds) {
      const isLate = endOf(bounds);
      return priceChanges(store, { most: rows, isOver: (looked) => looked >= bounds.most || isLate(looked) });
    },
  };
}

function foundEntry(entry: JournalEntry): FoundEntry {
  const { because, deciding } = explainJournalEntry(entry);
  const { source, id, atMs, type, verdict, code, subject, revision } = entry;
  const rule = deciding === undefined ? '' : `${deciding.policy}/${deciding.rule}`;
  return { source, id, atMs, type, verdict, code, subject, revision, because, rule };
}

/** Says, before each entry, whether a query has ended by its time. */
function endOf({ least, ms }: Omit<Bounds, 'most'>): (looked: number) => boolean {
  const startedMs = performance.now();
  return (looked) => looked >= least && performance.now() - startedMs > ms;
}

interface Named {
  readonly source: string;
  readonly list: string;
}

async function listValues(
  store: ReadingStore,
  { source, list }: Named,
  { contains, rows, bounds }: { readonly contains: string; readonly rows: number; readonly bounds: Bounds },
): Promise<ListedValues> {
  const isLate = endOf(bounds);
  const found = new Map<string, ListEntry>();
  const result = (more: boolean): ListedValues => ({
    entries: [...found.values()].sort((a, b) => (a.value < b.value ? -1 : 1)),
    looked,
    more,
  });
  let looked = 0;
  for await (const entry of store.listEntries(source, list)) {
    if (found.size === rows || looked === bounds.most || isLate(looked)) return result(true);
    looked += 1;
    if (entry.value.includes(contains)) found.set(entry.value, entry);
  }
  return result(false);
}

async function listed(
  store: ReadingStore,
  { source, list }: Named,
  wanted: readonly string[] | undefined,
): Promise<readonly string[]> {
  const values = wanted && new Set(wanted);
  const found = new Set<string>();
  for await (const { value } of store.listEntries(source, list)) {
    if (values === undefined || values.has(value)) found.add(value);
    if (found.size === values?.size) break;
  }
  return [...found];
}

async function lockedOut(
  store: ReadingStore,
  sources: readonly string[],
  most: number,
): Promise<{ readonly lockouts: readonly Lockout[]; readonly more: boolean }> {
  const found: Lockout[] = [];
  for (const source of sources) {
    for await (const lockout of store.lockouts(source)) {
      if (found.length === most) return { lockouts: newestFirst(found), more: true };
      found.push(lockout);
    }
  }
  return { lockouts: newestFirst(found), more: false };
}

const newestFirst = (lockouts: readonly Lockout[]): readonly Lockout[] =>
  lockouts.toSorted((a, b) => b.sinceMs - a.sinceMs);
