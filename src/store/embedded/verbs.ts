import type { DatabaseSync } from 'node:sqlite';
import { CountersignError } from '../../errors.ts';
import type { Clock } from '../../values/clock.ts';
import { type ClockBounds, type ClockReading, type ClockState, clockStateOf } from '../clock-state.ts';
import type { Elapsed } from '../elapsed.ts';
import { explained } from '../kept-decision.ts';
import { notificationStepOf, settleStepOf } from '../settle-step.ts';
import { APPROVAL_REQUESTS_MAX, type Store, type SubjectState } from '../store.ts';
import {
  type ArgumentOf,
  type DataVerb,
  type ResultOf,
  type VerbOf,
  type WriteVerb,
  makeVerbs,
} from '../verbs.ts';
import type { Write, WriteVerbs } from './engine.ts';
import type { Tables } from './tables.ts';
import { preview } from './settle.ts';
import { reservationsOf } from './subjects.ts';
import { type ClockRequest, type Instant, createClockTable } from './time.ts';

type ClockVerb = 'clock' | 'readClock' | 'acceptClock';
type ReadVerb = Exclude<DataVerb, WriteVerb>;

/** Runs a read, and rejects with a CountersignError. */
export type Read = <T>(read: () => T) => Promise<T>;

export interface VerbsParts {
  readonly read: Read;
  readonly write: (write: Write) => Promise<unknown>;
  readonly connection: DatabaseSync;
  readonly tables: Tables;
  /** The store's time. */
  readonly now: Clock;
  /** The store's time, and how far the clock is ahead of it. */
  readonly instant: () => Instant;
  readonly clock: Clock;
  readonly elapsed: Elapsed;
  /** Without them, every step of the clock is accepted. */
  readonly clockBounds: ClockBounds | undefined;
}

/** The verbs of the store for its data. Each is one read, or goes through the write queue. */
export function createVerbs(parts: VerbsParts): Pick<Store, DataVerb | ClockVerb> {
  const look = createClockLook(parts);
  const send: SendWrite = (verb, argument) =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the verb's handler returns it
    parts.write({ verb, argument } as Write) as Promise<ResultOf<WriteVerbs, typeof verb>>;
  const clockVerbs = createClockVerbs(parts, look, send);
  return {
    ...createReadVerbs(parts, look),
    ...clockVerbs,
    ...createWriteVerbs(parts, send, clockVerbs.clock),
  };
}

/** Sends a verb with its argument to the write queue. */
type SendWrite = <V extends keyof WriteVerbs>(
  verb: V,
  argument: ArgumentOf<WriteVerbs, V>,
) => Promise<ResultOf<WriteVerbs, V>>;

function createReadVerbs(
  { read, connection, tables, now, instant }: VerbsParts,
  look: ClockLook,
): Pick<Store, ReadVerb> {
  const { releases, lists, orders, requests, lockouts, prices, services, journal } = tables;
  const document = (revision: string) => read(() => releases.document(revision));
  return {
    preview(request) {
      const step = settleStepOf(request);
      return read(() =>
        readingOnly(connection, () => preview(tables, step, settlingInstant(instant(), look))),
      );
    },
    subject: (source, subject) => read(() => subjectState(tables, source, subject, now())),
    control: () => read(() => releases.control()),
    document,
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
    async *lockouts(source) {
      let last = '';
      for (;;) {
        const page = await read(() => lockouts.page(source, last, now()));
        if (page.length === 0) return;
        yield* page;
        last = page.at(-1)?.id ?? last;
      }
    },
    buckets: (source, keys) => read(() => keys.map((key) => tables.counters.buckets(source, key))),
    order: (source, subject) => read(() => orders.find(source, subject, now())),
    openApprovalRequests: (scope, newest = APPROVAL_REQUESTS_MAX) =>
      read(() => requests.open(scope, newest, now())),
    approvalRequest: (scope, id) => read(() => requests.find(scope, id, now())),
    prices: () => read(() => prices.table()),
    priceHistory: (query) => read(() => prices.history(query)),
    services: () => read(() => ({ nowMs: now(), services: services.all() })),
    ...explained(
      {
        entry: (source, id) => read(() => journal.entry(source, id)),
        entries: (query) => read(() => journal.entries(query)),
      },
      document,
    ),
    access: (id) => read(() => tables.access.find(id, now())),
    journalSize: (source) => read(() => journal.size(source)),
  };
}

/**
 * Reads one state of the file. SQLite itself rejects a write meanwhile, but not afterwards, whatever fails.
 */
function readingOnly<T>(connection: DatabaseSync, work: () => T): T {
  connection.exec('PRAGMA query_only = ON');
  try {
    connection.exec('BEGIN');
    try {
      return work();
    } finally {
      // A failing disk can make SQLite end the transaction.
      if (connection.isTransaction) connection.exec('ROLLBACK');
    }
  } finally {
    connection.exec('PRAGMA query_only = OFF');
  }
}

