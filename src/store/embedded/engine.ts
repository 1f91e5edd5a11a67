import { type ClockReading, clockJumped } from '../clock-state.ts';
import type { Retention } from '../retention.ts';
import type { NotificationStep, SettleStep } from '../settle-step.ts';
import type { NotificationResult, SettleResult, Store } from '../store.ts';
import type { ArgumentOf, ResultOf, WriteVerb } from '../verbs.ts';
import type { Database } from './database.ts';
import { createJournal } from './journal.ts';
import { recordNotification, releaseApproval, settle } from './settle.ts';
import { type Tables, cacheInForce, createTables } from './tables.ts';
import { type ClockRequest, type Instant, createClockTable, createTime } from './time.ts';
import { type BatchResult, createCommit } from './transaction.ts';

/** The verbs that write. Each runs inside a transaction, at the store's time. */
export interface WriteVerbs extends Pick<Store, Exclude<WriteVerb, 'settle' | 'recordNotification'>> {
  settle(step: SettleStep): Promise<SettleResult>;
  recordNotification(step: NotificationStep): Promise<NotificationResult>;
  moveClock(check: ClockCheck): Promise<ClockReading>;
}

type ClockCheck = ClockRequest & { readonly by: string };

/** A verb with its argument: plain data, so that it can be sent to a thread. */
export type Write<V extends keyof WriteVerbs = keyof WriteVerbs> = {
  readonly [K in V]: { readonly verb: K; readonly argument: ArgumentOf<WriteVerbs, K> };
}[V];

/** Writes that share a transaction, and so one instant: the time of the clock when the batch was sent. */
export interface Batch {
  readonly clockMs: number;
  readonly writes: readonly Write[];
}

/**
 * Commits one batch after the other; see createCommit. The store's time never runs backwards, and is
 * never more than `maxStepMs` ahead of the remembered time.
 */
export function createEngine(
  database: Database,
  retention: Retention,
  maxStepMs = Number.POSITIVE_INFINITY,
): (batch: Batch) => BatchResult {
  const { connection } = database;
  const tables = cacheInForce(createTables(connection, createJournal(connection)));
  const time = createTime(connection, maxStepMs);
  const clock = createClockTable(connection, maxStepMs);
  let clockMs = 0;
  let now: Instant = { nowMs: 0, aheadMs: 0 };
  const moveClock = (check: ClockCheck): ClockReading => {
    const fromMs = now.nowMs;
    const found = clock.look(check, clockMs);
    now = time(clockMs);
    if (check.mode === 'accept') journalAcceptedClock(tables, check.by, fromMs, now.nowMs);
    return found;
  };
  const handlers = createHandlers(tables, moveClock);
  const commit = createCommit<Write>(database, {
    refresh() {
      tables.invalidate();
      now = time(clockMs);
    },
    apply: (write) => applyWrite(handlers, write, now),
    cleanUp: createCleanUp(tables, retention, () => now.nowMs),
  });
  return (batch) => {
    ({ clockMs } = batch);
    return commit(batch.writes);
  };
}

type Handlers = {
  readonly [V in keyof WriteVerbs]: (
    argument: ArgumentOf<WriteVerbs, V>,
    now: Instant,
  ) => ResultOf<WriteVerbs, V>;
};

function createHandlers(
  tables: Tables & { readonly invalidate: () => void },
  moveClock: (check: ClockCheck) => ClockReading,
): Handlers {
  const { releases, sources, lists, orders, lockouts, prices, journal, services, access, requests } = tables;
  const changingInForce =
    <A, R>(change: (argument: A, nowMs: number) => R): ((argument: A, now: Instant) => R) =>
    (argument, { nowMs }) => {
      const result = change(argument, nowMs);
      tables.invalidate();
      return result;
    };
  return {
    settle: (step, now) => settle(tables, step, now),
    recordNotification: (step, { nowMs }) => recordNotification(tables, step, nowMs),
    releaseApproval: (release, { nowMs }) => releaseApproval(tables, release, nowMs),
    push: changingInForce((push, nowMs) => releases.push(push, nowMs)),
    freeze: changingInForce((freeze, nowMs) => releases.freeze(freeze, nowMs)),
    unfreeze: changingInForce((unfreeze, nowMs) => releases.unfreeze(unfreeze, nowMs)),
    register: (names) => sources.register(names),
    changeList(change, { nowMs, aheadMs }) {
      if (aheadMs > 0 && change.add.length > 0) throw clockJumped(aheadMs);
      return lists.change(change, nowMs);
    },
    expectOrder: (announcement, { nowMs }) => orders.expect(announcement, nowMs),
    cancelOrder: (cancel, { nowMs }) => orders.cancel(cancel, nowMs),
    changeApprovalRequest: (change, { nowMs }) => requests.change(change, nowMs),
    liftLockout: (lift, { nowMs }) => lockouts.lift(lift, nowMs),
    changePrices: changingInForce((change, nowMs) => prices.change(change, nowMs)),
    record: (record, { nowMs }) => journal.record(record, nowMs),
    dropEntries: (drop) => journal.drop(drop),
    heartbeat: (heartbeat, { nowMs }) => services.saveHeartbeat(heartbeat, nowMs),
    removeService: (id) => services.remove(id),
    requestHeartbeats: () => services.addRequest(),
    changeAccess: (change, { nowMs }) => access.change(change, nowMs),
    moveClock,
  };
}

function applyWrite<V extends keyof WriteVerbs>(
  handlers: Handlers,
  { verb, argument }: Write<V>,
  now: Instant,
): unknown {
  return handlers[verb](argument, now);
}

function journalAcceptedClock(
  { sources, journal }: Pick<Tables, 'sources' | 'journal'>,
  by: string,
  fromMs: number,
  toMs: number,
): void {
  const detail = JSON.stringify({ by, fromMs, toMs });
  for (const source of sources.names()) {
    journal.append({ source, atMs: toMs, type: 'clock', code: 'CLOCK_ACCEPTED', detail });
  }
}

/** Expired rows are deleted once a second, and after this many writes. */
const CLEANED_EVERY_MS = 1000;
const CLEANED_AFTER_WRITES = 64;

/** Deletes some rows that are past their retention, in proportion to the writes since the last time. */
function createCleanUp(
  { subjects, counters, distinct, lockouts, marks, orders, requests, journal, prices, access }: Tables,
  { subjectsMs, journalMs }: Retention,
  now: () => number,
): (writes: number) => void {
  let cleanedMs = -Infinity;
  let writesSince = 0;
  return (writes) => {
    const nowMs = now();
    writesSince += writes;
    if (writesSince < CLEANED_AFTER_WRITES && nowMs - cleanedMs < CLEANED_EVERY_MS) return;
    // More than the writes can have added, so that expired rows don't pile up.
    const limit = 64 + 8 * writesSince;
    [cleanedMs, writesSince] = [nowMs, 0];
    for (const table of [counters, distinct, lockouts, access, requests]) table.expire(nowMs, limit);
    for (const table of [subjects, marks, orders]) table.expire(nowMs - subjectsMs, limit);
    requests.expireUsed(nowMs - subjectsMs, limit);
    for (const table of [journal, prices]) table.expire(nowMs - journalMs, limit);
  };
}
