import { CountersignError } from '../errors.ts';
import { type Tally, createTally } from '../http/load.ts';
import type { Readiness } from '../http/ops.ts';
import { createCallbackObserver, createDenialObserver } from '../observe/callbacks.ts';
import { type HealthState, createHealth } from '../observe/health.ts';
import { createLineLimit } from '../observe/line-limit.ts';
import type { Log } from '../observe/log.ts';
import { type Metrics, createMetrics } from '../observe/metrics.ts';
import type { ReportCallback } from '../observe/report.ts';
import { type Follower, createFollower } from '../release/follow.ts';
import { pushWhenEmpty } from '../release/push.ts';
import type { Settings } from '../settings/schema.ts';
import { freezeChanges, freezeText, lossesIn } from '../store/freezes.ts';
import type { Control, Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { type Expiries, storeExpiries } from './certificates.ts';
import { countFailures } from './counted-store.ts';
import { type UnreadableKey, keysState } from './followed-keys.ts';
import { type Preparation, startPreparing } from './preparation.ts';
import { type Timekeeping, createTimekeeping } from './timekeeping.ts';
import type { OpenedStore } from './store.ts';

/** What goes on beside the callbacks: preparing the store, following the policies, health and metrics. */
export interface Runtime {
  /** The store, its failures counted. */
  readonly store: Store;
  readonly follower: Follower;
  readonly report: ReportCallback;
  /** Somebody called the API without the right token. */
  readonly apiDenied: (address: string) => void;
  readonly readiness: () => Promise<Readiness>;
  readonly metrics: () => Promise<{ readonly contentType: string; readonly text: string }>;
  /** Counts what a service or a module answered. */
  readonly pluginAnswered: Metrics['pluginAnswered'];
  /** Certificates that are in use from now on. */
  readonly showExpiries: (expiries: Expiries) => void;
  /** Told of what is turned away. */
  readonly tally: Tally;
  /** Why the store may not decide yet; undefined once it may. */
  readonly unprepared: () => string | undefined;
  /**
   * Prepares the store and puts policies in force where there are none: nothing is written before. Rejects
   * with STORE_UNSAFE or POLICY_INVALID; a store that can't be reached is waited for behind `unprepared`.
   */
  readonly start: () => Promise<void>;
  readonly shuttingDown: () => void;
  readonly stop: () => void;
}

export interface RuntimeParts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly opened: OpenedStore;
  readonly unreadableKeys: () => readonly UnreadableKey[];
}

export function createRuntime(parts: RuntimeParts): Runtime {
  const { settings, clock, log, opened, unreadableKeys } = parts;
  const metrics = createMetrics();
  const showExpiries = (expiries: Expiries): void =>
    expiries.forEach(([setting, atMs]) => metrics.certificateExpires(setting, atMs));
  const store = countFailures(opened.store, metrics);
  const follower = followPolicies(parts, store, metrics);

  const timekeeping = createTimekeeping({ store, log, metrics });
  let preparation: Preparation | undefined;
  async function start(): Promise<void> {
    preparation = await startPreparing({
      examine: opened.examine,
      prepare: () => prepareStore(settings, store),
      report: (because) => log.warn('not-prepared', { because }),
    });
    await timekeeping.start();
    await follower.start();
  }
  const unprepared = (): string | undefined =>
    preparation === undefined ? 'the service is starting' : (preparation.trouble() ?? store.loss());
  readMetrics(settings, store, metrics);
  showExpiries(storeExpiries(settings.store));

  const tally = createLoggedTally(log, metrics);

  let stopping = false;
  const health = healthOf({
    store,
    metrics,
    unprepared,
    timekeeping,
    follower,
    unreadableKeys,
    tally,
    stopping: () => stopping,
  });
  const readiness = shared(async (): Promise<Readiness> => {
    const state = await health.readiness();
    metrics.ready(state.ready);
    metrics.keysUnreadable(unreadableKeys());
    return state;
  });
  const { unauthenticatedPerMinute } = settings.log;
  return {
    store,
    follower,
    report: createCallbackObserver({ log, metrics, clock, unauthenticatedPerMinute }),
    apiDenied: createDenialObserver({ log, metrics, clock, unauthenticatedPerMinute }),
    readiness,
    metrics: shared(() => readiness().then(() => metrics.text())),
    pluginAnswered: (inquiry, verdict) => metrics.pluginAnswered(inquiry, verdict),
    showExpiries,
    tally,
    unprepared,
    start,
    shuttingDown() {
      stopping = true;
    },
    stop() {
      preparation?.stop();
      timekeeping.stop();
      follower.stop();
    },
  };
}

/** Lines about what is turned away: one of each code in ten seconds. */
const TALLY_LINE_EVERY_MS = 10_000;

function createLoggedTally(log: Log, metrics: Metrics): Tally {
  const nowMs = (): number => performance.now();
  const limit = createLineLimit({ clock: nowMs, lines: 1, windowMs: TALLY_LINE_EVERY_MS });
  return createTally({
    nowMs,
    count: (reason) => metrics.turnedAway(reason),
    countUnserved: (reason) => metrics.unserved(reason),
    write: (event, line) => {
      const suppressed = limit.takeSuppressed(line.code);
      if (limit.admits(line.code)) log.warn(event, { ...line, count: suppressed + 1 });
    },
  });
}

