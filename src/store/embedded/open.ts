import { CountersignError } from '../../errors.ts';
import { type Clock, systemClock } from '../../values/clock.ts';
import type { Store } from '../store.ts';
import { openDatabase, sqliteVersion } from './database.ts';
import { storeClosed, storeFault } from './fault.ts';
import { DEFAULT_RETENTION, type Retention } from './housekeeping.ts';
import { createJournal } from './journal.ts';
import { type WriteIn, createLanes } from './lanes.ts';
import { createPrices } from './prices.ts';
import { createSettleTables } from './tables.ts';
import { createTime, steady } from './time.ts';
import { createWatches } from './watch.ts';
import { type Asked, createWriteVerbs } from './write-verbs.ts';
import { type Writes, createWrites } from './writes.ts';

export interface EmbeddedStoreOptions {
  /** A file, on a local disk. Several processes may share it; in-memory databases are not supported. */
  readonly path: string;
  readonly clock?: Clock;
  readonly retention?: Retention;
  readonly writeIn?: WriteIn;
}

/** A group of writes that is under way for longer than this is stuck: the disk hangs. */
const STUCK_MS = 5000;

/**
 * Opens the store in one SQLite file, which is created where it is missing. Rejects with SETTINGS_INVALID,
 * STORE_UNREACHABLE, STORE_CORRUPT or STORE_UNSAFE, each with its cure. A write waits at most half a second for another
 * process. Reads are done in the calling thread, and writes where `writeIn` says, by default `thread-under-load`.
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const { path, clock = systemClock, retention = DEFAULT_RETENTION, writeIn = 'thread-under-load' } = options;
  const database = openDatabase(path);
  const { file, connection } = database;
  const journal = createJournal(connection);
  const { releases, orders, lists } = createSettleTables(connection, journal);
  const prices = createPrices(connection);
  const steadyClock = steady(clock);
  const now = createTime(connection, steadyClock);
  const lanes = createLanes({ database, retention, clock: steadyClock, writeIn });
  const writes = createWrites<Asked>(file, lanes);
  const read = async <T>(work: () => T): Promise<T> => {
    if (!connection.isOpen) throw storeClosed(file);
    try {
      return work();
    } catch (thrown) {
      throw storeFault(file, thrown);
    }
  };
  const watches = createWatches(() => releases.control().sequence);
  let closing: Promise<void> | undefined;
  const closeAll = async (): Promise<void> => {
    watches.close();
    await writes.close();
    await lanes.close();
    connection.close();
  };
  const close = (): Promise<void> => (closing ??= closeAll());
  await lanes.ready.catch(async (thrown: unknown) => {
    await close();
    throw storeFault(file, thrown);
  });

  return {
    name: 'embedded',
    // Nothing is kept by source that would have to be brought up to date.
    register: () => read(() => undefined),
    health: () =>
      read(() => {
        expectUnstuck(file, writes);
        return {
          nowMs: now(),
          details: { file, sqlite: sqliteVersion(database), writer: lanes.where, ...writes.counts },
        };
      }),
    watch: (changed) => watches.watch(changed),
    close,
    ...createWriteVerbs((asked) => writes.write(asked)),

    control: () => read(() => releases.control()),
    document: (revision) => read(() => releases.document(revision)),
    history: (limit) => read(() => releases.history(limit)),

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

    order: (source, subject) => read(() => orders.find(source, subject, now())),

    prices: () => read(() => prices.table()),
    priceHistory: (query) => read(() => prices.history(query)),

    entry: (source, id) => read(() => journal.entry(source, id)),
    entries: (query) => read(() => journal.entries(query)),
    journalSize: (source) => read(() => journal.size(source)),
  };
}

/** A thread can't be seen to hang but by what it leaves unanswered. */
function expectUnstuck(file: string, writes: Writes<Asked>): void {
  const sinceMs = writes.underWaySinceMs();
  if (sinceMs === undefined || performance.now() - sinceMs < STUCK_MS) return;
  throw new CountersignError(
    'STORE_UNREACHABLE',
    `the store ${file} has not finished a write for ${STUCK_MS / 1000} seconds: see whether its disk hangs`,
    { file, stuckMs: STUCK_MS },
  );
}
