import { threadCpuUsage } from 'node:process';
import { explainJournalEntry } from '../journal/explanation.ts';
import { type SearchPage, type SearchQuery, searchJournal } from '../journal/search.ts';
import { type PriceChanges, priceChanges } from '../orders/price-changes.ts';
import { releaseInForce, storedRelease } from '../release/stored.ts';
import { type RecordedTransaction, recordedTransaction } from '../simulation/recorded-transaction.ts';
import {
  type LimitUse,
  type LimitsInUse,
  type LimitsParts,
  type LimitsQuery,
  type LimitsWanted,
  limitsInUse,
  limitsOfEntries,
} from '../simulation/limits.ts';
import type { JournalEntry, ListEntry, Lockout, Store } from '../store/store.ts';
import { type Reconciled, type ReconciledDays, type ReconciledRun, createReconciled } from './reconciled.ts';

/*
 * What pages read. Queries that look at many entries are bounded. They run one after the other: see queries.ts.
 */

/** The verbs of the store that pages use as they are. */
export const READ_VERBS = [
  'control',
  'document',
  'entries',
  'entry',
  'history',
  'journalSize',
  'lists',
  'order',
] as const;
/** Queries over many entries. */
export const QUERIES = [
  'search',
  'about',
  'transaction',
  'limits',
  'limitsOf',
  'listValues',
  'listed',
  'lockedOut',
  'priceChanges',
  'reconciledDays',
  'reconciledRun',
  'closableException',
] as const;

export type ReadingStore = Pick<
  Store,
  (typeof READ_VERBS)[number] | 'buckets' | 'health' | 'listEntries' | 'lockouts' | 'prices' | 'priceHistory'
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

export interface Reading extends Pick<Store, (typeof READ_VERBS)[number]> {
  /** See searchJournal. */
  search(query: Omit<SearchQuery, 'most' | 'isOver'>, bounds: Bounds): Promise<FoundPage>;
  /** At most `most` entries about a subject, newest first. */
  about(source: string, subject: string, most: number): Promise<readonly FoundEntry[]>;
  /** See recordedTransaction. Policies that are no longer in force are compiled again. */
  transaction(entry: JournalEntry): Promise<RecordedTransaction | undefined>;
  /** The limits in use under the policies in force. `bounds.most` is for each source. */
  limits(query: Omit<LimitsQuery, 'entries' | 'isOver'>, bounds: Bounds): Promise<LimitsInUse>;
  /** The limits that these entries count in under the policies in force, the fullest first. */
  limitsOf(
    entries: readonly Pick<JournalEntry, 'source' | 'id'>[],
    wanted: LimitsWanted,
  ): Promise<readonly LimitUse[]>;
  /** The first `rows` entries of a list that contain a text, in the order of the store. */
  listValues(
    list: { readonly source: string; readonly list: string },
    contains: string,
    rows: number,
    bounds: Bounds,
  ): Promise<ListedValues>;
  /** Which of the values are on the list; all of its values if none are given. */
  listed(
    list: { readonly source: string; readonly list: string },
    wanted: readonly string[] | undefined,
  ): Promise<readonly string[]>;
  /** At most `most` lock-outs, newest first, and whether there are more. */
  lockedOut(
    sources: readonly string[],
    most: number,
  ): Promise<{ readonly lockouts: readonly Lockout[]; readonly more: boolean }>;
  /** See priceChanges; `rows` is the most of them, and `bounds` counts changes of the table. */
  priceChanges(rows: number, bounds: Bounds): Promise<PriceChanges>;
  /** See Reconciled. The records of a directory are read again only after it has changed. */
  reconciledDays(...given: Parameters<Reconciled['days']>): Promise<ReconciledDays>;
  reconciledRun(...given: Parameters<Reconciled['run']>): Promise<ReconciledRun>;
  closableException(
    ...given: Parameters<Reconciled['closable']>
  ): Promise<ReturnType<Reconciled['closable']>>;
}

