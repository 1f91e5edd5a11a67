import { CountersignError } from '../errors.ts';
import { type LoadMonitor, createLoadMonitor } from '../http/load.ts';
import type { Readiness } from '../http/routes.ts';
import type { Notify } from '../notifications/notifications.ts';
import { type Activity, createActivity } from '../observe/activity.ts';
import { type HealthCheck, type HealthState, readinessOf, rejectAfter } from '../observe/health.ts';
import { createLineLimit } from '../observe/line-limit.ts';
import type { Log } from '../observe/log.ts';
import { type Metrics, createMetrics } from '../observe/metrics.ts';
import { pushWhenEmpty } from '../release/first-push.ts';
import { type Follower, createFollower } from '../release/follow.ts';
import type { Settings } from '../settings/schema.ts';
import { freezeChanges, freezeText, lossesIn } from '../store/freezes.ts';
import type { Control, Freeze, Store } from '../store/store.ts';
import { type CountedVerb, VERBS, type VerbOf, type Verbs, makeVerbs } from '../store/verbs.ts';
import type { Clock } from '../values/clock.ts';
import {
  type Heartbeats,
  type Preparation,
  startHeartbeats,
  startPreparing,
  watchClock,
} from './background.ts';
import { type UnreadableKey, keysState, showStoreExpiries } from './files.ts';
import { policyWarnings } from './policies.ts';
import { openTrust } from './trust.ts';

/**
 * Everything that runs besides the callbacks: preparing the store, following the policies, heartbeats, health
 * and metrics.
 */
export interface Runtime {
  /** The store. Its failures are counted. */
  readonly store: Store;
  readonly metrics: Metrics;
  /** What this process has answered. */
  readonly activity: Activity;
  readonly load: LoadMonitor;
  readonly follower: Follower;
  readonly readiness: () => Promise<Readiness>;
  /** The metrics, after a check of the readiness. */
  readonly scrape: Metrics['text'];
  /** Why the store may not decide yet; undefined once it may. */
  readonly unpreparedReason: () => string | undefined;
  /**
   * Prepares the store, and puts the first policies in force. Nothing is written before this call. Rejects
   * with STORE_UNSAFE or POLICY_INVALID. If the store can't be reached, it is tried again, and
   * `unpreparedReason` says so.
   */
  readonly start: () => Promise<void>;
  /** From now on the service is not ready. */
  readonly beginShutdown: () => void;
  readonly isStopping: () => boolean;
  readonly stop: () => Promise<void>;
}

export interface RuntimeParts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly log: Log;
  readonly notify: Notify;
  readonly store: Store;
  readonly unreadableKeys: () => readonly UnreadableKey[];
  /** Undefined without a console. */
  readonly consoleHealth: (() => HealthState) | undefined;
}

/** A store that needs longer to answer is not ready. */
const STORE_CHECK_MS = 1000;

export function createRuntime(parts: RuntimeParts): Runtime {
  const { settings, clock, log, unreadableKeys, consoleHealth } = parts;
  const metrics = createMetrics();
  const store = countFailures(parts.store, metrics);
  const follower = followPolicies(parts, store, metrics);
  const clockWatch = watchClock({ store, log, metrics });
  const load = createLoggedLoad(log, metrics);
  readMetrics(settings, store, metrics);
  metrics.linesDropped(() => log.droppedLines());
  showStoreExpiries(metrics, settings.store);

  let preparation: Preparation | undefined;
  let heartbeats: Heartbeats | undefined;
  let stopping = false;
  const unpreparedReason = (): string | undefined =>
    preparation === undefined ? 'the service is starting' : (preparation.trouble() ?? store.pendingLoss());
  const checks: readonly HealthCheck[] = [
    // The time limit is inside: a later call must not take a slow result for a prompt one.
    { name: 'store', check: shareRunning(() => rejectAfter(STORE_CHECK_MS, storeState(store, metrics))) },
    { name: 'prepared', check: () => stateOf(unpreparedReason(), 'the store may decide') },
    { name: 'approvals', check: () => approvalsState(follower.control()?.frozen ?? []) },
    ...clockWatch.checks,
    { name: 'policies', check: follower.ready },
    { name: 'keys', check: () => keysState(unreadableKeys()) },
    {
      name: 'running',
      check: () => stateOf(stopping ? 'the service is shutting down' : undefined, 'serving'),
    },
    // Not decisive: without an overloaded replica, its load would go to the others and overload them too.
    { name: 'load', check: load.state, decisive: false },
    ...(consoleHealth === undefined
      ? []
      : [{ name: 'console', check: consoleHealth, decisive: false } as const]),
  ];
  const readiness = async (): Promise<Readiness> => {
    const state = await readinessOf(checks);
    metrics.setReady(state.ready);
    metrics.keysUnreadable(unreadableKeys());
    return state;
  };
  return {
    store,
    metrics,
    activity: createActivity(clock),
    load,
    follower,
    readiness,
    scrape: shareRunning(() => readiness().then(() => metrics.text())),
    unpreparedReason,
    async start() {
      preparation = await startPreparing({
        checkSafety: () => store.checkSafety(),
        prepare: () => prepareStore(settings, store),
        report: (because) => log.warn('not-prepared', { because }),
      });
      await clockWatch.start();
      await follower.start();
      heartbeats = startHeartbeats({ store, follower, readiness, log });
    },
    beginShutdown: () => void (stopping = true),
    isStopping: () => stopping,
    async stop() {
      await heartbeats?.stop();
      preparation?.stop();
      clockWatch.stop();
      follower.stop();
    },
  };
}

