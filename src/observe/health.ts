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

/**
 * The service is ready if it has decisive checks and all of them pass. The checks run in parallel, each for
 * at most `timeoutMs`.
 */
export async function readinessOf(checks: readonly HealthCheck[], timeoutMs = 1000) {
  const states = await Promise.all(
    checks.map(async ({ name, check, decisive }) => {
      const state = await rejectAfter(timeoutMs, (async () => check())()).catch(
        (thrown: unknown): HealthState => ({ ok: false, because: messageOf(thrown) }),
      );
      const { ok, because } = state;
      return { name, ...(decisive !== undefined && { decisive }), ok, because };
    }),
  );
  const deciding = states.filter(({ decisive }) => decisive === undefined);
  return { ready: deciding.length > 0 && deciding.every(({ ok }) => ok), checks: states };
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
