import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { CountersignError, messageOf } from '../errors.ts';
import type { Readiness } from '../http/routes.ts';
import type { HealthCheck } from '../observe/health.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Follower } from '../release/follow.ts';
import type { ClockState } from '../store/clock-state.ts';
import type { Store } from '../store/store.ts';

/*
 * The background tasks of a service: prepare the store, check its safety, advance its time, and send
 * heartbeats to it.
 */

export interface Preparation {
  /** Why nothing may be decided now; undefined while the store is prepared and safe. */
  readonly trouble: () => string | undefined;
  readonly stop: () => void;
}

export interface PreparationParts {
  /** See Store.checkSafety. Repeated for as long as the service runs. */
  readonly checkSafety: () => Promise<void>;
  /** Called once, after the first safety check that passes. */
  readonly prepare: () => Promise<void>;
  /**
   * Called for each failure before the store is prepared. After that, it is called once for each code until a
   * check passes, because the text of an outage may change with every check.
   */
  readonly report: (trouble: string) => void;
  /** Only for tests: the time between two safety checks. */
  readonly checkSafetyMs?: number;
}

const RETRY_MS = 500;
const CHECK_SAFETY_MS = 3000;
/** After so many safety checks in a row without an answer, the safety of the store is unknown. */
const UNANSWERED_CHECKS_MAX = 20;

/**
 * Prepares the store once, and then checks its safety for as long as the service runs. A store that can't be
 * reached at the start is tried again, so that a service can start before its store. Any other fault at the
 * start rejects.
 *
 * A store that becomes unsafe is trouble until it is safe again. A short outage is not trouble, because
 * nothing is approved during an outage anyway. A long outage is trouble, because the store may be able to
 * decide although its safety can't be checked, as on a Redis that denies INFO. The safety is checked soon
 * after an outage, because the store may have changed.
 */