/** One line of each code in ten seconds, and of each path that a 404 probably meant, in a minute. */
const LOAD_LINE_EVERY_MS = 10_000;
const PATH_LINE_EVERY_MS = 60_000;

function createLoggedLoad(log: Log, metrics: Metrics): LoadMonitor {
  const nowMs = (): number => performance.now();
  const byCode = createLineLimit({ clock: nowMs, lines: 1, windowMs: LOAD_LINE_EVERY_MS });
  const byPath = createLineLimit({ clock: nowMs, lines: 1, windowMs: PATH_LINE_EVERY_MS });
  return createLoadMonitor({
    nowMs,
    metrics,
    write: (event, { meant, ...line }) => {
      const [limit, kind] = meant === undefined ? [byCode, line.code] : [byPath, meant];
      const suppressed = limit.takeSuppressed(kind);
      if (limit.admits(kind)) log.warn(event, { ...line, count: suppressed + 1 });
    },
  });
}

async function prepareStore({ sources, policies, signers }: Settings, store: Store): Promise<void> {
  await store.register(sources.map(({ name }) => name));
  // With signers, somebody signs the first policies.
  if (policies.push === 'when-empty' && signers === undefined)
    await pushWhenEmpty(store, policies.directory, 'countersign serve');
}

/** Reads these metrics from the store each time that they are scraped. */
function readMetrics(settings: Settings, store: Store, metrics: Metrics): void {
  const sources = settings.sources.map(({ name }) => name);
  metrics.journalEntries(async () => {
    const sizes = sources.map(async (source) => [source, await store.journalSize(source)] as const);
    return new Map(await Promise.all(sizes));
  });
  metrics.journalOldest(async () => {
    const oldest = sources.map((source) => store.entries({ source, limit: 1, explained: false }));
    return new Map((await Promise.all(oldest)).flat().map(({ source, atMs }) => [source, atMs]));
  });
  metrics.storeReplicas(async () => {
    const { replicas: connected } = (await store.health()).details;
    const { replicas: wanted } = settings.store.durability;
    return new Map(typeof connected === 'number' ? Object.entries({ connected, wanted }) : []);
  });
}

function followPolicies(
  { settings, clock, log, notify }: RuntimeParts,
  store: Store,
  metrics: Metrics,
): Follower {
  let before: Control | undefined;
  let followed = '';
  return createFollower({
    store,
    pollMs: settings.policies.pollMs,
    trust: openTrust(settings, { store, clock, isService: true }),
    onChange: ({ release, control, ready }) => {
      metrics.setInForce(release?.revision ?? '');
      metrics.setFrozen(control?.frozen ?? []);
      if (control !== undefined) reportFreezes({ log, notify }, before, control);
      before = control;
      if (ready.because === followed) return;
      followed = ready.because;
      const fields = { revision: release?.revision, because: ready.because };
      if (ready.ok) log.info('in-force', fields);
      else log.error('policies-not-followed', fields);
      const doubts = release === undefined ? [] : policyWarnings(settings, release);
      for (const because of doubts) log.warn('policy-weak', { revision: release?.revision, because });
    },
  });
}

