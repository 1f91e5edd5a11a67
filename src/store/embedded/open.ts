import { type Clock, systemClock } from '../../values/clock.ts';
import type { Store } from '../store.ts';
import { openDatabase, sqliteVersion } from './database.ts';
import { storeClosed, storeFault } from './fault.ts';
import { DEFAULT_RETENTION, type Retention, createHousekeeping } from './housekeeping.ts';
import { createJournal } from './journal.ts';
import { notice } from './notice.ts';
import { createPrices } from './prices.ts';
import { settle } from './settle.ts';
import { createSettleTables } from './tables.ts';
import { createTime } from './time.ts';
import { createWatches } from './watch.ts';
import { createWrites } from './writes.ts';

export interface EmbeddedStoreOptions {
  /** A file, on a local disk. Several processes may share it; in-memory databases are not supported. */
  readonly path: string;
  readonly clock?: Clock;
  readonly retention?: Retention;
}

/**
 * Opens the store in one SQLite file, which is created where it is missing. Rejects with SETTINGS_INVALID,
 * STORE_UNREACHABLE, STORE_CORRUPT or STORE_UNSAFE, each with its cure. A write waits at most half a second for another
 * process, and with it this process's event loop.
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const { path, clock = systemClock, retention = DEFAULT_RETENTION } = options;
  const database = openDatabase(path);
  const { file, connection } = database;
  const journal = createJournal(connection);
  const tables = createSettleTables(connection, journal);
  const { releases, orders, lists } = tables;
  const prices = createPrices(connection);
  const now = createTime(connection, clock);

  const writes = createWrites(database, createHousekeeping({ ...tables, prices }, now, retention));
  const read = async <T>(work: () => T): Promise<T> => {
    if (!connection.isOpen) throw storeClosed(file);
    try {
      return work();
    } catch (thrown) {
      throw storeFault(file, thrown);
    }
  };
  const watches = createWatches(() => releases.control().sequence);

  return {
    name: 'embedded',
    // Nothing is kept by source that would have to be brought up to date.
    register: () => read(() => undefined),
    health: () =>
      read(() => ({
        nowMs: now(),
        details: { file, sqlite: sqliteVersion(database), ...writes.counts },
      })),
    watch: (changed) => watches.watch(changed),
    async close() {
      watches.close();
      writes.close();
      if (connection.isOpen) connection.close();
    },

    settle: (request) => writes.write(() => settle(tables, request, now())),
    notice: (request) => writes.write(() => notice(tables, request, now())),

    control: () => read(() => releases.control()),
    push: (push) => writes.write(() => releases.push(push, now())),
    document: (revision) => read(() => releases.document(revision)),
    history: (limit) => read(() => releases.history(limit)),
    freeze: (freeze) => writes.write(() => releases.freeze(freeze, now())),
    unfreeze: () => writes.write(() => releases.freeze(undefined, now())),

    changeList: (change) => writes.write(() => lists.change(change, now())),
    lists: (source) => read(() => lists.summaries(source)),
    async *listEntries(source, list) {
      let last: string | undefined;
      for (;;) {
        const page = await read(() => lists.page(source, list, last));
        if (page.length === 0) return;
        yield* page;
        last = page.at(-1)?.value;
      }
    },

    expectOrder: (announcement) => writes.write(() => orders.expect(announcement, now())),
    order: (source, subject) => read(() => orders.find(source, subject, now())),
    cancelOrder: (cancel) => writes.write(() => orders.cancel(cancel, now())),

    prices: () => read(() => prices.table()),
    changePrices: (change) => writes.write(() => prices.change(change, now())),
    priceHistory: (query) => read(() => prices.history(query)),

    record: (record) => writes.write(() => journal.record(record, now())),
    entry: (source, id) => read(() => journal.entry(source, id)),
    entries: (query) => read(() => journal.entries(query)),
    journalSize: (source) => read(() => journal.size(source)),
  };
}