export function createReading(store: ReadingStore, groupOf: (source: string) => string | undefined): Reading {
  const reconciled = createReconciled();
  const { control, document, entries, entry, history, journalSize, lists, order } = store;
  const limitsParts = async (): Promise<LimitsParts> => {
    const [release, prices, { nowMs }] = await Promise.all([
      releaseInForce(store),
      store.prices(),
      store.health(),
    ]);
    return { store, release, prices, groupOf, nowMs };
  };
  return {
    control,
    document,
    entries,
    entry,
    history,
    journalSize,
    lists,
    order,
    async search(query, { most, ...bounds }) {
      const page = await searchJournal(store, { ...query, most, isOver: paceOf(bounds) });
      return { ...page, entries: page.entries.map(foundEntry) };
    },
    about: async (source, subject, most) =>
      (await store.entries({ source, subject, newestFirst: true, limit: most })).map(foundEntry),
    transaction: (decided) => recordedTransaction(decided, (revision) => storedRelease(store, revision)),
    limits: async (query, { most, ...bounds }) =>
      limitsInUse(await limitsParts(), { ...query, entries: most, isOver: paceOf(bounds) }),
    async limitsOf(of, wanted) {
      const found = await Promise.all(of.map(({ source, id }) => store.entry(source, id)));
      const known = found.filter((each) => each !== undefined);
      return limitsOfEntries(await limitsParts(), known, wanted);
    },
    listValues: (list, contains, rows, bounds) => listValues(store, list, { contains, rows, bounds }),
    listed: (list, wanted) => listed(store, list, wanted),
    lockedOut: (sources, most) => lockedOut(store, sources, most),
    async priceChanges(rows, bounds) {
      const isLate = paceOf(bounds);
      return priceChanges(store, { most: rows, isOver: (looked) => looked >= bounds.most || isLate(looked) });
    },
    reconciledDays: async (...given) => reconciled.days(...given),
    reconciledRun: async (...given) => reconciled.run(...given),
    closableException: async (of) => reconciled.closable(of),
  };
}

function foundEntry(entry: JournalEntry): FoundEntry {
  const { because, deciding } = explainJournalEntry(entry);
  const { source, id, atMs, type, verdict, code, subject, revision } = entry;
  const rule = deciding === undefined ? '' : `${deciding.policy}/${deciding.rule}`;
  return { source, id, atMs, type, verdict, code, subject, revision, because, rule };
}

/** After WORK_MS of work or more, a query rests REST_FACTOR times as long as it worked, and at most REST_MS_MAX. */
const WORK_MS = 0.4;
const REST_FACTOR = 3;
const REST_MS_MAX = 5;
const NOTHING = new Int32Array(new SharedArrayBuffer(4));

/**
 * The pace of a query that looks at many entries. Called before each entry, it says whether the query has ended by
 * its bounds, and blocks the thread for the rests. A thread that works on and on keeps its processor for
 * milliseconds, whatever its priority is, and a callback may wait for that, as for the collection of its garbage.
 */
function paceOf({ least, ms }: Omit<Bounds, 'most'>): (looked: number) => boolean {
  const startedMs = performance.now();
  let checkedMs = startedMs;
  let worked = threadCpuUsage();
  return (looked) => {
    const nowMs = performance.now();
    if (looked >= least && nowMs - startedMs > ms) return true;
    // Processor time takes longer to read, and cannot be more than what has passed.
    if (nowMs - checkedMs < WORK_MS) return false;
    // Waiting for Redis is no work.
    const { user, system } = threadCpuUsage(worked);
    const workedMs = (user + system) / 1000;
    if (workedMs > WORK_MS) {
      Atomics.wait(NOTHING, 0, 0, Math.min(REST_FACTOR * workedMs, REST_MS_MAX));
      worked = threadCpuUsage();
    }
    checkedMs = performance.now();
    return false;
  };
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
  const isLate = paceOf(bounds);
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
): ReturnType<Reading['lockedOut']> {
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
