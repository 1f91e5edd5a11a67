import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { CountersignError, messageOf } from '../errors.ts';
import type { Readiness } from '../http/ops.ts';
import type { HealthCheck } from '../observe/health.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Follower } from '../release/follow.ts';
import type { ClockState } from '../store/clock-state.ts';
import type { Store } from '../store/store.ts';

/*
 * The background tasks of a service: prepare and examine the store, advance its time, and send heartbeats to
 * it.
 */

export interface Preparation {
  /** Why nothing may be decided now; undefined while the store is prepared and safe. */
  readonly trouble: () => string | undefined;
  readonly stop: () => void;
}

export interface PreparationParts {
  /** See Store.examine. Repeated for as long as the service runs. */
  readonly examine: () => Promise<void>;
  /** Called once, after the first examination that passes. */
  readonly prepare: () => Promise<void>;
  readonly report: (trouble: string) => void;
  /** Only for tests: the time between two examinations. */
  readonly examineMs?: number;
}

const RETRY_MS = 500;
const EXAMINE_MS = 3000;

/**
 * Prepares the store once, and then examines it for as long as the service runs. A store that can't be
 * reached at the start is tried again, so that a service can start before its store. Any other fault at the
 * start rejects.
 *
 * A store that becomes unsafe is trouble until it is safe again. An outage is not reported as trouble,
 * because nothing is approved during an outage anyway. The store is examined soon after an outage, because it
 * may have changed.
 */
export async function startPreparing(parts: PreparationParts): Promise<Preparation> {
  const { examine, prepare, report, examineMs = EXAMINE_MS } = parts;
  let trouble: string | undefined;
  let prepared = false;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  /** Returns the error, if there is one. */
  async function attempt(): Promise<unknown> {
    try {
      await examine();
      if (!prepared) await prepare();
      prepared = true;
      trouble = undefined;
      return undefined;
    } catch (thrown) {
      if (prepared && isOutage(thrown)) return thrown;
      const found = messageOf(thrown);
      if (!prepared || found !== trouble) report(found);
      trouble = found;
      return thrown;
    }
  }

  function schedule(thrown: unknown): void {
    if (stopped) return;
    const again = async (): Promise<void> => schedule(await attempt());
    timer = setTimeout(() => void again(), thrown === undefined ? examineMs : Math.min(RETRY_MS, examineMs));
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

const isOutage = (thrown: unknown): boolean =>
  thrown instanceof CountersignError && thrown.code === 'STORE_UNREACHABLE';

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
  readonly metrics: Pick<Metrics, 'clock'>;
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
      metrics.clock(found);
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
      check('clock', 'jumped', "the store's clock is believed"),
      { ...check('time', 'behind', 'time goes on'), decisive: false },
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

export interface AttendanceParts {
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
export function startHeartbeats({ store, follower, readiness, log }: AttendanceParts): Heartbeats {
  const id = randomUUID();
  const name = `${hostname()}:${process.pid}`;
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
        name,
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