async function prepareStore({ sources, policies }: Settings, store: Store): Promise<void> {
  await store.register(sources.map(({ name }) => name));
  if (policies.push === 'when-empty') await pushWhenEmpty(store, policies.directory, 'countersign serve');
}

/** What is asked of the store whenever the metrics are read. */
function readMetrics(settings: Settings, store: Store, metrics: Metrics): void {
  const sources = settings.sources.map(({ name }) => name);
  metrics.journalEntries(async () => {
    const sizes = sources.map(async (source) => [source, await store.journalSize(source)] as const);
    return new Map(await Promise.all(sizes));
  });
  metrics.journalOldest(async () => {
    const oldest = sources.map((source) => store.entries({ source, limit: 1 }));
    return new Map((await Promise.all(oldest)).flat().map(({ source, atMs }) => [source, atMs]));
  });
  metrics.storeReplicas(async () => {
    const { replicas: connected } = (await store.health()).details;
    const { replicas: wanted } = settings.store.durability;
    return new Map(typeof connected === 'number' ? Object.entries({ connected, wanted }) : []);
  });
}

function followPolicies({ settings, log }: RuntimeParts, store: Store, metrics: Metrics): Follower {
  let before: Control | undefined;
  let followed = '';
  return createFollower({
    store,
    pollMs: settings.policies.pollMs,
    onChange: ({ release, control, ready }) => {
      metrics.inForce(release?.revision ?? '');
      metrics.frozen(control?.frozen ?? []);
      if (control !== undefined) logFreezes(log, before, control);
      before = control;
      if (ready.because === followed) return;
      followed = ready.because;
      const fields = { revision: release?.revision, because: ready.because };
      if (ready.ok) log.info('in-force', fields);
      else log.error('policies-not-followed', fields);
    },
  });
}

/**
 * Asked again before it has answered, it gives all the same answer: however many ask, the work is done once.
 */
function shared<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => (running = undefined));
    return running;
  };
}

/** A line for each freeze that came, with who and why, and one for each that was lifted, with by whom. */
function logFreezes(log: Log, before: Control | undefined, now: Control): void {
  const { added, lifted } = freezeChanges(before, now);
  const stand = (besides?: string): string => {
    const others = now.frozen.filter(({ id }) => id !== besides).map(({ id, by }) => `${id} by ${by}`);
    return others.length === 0
      ? ''
      : `; ${besides === undefined ? 'still' : 'also'} frozen: ${others.join(', ')}`;
  };
  const count = now.frozen.length;
  for (const { id, by, reason, liftedBy } of lifted) {
    const lifter = liftedBy === undefined ? 'is gone' : `was lifted by ${liftedBy}`;
    log.warn('unfrozen', { because: `${id} of ${by} (${reason}) ${lifter}${stand()}`, count });
  }
  for (const freeze of added) {
    log.warn('frozen', { because: `${freezeText(freeze)}${stand(freeze.id)}`, count });
    if (freeze.kind === 'loss') log.error('data-lost', { because: freeze.reason });
  }
}

interface HealthParts {
  readonly store: Store;
  readonly metrics: Metrics;
  readonly unreadableKeys: () => readonly UnreadableKey[];
  readonly unprepared: () => string | undefined;
  readonly timekeeping: Timekeeping;
  readonly follower: Follower;
  readonly tally: Tally;
  readonly stopping: () => boolean;
}

function healthOf(parts: HealthParts) {
  const { store, metrics, unprepared, timekeeping, follower, unreadableKeys, tally, stopping } = parts;
  const stateOf = (trouble: string | undefined, well: string) => ({
    ok: trouble === undefined,
    because: trouble ?? well,
  });
  return createHealth({
    checks: [
      { name: 'store', check: () => storeState(store, metrics) },
      { name: 'prepared', check: () => stateOf(unprepared(), 'the store may decide') },
      { name: 'approvals', check: () => approvals(follower.control()?.frozen ?? []) },
      ...timekeeping.checks,
      { name: 'policies', check: follower.ready },
      { name: 'keys', check: () => keysState(unreadableKeys()) },
      {
        name: 'running',
        check: () => stateOf(stopping() ? 'the service is shutting down' : undefined, 'serving'),
      },
      // An overloaded replica taken out would leave its load to the others, and they would go down one after
      // the other.
      { name: 'load', check: () => tally.load(), decisive: false },
    ],
  });
}

async function storeState(store: Store, metrics: Metrics): Promise<HealthState> {
  try {
    const { details } = await store.health();
    metrics.store({ writable: true, moved: false, freeBytes: details['freeBytes'] });
    return { ok: true, because: 'the store answers, and can be written to' };
  } catch (thrown) {
    const moved = thrown instanceof CountersignError && thrown.code === 'STORE_MOVED';
    metrics.store({ writable: false, moved });
    throw thrown;
  }
}

/** Freezes that somebody ordered are in order; one for data that was lost waits for somebody to look. */
function approvals(frozen: Control['frozen']): HealthState {
  if (frozen.length === 0) return { ok: true, because: 'nothing is frozen' };
  const losses = lossesIn(frozen);
  const texts = [...losses, ...frozen.filter((freeze) => !losses.includes(freeze))].map(freezeText);
  return { ok: losses.length === 0, because: `frozen: ${texts.join('; ')}` };
}
