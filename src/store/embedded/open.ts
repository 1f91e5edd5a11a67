import type { DatabaseSync } from 'node:sqlite';
import { type Clock, systemClock } from '../../values/clock.ts';
import type { Store } from '../store.ts';
import { createCounters } from './counters.ts';
import { openDatabase, sqliteVersion } from './database.ts';
import { storeClosed, storeFault } from './fault.ts';
import { createJournal } from './journal.ts';
import { createLists } from './lists.ts';
import { notice } from './notice.ts';
import { createReleases } from './releases.ts';
import { type SettleTables, settle } from './settle.ts';
import { createSubjects } from './subjects.ts';
import { createTime } from './time.ts';
import { createWrites } from './writes.ts';

const DAY_MS = 86_400_000;
/** How long subjects, since their last change, and journal entries are kept. Longer than any window can be. */
export const DEFAULT_RETENTION: Retention = { subjectsMs: 400 * DAY_MS, journalMs: 400 * DAY_MS };

const WATCH_MS = 250;

export interface Retention {
  readonly subjectsMs: number;
  readonly journalMs: number;
}

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
  const tables = createTables(connection);
  const { releases, subjects, counters, journal, lists } = tables;
  const now = createTime(connection, clock);

  const writes = createWrites(database, (count) => {
    const nowMs = now();
    // More than the writes can have added, so that what has expired does not pile up.
    const limit = 64 + 8 * count;
    counters.expire(nowMs, limit);
    subjects.expire(nowMs - retention.subjectsMs, limit);
    journal.expire(nowMs - retention.journalMs, limit);
  });
  const read = async <T>(work: () => T): Promise<T> => {
    if (!connection.isOpen) throw storeClosed(file);
    try {
      return work();
    } catch (thrown) {
      throw storeFault(file, thrown);
    }
  };
  const watches = new Set<NodeJS.Timeout>();

  return {
    name: 'embedded',
    // Nothing is kept by source that would have to be brought up to date.
    register: () => read(() => undefined),
    health: () =>
      read(() => ({
        nowMs: now(),
        details: { file, sqlite: sqliteVersion(database), ...writes.counts },
      })),
    watch(changed) {
      const stop = watchSequence(() => releases.control().sequence, changed);
      watches.add(stop);
      return () => {
        clearInterval(stop);
        watches.delete(stop);
      };
    },
    async close() {
      for (const each of watches) clearInterval(each);
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

    record: (record) => writes.write(() => journal.record(record, now())),
    entry: (source, id) => read(() => journal.entry(source, id)),
    entries: (query) => read(() => journal.entries(query)),
    journalSize: (source) => read(() => journal.size(source)),
  };
}

function createTables(connection: DatabaseSync): SettleTables {
  const journal = createJournal(connection);
  return {
    releases: createReleases(connection),
    subjects: createSubjects(connection),
    counters: createCounters(connection),
    lists: createLists(connection, journal),
    journal,
  };
}

/** Calls back whenever the sequence has moved. A look that fails is none: whoever needs the store finds that out. */
function watchSequence(sequence: () => number, changed: () => void): NodeJS.Timeout {
  const look = (): number | undefined => {
    try {
      return sequence();
    } catch {
      return undefined;
    }
  };
  let seen = look();
  const timer = setInterval(() => {
    const found = look();
    if (found === undefined || found === seen) return;
    seen = found;
    changed();
  }, WATCH_MS);
  return timer.unref();
}