/** The instant at which a settle would run. It moves the clock if the clock seems to have jumped. */
function settlingInstant(instant: Instant, look: ClockLook): Instant {
  if (instant.aheadMs === 0) return instant;
  const { found, clockMs, nowMs: movedMs } = look();
  const nowMs = Math.max(instant.nowMs, movedMs);
  return { nowMs, aheadMs: found === 'right' ? 0 : Math.max(1, clockMs - nowMs) };
}

/** The version is read first, so that it is never newer than the rest. */
function subjectState(
  { subjects, journal }: Pick<Tables, 'subjects' | 'journal'>,
  source: string,
  subject: string,
  nowMs: number,
): SubjectState | undefined {
  const version = journal.newestAbout(source, subject);
  const found = subjects.find(source, subject);
  if (found === undefined) return undefined;
  const { decisions, txids, counted, released } = found;
  const approvals = decisions.filter(({ verdict }) => verdict === 'SUCCESS').map(({ id }) => id);
  const reserved = [
    ...reservationsOf(found).map(({ key, untilMs, amount }) => ({ key, untilMs, amount })),
    ...counted.map(([key, untilMs]) => ({ key, untilMs, amount: undefined })),
  ];
  return { nowMs, version, approvals, hasTxid: txids.length > 0, reserved, released };
}

const UNBOUNDED: ClockBounds = {
  maxStepMs: Number.POSITIVE_INFINITY,
  maxGapMs: Number.POSITIVE_INFINITY,
};

/** Compares the clock with the stored time, and writes nothing. */
type ClockLook = () => ClockReading;

function createClockLook(parts: VerbsParts): ClockLook {
  const table = createClockTable(parts.connection, (parts.clockBounds ?? UNBOUNDED).maxStepMs);
  return () => table.look(clockRequest(parts, 'look'), parts.clock());
}

function clockRequest(
  { elapsed, clockBounds = UNBOUNDED }: VerbsParts,
  mode: ClockRequest['mode'],
): ClockRequest {
  const { maxGapMs } = clockBounds;
  return { mode, elapsed: { id: elapsed.id, elapsedMs: elapsed.elapsedMs() }, maxGapMs };
}

function createClockVerbs(parts: VerbsParts, look: ClockLook, write: SendWrite): Pick<Store, ClockVerb> {
  const { read, clockBounds = UNBOUNDED } = parts;
  const stateOf = (found: ClockReading): ClockState =>
    clockStateOf(found, clockBounds.maxStepMs, 'this machine');
  return {
    clock: async () => stateOf(await write('moveClock', { ...clockRequest(parts, 'keep'), by: '' })),
    acceptClock: async ({ by }) =>
      stateOf(await write('moveClock', { ...clockRequest(parts, 'accept'), by })),
    readClock: () => read(() => stateOf(look())),
  };
}

function createWriteVerbs(
  parts: VerbsParts,
  send: SendWrite,
  moveClock: () => Promise<ClockState>,
): Pick<Store, WriteVerb> {
  let hasMovedClock = parts.clockBounds === undefined;
  // Shares the transaction of this process' first write, so that this write has the right time. If it fails,
  // the store's own check finds a jump, and `settle` tries again.
  const moveClockFirst = (): void => {
    if (!hasMovedClock) moveClock().catch(() => undefined);
    hasMovedClock = true;
  };
  const write: SendWrite = (verb, argument) => {
    moveClockFirst();
    return send(verb, argument);
  };
  return {
    ...makeVerbs('writes', <V extends WriteVerb>(verb: V): VerbOf<V> => (argument) => {
      moveClockFirst();
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what is sent in another form is below
      return parts.write({ verb, argument } as Write) as Promise<ResultOf<Store, V>>;
    }),
    // An outage looks like a jump of the clock until moveClock compares it with the kernel's count of elapsed
    // time.
    async settle(request) {
      const step = settleStepOf(request);
      const settled = await write('settle', step);
      if (settled.outcome !== 'jumped') return settled;
      await moveClock();
      return write('settle', step);
    },
    async changeList(change) {
      try {
        return await write('changeList', change);
      } catch (thrown) {
        if (!(thrown instanceof CountersignError) || thrown.code !== 'CLOCK_JUMPED') throw thrown;
        await moveClock();
        return write('changeList', change);
      }
    },
    // Known sources are not written again, so that a command can read a store that it cannot write.
    async register(sources) {
      const known = new Set(await parts.read(() => parts.tables.sources.names()));
      if (sources.some((source) => !known.has(source))) await write('register', sources);
    },
    recordNotification: (request) => write('recordNotification', notificationStepOf(request)),
  };
}