/** While a call runs, further calls share it and get its result. */
function shareRunning<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().finally(() => (running = undefined));
    return running;
  };
}

/**
 * Logs and notifies of each new freeze, with its author and reason, and of each lifted freeze, with the
 * person who lifted it.
 */
function reportFreezes(
  { log, notify }: Pick<RuntimeParts, 'log' | 'notify'>,
  before: Control | undefined,
  now: Control,
): void {
  const { added, lifted } = freezeChanges(before, now);
  const othersText = (besides?: string): string => {
    const others = now.frozen.filter(({ id }) => id !== besides).map(({ id, by }) => `${id} by ${by}`);
    return others.length === 0
      ? ''
      : `; ${besides === undefined ? 'still' : 'also'} frozen: ${others.join(', ')}`;
  };
  const count = now.frozen.length;
  const frozen = now.frozen.map(({ id }) => id);
  for (const freeze of lifted) {
    const { id, by, reason, liftedBy, atMs } = freeze;
    const lifter = liftedBy === undefined ? 'is gone' : `was lifted by ${liftedBy}`;
    const because = `${id} of ${by} (${reason}) ${lifter}${othersText()}`;
    log.warn('unfrozen', { because, count });
    const text = `The freeze ${because}${count === 0 ? '; nothing is frozen now' : ''}`;
    const data = { change: 'lifted', ...freezeData(freeze), liftedBy, frozen };
    notify({ event: 'freeze', id: `lifted:${id}:${atMs}`, text, page: '', data });
  }
  for (const freeze of added) {
    const { id, kind, reason, atMs } = freeze;
    const because = `${freezeText(freeze)}${othersText(id)}`;
    log.warn('frozen', { because, count });
    const data = { change: 'frozen', ...freezeData(freeze), frozen };
    const text = `All approvals are frozen: ${because}`;
    notify({ event: 'freeze', id: `frozen:${id}:${atMs}`, text, atMs, page: '', data });
    if (kind !== 'loss') continue;
    log.error('data-lost', { because: reason });
    notify({
      event: 'alarm',
      id: `data-lost:${id}:${atMs}`,
      text: `Alarm data-lost: ${reason}`,
      atMs,
      page: '',
      data: { code: 'data-lost', times: 1, freeze: id, because: reason },
    });
  }
}

const freezeData = ({ id, kind, by, reason, atMs }: Freeze) => ({
  freeze: id,
  kind,
  by,
  reason,
  since: new Date(atMs).toISOString(),
});

const stateOf = (trouble: string | undefined, okText: string): HealthState => ({
  ok: trouble === undefined,
  because: trouble ?? okText,
});

async function storeState(store: Store, metrics: Metrics): Promise<HealthState> {
  try {
    const { details } = await store.health();
    metrics.setStore({ writable: true, moved: false, freeBytes: details['freeBytes'] });
    return { ok: true, because: 'the store answers, and can be written to' };
  } catch (thrown) {
    const moved = thrown instanceof CountersignError && thrown.code === 'STORE_MOVED';
    metrics.setStore({ writable: false, moved });
    throw thrown;
  }
}

/**
 * A freeze by an operator is intended, so the check passes. A freeze for lost data fails the check, because
 * an operator must act.
 */
function approvalsState(frozen: Control['frozen']): HealthState {
  if (frozen.length === 0) return { ok: true, because: 'nothing is frozen' };
  const losses = lossesIn(frozen);
  const texts = [...losses, ...frozen.filter((freeze) => !losses.includes(freeze))].map(freezeText);
  return { ok: losses.length === 0, because: `frozen: ${texts.join('; ')}` };
}

/** Counts the rejections of the steps on the path of a callback. */
function countFailures(store: Store, metrics: Metrics): Store {
  const verbs: Verbs<CountedVerb> = store;
  return {
    ...store,
    ...makeVerbs('counted', <V extends CountedVerb>(verb: V): VerbOf<V> => async (argument) => {
      try {
        return await verbs[verb](argument);
      } catch (thrown) {
        metrics.storeFailed(VERBS[verb].counted);
        throw thrown;
      }
    }),
  };
}
