import { DatabaseSync } from 'node:sqlite';
import { NO_PRICES, type PeoplesApproval, type PriceTable } from '../../policy/facts.ts';
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
import { notificationStepOf, settleStepOf } from '../settle-step.ts';
import type { JournalTable } from './journal.ts';
import { SCHEMA } from './schema.ts';
import { recordNotification, releaseApproval, settle } from './settle.ts';
import { reservationsOf } from './subjects.ts';
import { cacheInForce, createTables } from './tables.ts';

/**
 * A private store to simulate policies in. It uses the tables and steps of the embedded store, so it settles
 * exactly as in production, but runs one call at a time. Each call is at a given instant, which must not be
 * before the previous one. It is not durable, and its rows never expire. The journal keeps only the latest
 * refusals that have a detail.
 */
export interface SimulationStore {
  /** Puts a revision in force, without its document. */
  push(revision: string, atMs: number): void;
  /** As if the freezes were in effect that the proposal was evaluated for. */
  settle(request: SettleRequest, atMs: number): SettleResult;
  recordNotification(request: NotificationRequest, atMs: number): NotificationResult;
  /** Gives back what the approval of a subject reserved, if it is approved. */
  releaseApproval(source: string, subject: string, atMs: number): void;
  refusal(id: string): Refusal | undefined;
  /** Throws NOT_FOUND for a removal from a list that does not exist. */
  changeList(change: ListChange, atMs: number): void;
  expectOrder(announcement: OrderAnnouncement, atMs: number): void;
  /** Throws NOT_FOUND without an order. */
  cancelOrder(cancel: Pick<OrderAnnouncement, 'source' | 'subject' | 'by'>, atMs: number): void;
  /** Has an approval request in this version, as if people had changed it so often. */
  haveRequest(source: string, request: Pick<PeoplesApproval, 'id' | 'version'>, atMs: number): void;
  /** Does nothing if the key is not locked out. */
  liftLockout(source: string, id: string): void;
  /** Throws USAGE (see Prices). */
  changePrices(change: PriceChange, atMs: number): void;
  prices(): PriceTable;
  /** Whether anything was decided about a subject. */
  hasSubject(source: string, subject: string): boolean;
  /** True also for an empty list. */
  hasList(source: string, list: string): boolean;
  hasOrder(source: string, subject: string): boolean;
  close(): void;
}

type Refusal = Pick<JournalEntry, 'code' | 'claims' | 'detail'>;

const REFUSALS_KEPT = 10_000;
/** Longer than any simulation. */
const REQUEST_KEPT_MS = 3650 * 86_400_000;
const CACHE_KIB = 65_536;

/** On `disk` it is an unnamed file that SQLite creates and deletes, so its memory is bounded. */
export function openSimulationStore(where: 'memory' | 'disk'): SimulationStore {
  // SQLite uses the empty name for a private file. The only transaction never ends and is never rolled back,
  // so it needs no rollback journal. Only a connection that is not `defensive` can turn that off.
  const connection = new DatabaseSync(where === 'memory' ? ':memory:' : '', { defensive: false });
  connection.exec(`PRAGMA journal_mode = OFF; PRAGMA cache_size = -${CACHE_KIB}`);
  connection.exec(SCHEMA);
  const refusals = new Map<string, Refusal>();
  const tables = cacheInForce(createTables(connection, createRefusalJournal(refusals)));
  const raiseVersion = connection.prepare(
    'UPDATE approval_request SET version = ? WHERE scope = ? AND id = ? AND version < ?',
  );
  let prices = NO_PRICES;
  connection.exec('BEGIN');
  return {
    push(revision, atMs) {
      const expected = tables.releases.inForce().revision;
      tables.releases.push({ revision, document: '', expected, by: '', message: '' }, atMs);
      tables.invalidate();
    },
    settle(request, atMs) {
      const step = settleStepOf(request);
      const inForce = { ...tables.releases.inForce(), onlyApproved: step.onlyApproved };
      const releases = { ...tables.releases, inForce: () => inForce };
      return settle({ ...tables, releases }, step, { nowMs: atMs, aheadMs: 0 });
    },
    releaseApproval(source, subject, atMs) {
      const known = tables.subjects.find(source, subject);
      if (known?.decisions.some(({ verdict }) => verdict === 'SUCCESS') !== true) return;
      const counting = reservationsOf(known).filter(({ untilMs }) => untilMs > atMs);
      const keys = counting.map(({ key }) => key);
      const named = { source, subject, version: '', of: '', by: '', message: '' };
      releaseApproval(tables, { ...named, keys, detail: '' }, atMs);
    },
    recordNotification: (request, atMs) => recordNotification(tables, notificationStepOf(request), atMs),
    refusal: (id) => refusals.get(id),
    changeList: (change, atMs) => void tables.lists.change(change, atMs),
    expectOrder: (announcement, atMs) => void tables.orders.expect(announcement, atMs),
    cancelOrder: (cancel, atMs) => void tables.orders.cancel(cancel, atMs),
    haveRequest(scope, { id, version }, atMs) {
      const change = { scope, id, value: '{}', isOpen: true, keepMs: REQUEST_KEPT_MS };
      if (tables.requests.find(scope, id, atMs) === undefined)
        tables.requests.change({ ...change, expected: 0 }, atMs);
      // An entry can claim any version, so none is made one by one.
      raiseVersion.run(version, scope, id, version);
    },
    liftLockout: (source, id) => tables.lockouts.drop(source, id),
    changePrices(change, atMs) {
      prices = tables.prices.change(change, atMs);
      tables.invalidate();
    },
    prices: () => prices,
    hasSubject: (source, subject) => tables.subjects.find(source, subject) !== undefined,
    hasList: (source, list) => tables.lists.version(source, list) > 0,
    hasOrder: (source, subject) => tables.orders.find(source, subject, 0) !== undefined,
    close: () => connection.close(),
  };
}

/** Assigns ids, and keeps only refusals: a simulation reads nothing else from its journal. */
function createRefusalJournal(refusals: Map<string, Refusal>): JournalTable {
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
    newestAbout: () => '',
    drop: () => 0,
    expire: () => undefined,
  };
}