export async function startPreparing(parts: PreparationParts): Promise<Preparation> {
  const { checkSafety, prepare, report, checkSafetyMs = CHECK_SAFETY_MS } = parts;
  let trouble: string | undefined;
  let reportedCode: string | undefined;
  let prepared = false;
  let unanswered = 0;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  /** Returns the error, if there is one. */
  async function attempt(): Promise<unknown> {
    try {
      await checkSafety();
      if (!prepared) await prepare();
      prepared = true;
      trouble = undefined;
      reportedCode = undefined;
      unanswered = 0;
      return undefined;
    } catch (thrown) {
      unanswered = isOutage(thrown) ? unanswered + 1 : 0;
      if (prepared && unanswered > 0 && unanswered < UNANSWERED_CHECKS_MAX) return thrown;
      trouble = messageOf(thrown);
      const code = codeOf(thrown);
      if (!prepared || code !== reportedCode) report(trouble);
      reportedCode = code;
      return thrown;
    }
  }

  function schedule(thrown: unknown): void {
    if (stopped) return;
    const again = async (): Promise<void> => schedule(await attempt());
    timer = setTimeout(
      () => void again(),
      thrown === undefined ? checkSafetyMs : Math.min(RETRY_MS, checkSafetyMs),
    );
    timer.unref();
  }

  const thrown = await attempt();
  if (thrown !== undefined && !isOutage(thrown)) throw thrown;
  schedule(thrown);
  return {
    trouble: () => trouble,
    stop() {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

const codeOf = (thrown: unknown): string => (thrown instanceof CountersignError ? thrown.code : 'INTERNAL');

const isOutage = (thrown: unknown): boolean => codeOf(thrown) === 'STORE_UNREACHABLE';

export interface ClockWatch {
  /** `clock` fails while nothing is approved. `time` only reports that the store's time does not advance. */
  readonly checks: readonly HealthCheck[];
  /** Resolves after the first check of the clock. */
  readonly start: () => Promise<void>;
  readonly stop: () => void;
}

/** Far below the minimum of `store.clock.maxStepMs`, so that one failed check does no harm. */
const CLOCK_MS = 5000;
/** A health check checks the clock again if the last check is older. */
const CLOCK_FRESH_MS = 1000;

/**
 * Advances the store's time while the service runs, so that hours without a callback don't look like a jump
 * of the clock. Reports the state of the clock to log and metrics. A failed check changes nothing: other
 * checks report that the store is down.
 */
export function watchClock({
  store,
  log,
  metrics,
}: {
  readonly store: Pick<Store, 'clock'>;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly metrics: Pick<Metrics, 'setClock'>;
}): ClockWatch {
  let state: ClockState | undefined;
  let checkedAtMs = 0;
  let checking: Promise<void> | undefined;

  const logState = ({ state: is, because }: ClockState): void => {
    if (is === 'jumped') log.error('clock-jumped', { because });
    else if (is === 'behind') log.warn('clock-behind', { because });
    else if (state !== undefined) log.info('clock-right', { because });
  };
  const checkOnce = async (): Promise<void> => {
    try {
      const found = await store.clock();
      if (found.state !== (state?.state ?? 'right')) logState(found);
      state = found;
      checkedAtMs = performance.now();
      metrics.setClock(found);
    } catch {
      // The last known state stays.
    } finally {
      checking = undefined;
    }
  };
  const checkClock = (): Promise<void> => (checking ??= checkOnce());

  let timer: NodeJS.Timeout | undefined;
  const check = (name: string, wrong: ClockState['state'], passed: string) => ({
    name,
    async check() {
      if (state?.state === wrong || performance.now() - checkedAtMs > CLOCK_FRESH_MS) await checkClock();
      return state?.state === wrong ? { ok: false, because: state.because } : { ok: true, because: passed };
    },
  });
  return {
    checks: [
      check('clock', 'jumped', "the store's clock has not jumped ahead"),
      { ...check('time', 'behind', "the store's time advances"), decisive: false },
    ],
    async start() {
      timer = setInterval(() => void checkClock(), CLOCK_MS).unref();
      await checkClock();
    },
    stop: () => clearInterval(timer),
  };
}

/** The time between two heartbeats. */
const HEARTBEAT_MS = 2000;
/** The most characters of a heartbeat about why the service is not ready. */
const TROUBLE_MAX = 1000;

/** How operators know this process among the replicas. */
export const replicaName = (): string => `${hostname()}:${process.pid}`;

export interface HeartbeatParts {
  readonly store: Pick<Store, 'heartbeat' | 'removeService' | 'watch'>;
  readonly follower: Pick<Follower, 'control' | 'refresh'>;
  readonly readiness: () => Promise<Readiness>;
  readonly log: Log;
}

export interface Heartbeats {
  /** Sends no more heartbeats. Resolves when the store has removed the service, or failed to remove it. */
  stop(): Promise<void>;
}

/**
 * Sends heartbeats to the store, with the last change that this service has applied. So a command that
 * changes something can wait until all services have applied the change. Each heartbeat is a real write,
 * which detects a store that can't be written to before a callback fails.
 */
export function startHeartbeats({ store, follower, readiness, log }: HeartbeatParts): Heartbeats {
  const id = randomUUID();
  let failed: string | undefined;
  let hasStopped = false;
  let isDue = false;
  let sending: Promise<void> | undefined;

  async function sendHeartbeat(): Promise<void> {
    try {
      const { checks } = await readiness();
      const trouble = checks.filter(({ ok, decisive }) => !ok && decisive === undefined);
      await store.heartbeat({
        id,
        name: replicaName(),
        sequence: follower.control()?.sequence ?? 0,
        trouble: trouble
          .map((check) => `${check.name}: ${check.because}`)
          .join('; ')
          .slice(0, TROUBLE_MAX),
        probe: failed !== undefined,
      });
      if (failed !== undefined) log.info('store-writable');
      failed = undefined;
    } catch (thrown) {
      const because = messageOf(thrown);
      const moved = thrown instanceof CountersignError && thrown.code === 'STORE_MOVED';
      if (failed !== because) log.error(moved ? 'store-moved' : 'store-not-writable', { because });
      failed = because;
    }
  }

  /**
   * One write at a time. A call during a write causes one more, because that write may show an older state.
   */
  async function requestHeartbeat(): Promise<void> {
    isDue = true;
    sending ??= sendWhileDue().finally(() => (sending = undefined));
    return sending;
  }

  async function sendWhileDue(): Promise<void> {
    if (!isDue || hasStopped) return;
    isDue = false;
    await sendHeartbeat();
    await sendWhileDue();
  }

  const unwatch = store.watch(() => void follower.refresh().then(requestHeartbeat));
  const timer = setInterval(() => void requestHeartbeat(), HEARTBEAT_MS).unref();
  void requestHeartbeat();
  return {
    async stop() {
      if (hasStopped) return;
      hasStopped = true;
      unwatch();
      clearInterval(timer);
      await sending;
      await store.removeService(id).catch(() => undefined);
    },
  };
}
