import { messageOf } from '../errors.ts';

/** The result of one check: whether it passed, and why. */
export interface HealthState {
  readonly ok: boolean;
  readonly because: string;
}

export interface HealthCheck {
  readonly name: string;
  /** A check that throws, rejects or times out has failed. */
  readonly check: () => HealthState | Promise<HealthState>;
  /** False for a check that is shown to operators but doesn't affect readiness. */
  readonly decisive?: false;
}

interface CheckedState extends HealthState {
  readonly name: string;
  readonly decisive?: false;
}

interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly CheckedState[];
}

export interface Health {
  readiness(): Promise<Readiness>;
}

/**
 * The service is ready if it has decisive checks and all of them pass. The checks run in parallel, each for
 * at most `timeoutMs`.
 */
export function createHealth({
  checks,
  timeoutMs = 1000,
}: {
  readonly checks: readonly HealthCheck[];
  readonly timeoutMs?: number;
}): Health {
  const run = async ({ name, check, decisive }: HealthCheck): Promise<CheckedState> => {
    const checkName = decisive === undefined ? { name } : { name, decisive };
    try {
      const { ok, because } = await rejectAfter(timeoutMs, (async () => check())());
      return { ...checkName, ok, because };
    } catch (thrown) {
      return { ...checkName, ok: false, because: messageOf(thrown) };
    }
  };
  return {
    async readiness() {
      const states = await Promise.all(checks.map(run));
      const decisive = states.filter((state) => state.decisive === undefined);
      return { ready: decisive.length > 0 && decisive.every(({ ok }) => ok), checks: states };
    },
  };
}

/**
 * Settles as `work` does, or rejects after `timeoutMs`. The work isn't stopped; its later result is ignored.
 */
export async function rejectAfter<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
