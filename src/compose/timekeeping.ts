import type { HealthCheck } from '../observe/health.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { ClockState } from '../store/clock-state.ts';
import type { Store } from '../store/store.ts';

export interface Timekeeping {
  /** `clock` takes a service out while nothing is approved; `time` only says that time stands still. */
  readonly checks: readonly HealthCheck[];
  /** Resolves after the first look. */
  readonly start: () => Promise<void>;
  readonly stop: () => void;
}

/** Far below the least that `store.clock.maxStepMs` may be, for what a look takes, and for one that fails. */
const LOOK_MS = 5000;
/** Whoever asks how things are is not told what is older. */
const FRESH_MS = 1000;

/**
 * Moves the store's time on for as long as the service runs, so that hours without a callback are no jump of
 * the clock, and says what became of it. A look that fails says nothing: the store is down then, which others
 * tell.
 */
export function createTimekeeping({
  store,
  log,
  metrics,
}: {
  readonly store: Pick<Store, 'clock'>;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  readonly metrics: Pick<Metrics, 'clock'>;
}): Timekeeping {
  let state: ClockState | undefined;
  let lookedAtMs = 0;
  let looking: Promise<void> | undefined;

  const logState = ({ state: is, because }: ClockState): void => {
    if (is === 'jumped') log.error('clock-jumped', { because });
    else if (is === 'behind') log.warn('clock-behind', { because });
    else if (state !== undefined) log.info('clock-right', { because });
  };
  const lookOnce = async (): Promise<void> => {
    try {
      const found = await store.clock();
      if (found.state !== (state?.state ?? 'right')) logState(found);
      state = found;
      lookedAtMs = performance.now();
      metrics.clock(found);
    } catch {
      // The last that is known stands.
    } finally {
      looking = undefined;
    }
  };
  const look = (): Promise<void> => (looking ??= lookOnce());

  let timer: NodeJS.Timeout | undefined;
  const check = (name: string, wrong: ClockState['state'], well: string) => ({
    name,
    async check() {
      if (state?.state === wrong || performance.now() - lookedAtMs > FRESH_MS) await look();
      return state?.state === wrong ? { ok: false, because: state.because } : { ok: true, because: well };
    },
  });
  return {
    checks: [
      check('clock', 'jumped', "the store's clock is believed"),
      { ...check('time', 'behind', 'time goes on'), decisive: false },
    ],
    async start() {
      timer = setInterval(() => void look(), LOOK_MS).unref();
      await look();
    },
    stop: () => clearInterval(timer),
  };
}
