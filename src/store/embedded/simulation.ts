import { DatabaseSync } from 'node:sqlite';
import { NO_PRICES, type PriceTable } from '../../policy/facts.ts';
import type {
  JournalEntry,
  ListChange,
  NotificationRequest,
  NotificationResult,
  OrderAnnouncement,
  PriceChange,
  SettleRequest,
  SettleResult,
} from '../store.ts';
import { keepInForce } from './in-force-kept.ts';
import type { JournalTable } from './journal.ts';
import { notice } from './notice.ts';
import { createPrices } from './prices.ts';
import { migrations } from './schema.ts';
import { settle } from './settle.ts';
import { createSettleTables } from './tables.ts';

/**
 * A store to try policies in: the embedded store's own tables and steps, so that what is settled here is
 * settled as in production, but one call after the other, each at the instant that it is given, which must
 * not run backwards. Nobody else sees it, nothing of it lasts, and it never forgets. Of the journal it keeps
 * the latest refusals that were given a detail.
 */
export interface SimulationStore {
  /** Puts a revision in force, without its document. */
  push(revision: string, atMs: number): void;
  settle(request: SettleRequest, atMs: number): SettleResult;
  notice(request: NotificationRequest, atMs: number): NotificationResult;
  refusal(id: string): Refusal | undefined;
  /** Throws NOT_FOUND for a removal from a list that does not exist. */
  changeList(change: ListChange, atMs: number): void;
  expectOrder(announcement: OrderAnnouncement, atMs: number): void;
  /** Throws NOT_FOUND if there is none. */
  cancelOrder(cancel: Pick<OrderAnnouncement, 'source' | 'subject' | 'by'>, atMs: number): void;
  /** Throws USAGE (see Prices). */
  changePrices(change: PriceChange, atMs: number): void;
  prices(): PriceTable;
  /** Whether anything was decided about a subject. */
  knows(source: string, subject: string): boolean;
  /** Whether there is such a list, if an empty one. */
  hasList(source: string, list: string): boolean;
  hasOrder(source: string, subject: string): boolean;
  close(): void;
}

type Refusal = Pick<JournalEntry, 'code' | 'claims' | 'detail'>;

const REFUSALS_KEPT = 10_000;
const CACHE_KIB = 65_536;

/**
 * On `disk` it is a nameless file that SQLite makes and drops, and what it has in memory is bounded, however
 * much is settled.
 */
export function openSimulationStore(where: 'memory' | 'disk'): SimulationStore {
  // The empty name is SQLite's for a private file. Nothing is ever rolled back, and the one transaction never
  // ends: so it needs no journal, which only a database that is not defended against its owner can do
  // without.
  const connection = new DatabaseSync(where === 'memory' ? ':memory:' : '', { defensive: false });
  connection.exec(`PRAGMA journal_mode = OFF; PRAGMA cache_size = -${CACHE_KIB}`);
  for (const step of migrations) connection.exec(step);
  // Nobody but this store's own verbs can change what is in force.
  const refusals = new Map<string, Refusal>();
  const tables = keepInForce(createSettleTables(connection, countingJournal(refusals)));
  const priceTables = createPrices(connection);
  let prices = NO_PRICES;
  connection.exec('BEGIN');
  return {
    push(revision, atMs) {
      const expected = tables.releases.inForce().revision;
      tables.releases.push({ revision, document: '', expected, by: '', message: '' }, atMs);
      tables.forget();
    },
    settle: (request, atMs) => settle(tables, request, atMs),
    notice: (request, atMs) => notice(tables, request, atMs),
    refusal: (id) => refusals.get(id),
    changeList: (change, atMs) => void tables.lists.change(change, atMs),
    expectOrder: (announcement, atMs) => void tables.orders.expect(announcement, atMs),
    cancelOrder: (cancel, atMs) => void tables.orders.cancel(cancel, atMs),
    changePrices(change, atMs) {
      prices = priceTables.change(change, atMs);
      tables.forget();
    },
    prices: () => prices,
    knows: (source, subject) => tables.subjects.find(source, subject) !== undefined,
    hasList: (source, list) => tables.lists.version(source, list) > 0,
    hasOrder: (source, subject) => tables.orders.find(source, subject, 0) !== undefined,
    close: () => connection.close(),
  };
}

/** Gives ids, and keeps refusals alone, for nobody asks for more of what was settled here. */
function countingJournal(refusals: Map<string, Refusal>): JournalTable {
  let last = 0;
  const append: JournalTable['append'] = ({ type, verdict, code = '', claims = [], detail }) => {
    const id = String(++last);
    if (type !== 'decision' || verdict !== 'FAILURE' || detail === '') return id;
    refusals.set(id, { code, claims, detail });
    refusals.delete(String(last - REFUSALS_KEPT));
    return id;
  };
  return {
    append,
    record: (record, atMs) => append({ ...record, atMs }),
    entry: () => undefined,
    entries: () => [],
    size: () => 0,
    drop: () => 0,
    expire: () => undefined,
  };
}
