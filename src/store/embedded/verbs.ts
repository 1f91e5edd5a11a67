import type { DatabaseSync } from 'node:sqlite';
import { CountersignError } from '../../errors.ts';
import type { Clock } from '../../values/clock.ts';
import { type ClockBounds, type ClockReading, type ClockState, clockStateOf } from '../clock-state.ts';
import type { Elapsed } from '../elapsed.ts';
import { explained } from '../explained.ts';
import { notificationStepOf, settleStepOf } from '../settle-step.ts';
import type { Store, SubjectState } from '../store.ts';
import type { ArgumentOf, ResultOf, Write, WriteVerbs } from './engine.ts';
import type { Tables } from './tables.ts';
import { type ClockRequest, createClockTable } from './time.ts';

type StoreWriteVerb = Exclude<keyof WriteVerbs, 'moveClock'>;
type ClockVerb = 'clock' | 'readClock' | 'acceptClock';
type ReadVerb = Exclude<
  keyof Store,
  StoreWriteVerb | ClockVerb | 'name' | 'health' | 'checkSafety' | 'pendingLoss' | 'watch' | 'close'
>;

/** Runs a read, and rejects with a CountersignError. */
export type Read = <T>(read: () => T) => Promise<T>;

export interface VerbsParts {
  readonly read: Read;
  readonly write: (write: Write) => Promise<unknown>;
  readonly connection: DatabaseSync;
  readonly tables: Tables;
  /** The store's time. */
  readonly now: Clock;
  readonly clock: Clock;
  readonly elapsed: Elapsed;
  /** Without them, every step of the clock is accepted. */
  readonly clockBounds: ClockBounds | undefined;
}

/** The verbs of the store for its data. Each is one read, or goes through the write queue. */
export function createVerbs(parts: VerbsParts): Pick<Store, StoreWriteVerb | ClockVerb | ReadVerb> {
  const clockVerbs = createClockVerbs(parts);
  return { ...createReadVerbs(parts), ...clockVerbs, ...createWriteVerbs(parts, clockVerbs.clock) };
}

function createReadVerbs({ read, tables, now }: VerbsParts): Pick<Store, ReadVerb> {
  const { releases, lists, orders, lockouts, prices, services, journal } = tables;
  const document = (revision: string) => read(() => releases.document(revision));
  return {
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
    order: (source, subject) => read(() => orders.find(source, subject, now())),
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
    journalSize: (source) => read(() => journal.size(source)),
  };
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
  const { decisions, txids, reserved, released } = found;
  const approvals = decisions.filter(({ verdict }) => verdict === 'SUCCESS').map(({ id }) => id);
  return { nowMs, version, approvals, hasTxid: txids.length > 0, reserved, released };
}

const UNBOUNDED: ClockBounds = {
  maxStepMs: Number.POSITIVE_INFINITY,
  maxGapMs: Number.POSITIVE_INFINITY,
};

function createClockVerbs(parts: VerbsParts): Pick<Store, ClockVerb> {
  const { read, connection, clock, elapsed, clockBounds = UNBOUNDED } = parts;
  const { maxStepMs, maxGapMs } = clockBounds;
  const table = createClockTable(connection, maxStepMs);
  const write = writeVerb(parts);
  const stateOf = (found: ClockReading): ClockState => clockStateOf(found, maxStepMs, 'this machine');
  const clockRequest = (mode: ClockRequest['mode']): ClockRequest => ({
    mode,
    elapsed: { id: elapsed.id, elapsedMs: elapsed.elapsedMs() },
    maxGapMs,
  });
  return {
    clock: async () => stateOf(await write('moveClock', { ...clockRequest('keep'), by: '' })),
    acceptClock: async ({ by }) => stateOf(await write('moveClock', { ...clockRequest('accept'), by })),
    readClock: () => read(() => stateOf(table.look(clockRequest('look'), clock()))),
  };
}

function createWriteVerbs(
  parts: VerbsParts,
  moveClock: () => Promise<ClockState>,
): Pick<Store, StoreWriteVerb> {
  let hasMovedClock = parts.clockBounds === undefined;
  const write = writeVerb({
    write(request) {
      // Shares the transaction of this process' first write, so that this write has the right time. If it
      // fails, the store's own check finds a jump, and `settle` tries again.
      if (!hasMovedClock) moveClock().catch(() => undefined);
      hasMovedClock = true;
      return parts.write(request);
    },
  });
  const verb =
    <V extends StoreWriteVerb>(name: V) =>
    (argument: ArgumentOf<V>): Promise<ResultOf<V>> =>
      write(name, argument);
  return {
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
    releaseApproval: verb('releaseApproval'),
    push: verb('push'),
    freeze: verb('freeze'),
    unfreeze: verb('unfreeze'),
    expectOrder: verb('expectOrder'),
    cancelOrder: verb('cancelOrder'),
    liftLockout: verb('liftLockout'),
    changePrices: verb('changePrices'),
    record: verb('record'),
    dropEntries: verb('dropEntries'),
    heartbeat: verb('heartbeat'),
    removeService: verb('removeService'),
    requestHeartbeats: () => write('requestHeartbeats', undefined),
  };
}

/** Sends a verb with its argument, and gives the result the type of the verb. */
function writeVerb({
  write,
}: Pick<VerbsParts, 'write'>): <V extends keyof WriteVerbs>(
  verb: V,
  argument: ArgumentOf<V>,
) => Promise<ResultOf<V>> {
  return <V extends keyof WriteVerbs>(verb: V, argument: ArgumentOf<V>) =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the verb's handler returns it
    write({ verb, argument } as Write) as Promise<ResultOf<V>>;
}
