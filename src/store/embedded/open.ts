import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { CountersignError } from '../../errors.ts';
import { type Clock, systemClock } from '../../values/clock.ts';
import type { ClockBounds } from '../clock-state.ts';
import { type Elapsed, systemElapsed } from '../elapsed.ts';
import type { Store, StoreHealth } from '../store.ts';
import type { LockWait } from './begin.ts';
import { type Database, openDatabase, sqliteVersion } from './database.ts';
import type { ClockAsked } from './engine.ts';
import { storeClosed, storeFault } from './fault.ts';
import { DEFAULT_RETENTION, type Retention } from './housekeeping.ts';
import { createFileGuard } from './identity.ts';
import { createJournal } from './journal.ts';
import { type WriteIn, createLanes } from './lanes.ts';
import { createPrices } from './prices.ts';
import { type Read, createReadVerbs } from './read-verbs.ts';
import { createServices } from './services.ts';
import { createRegister } from './sources.ts';
import { createSettleTables } from './tables.ts';
import { createTime } from './time.ts';
import { createTimedVerbs } from './timed-verbs.ts';
import { createWatches } from './watch.ts';
import type { Asked } from './write-verbs.ts';
import { type Writes, createWrites } from './writes.ts';

export interface EmbeddedStoreOptions {
  /** A file, on a local disk. Several processes may share it; in-memory databases are not supported. */
  readonly path: string;
  /** Whether it is made where it is missing; default true. */
  readonly create?: boolean;
  /** How a write waits for those of other processes; default: as a service's does. */
  readonly lockWait?: LockWait;
  readonly clock?: Clock;
  /** Without them, every step of the clock is believed, as tests and simulations want it. */
  readonly clockBounds?: ClockBounds;
  /** Only for tests: what passes beside the clock. */
  readonly elapsed?: Elapsed;
  readonly retention?: Retention;
  readonly writeIn?: WriteIn;
}

/** A group of writes that is under way for longer than this is stuck: the disk hangs. */
const STUCK_MS = 5000;

/**
 * Opens the store in one SQLite file. Rejects with SETTINGS_INVALID, STORE_MISSING, STORE_UNREACHABLE,
 * STORE_CORRUPT or STORE_UNSAFE, each with its cure. Once the file is no longer the one at its path, every
 * verb rejects with STORE_MOVED. Reads are done in the calling thread, and writes where `writeIn` says, by
 * default `thread-under-load`.
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions): Promise<Store> {
  const { path, clock = systemClock, retention = DEFAULT_RETENTION, writeIn = 'thread-under-load' } = options;
  const { elapsed = systemElapsed() } = options;
  const maxStepMs = options.clockBounds?.maxStepMs ?? Number.POSITIVE_INFINITY;
  const database = openDatabase(path, options);
  const { file, connection } = database;
  const guard = createFileGuard(file, database.identity);
  const journal = createJournal(connection);
  const { releases, sources, orders, lists } = createSettleTables(connection, journal);
  const prices = createPrices(connection);
  const services = createServices(connection);
  const time = createTime(connection, maxStepMs);
  const now = (): number => time(clock()).nowMs;
  const lanes = createLanes({ database, retention, clock, maxStepMs, writeIn, guard });
  const writes = createWrites<Asked | ClockAsked>(file, lanes);
  const read: Read = async (work) => {
    if (!connection.isOpen) throw storeClosed(file);
    guard.expectSeenSame();
    try {
      return work();
    } catch (thrown) {
      throw storeFault(file, thrown);
    }
  };
  const watches = createWatches(() => {
    guard.expectSame();
    return `${releases.control().sequence} ${services.calls()}`;
  });
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

  const { lookAtClock, ...verbs } = createTimedVerbs({
    connection,
    clock,
    elapsed,
    clockBounds: options.clockBounds,
    write: (asked) => writes.write(asked),
  });

  return {
    name: 'embedded',
    ...verbs,
    register: createRegister(() => read(() => sources.names()), verbs.register),
    lookAtClock: () => read(lookAtClock),
    health: () =>
      read(() => {
        guard.expectSame();
        expectUnstuck(file, writes);
        lanes.expectWritable();
        return {
          nowMs: now(),
          details: { ...detailsOf(database), writer: lanes.where, ...writes.counts },
        };
      }),
    watch: (changed) => watches.watch(changed),
    close,
    ...createReadVerbs(read, { releases, lists, orders, prices, services, journal, now }),
  };
}

const detailsOf = (database: Database): StoreHealth['details'] => ({
  file: database.file,
  sqlite: sqliteVersion(database),
  freeBytes: freeBytesFor(database.file),
});

/** For this user, on the disk of the file. */
function freeBytesFor(file: string): number {
  const { bavail, bsize } = statfsSync(dirname(file));
  return bavail * bsize;
}

/** A thread can't be seen to hang but by what it leaves unanswered. */
function expectUnstuck(file: string, writes: Writes<Asked | ClockAsked>): void {
  const sinceMs = writes.inFlightSinceMs();
  if (sinceMs === undefined || performance.now() - sinceMs < STUCK_MS) return;
  throw new CountersignError(
    'STORE_UNREACHABLE',
    `the store ${file} has not finished a write for ${STUCK_MS / 1000} seconds: see whether its disk hangs`,
    { file, stuckMs: STUCK_MS },
  );
}
