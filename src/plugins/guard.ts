import {
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  TimeoutStrategy,
  BrokenCircuitError,
  bulkhead,
  circuitBreaker,
  handleWhen,
  isBrokenCircuitError,
  isBulkheadRejectedError,
  isTaskCancelledError,
  timeout,
} from 'cockatiel';
import { messageOf } from '../errors.ts';
import type { PluginAnswer } from '../policy/facts.ts';
import type { Limits } from './config.ts';
import { sentence } from './sentence.ts';

/** What an operator is told: a constant such as `inquiry-paused`, and why. */
export type ReportPlugin = (event: PluginEvent, because: string) => void;
export type PluginEvent = 'inquiry-paused' | 'inquiry-resumed' | 'module-restarted' | 'module-ended';

/** Asks within `withinMs`, or less if its own time is shorter; never rejects. */
export type Guarded = (work: () => Promise<PluginAnswer>, withinMs: number) => Promise<PluginAnswer>;

/**
 * Bounds what is asked of one service or module: so many at once, so many waiting, for so long, and nothing
 * for a while after so many failures in a row. `work` ends by itself within its own time: whoever asked waits
 * no longer than that, but the place is taken, and the failure counted, until the work has ended.
 */
export function createGuard(whom: string, limits: Limits, report: ReportPlugin): Guarded {
  const { timeoutMs, concurrency, waiting, breaker: after } = limits;
  const breaker: CircuitBreakerPolicy = circuitBreaker(
    // The one question that finds out must be answered: whatever else becomes of it is a failure.
    handleWhen((thrown) => !isOurs(thrown) || breaker.state === CircuitState.HalfOpen),
    { halfOpenAfter: after.cooldownMs, breaker: new ConsecutiveBreaker(after.failures) },
  );
  const places = bulkhead(concurrency, waiting);
  const last = (): string => {
    const failure = breaker.lastFailure;
    return failure !== undefined && 'error' in failure ? messageOf(failure.error) : 'it failed';
  };
  breaker.onBreak(() => {
    report('inquiry-paused', `${whom} is not asked for ${after.cooldownMs} ms; the last failure: ${last()}`);
  });
  breaker.onReset(() => report('inquiry-resumed', `${whom} answers again`));

  const inPlace =
    (work: () => Promise<PluginAnswer>): (() => Promise<PluginAnswer>) =>
    () => {
      // It has waited, and in the meantime others found out that it does not answer.
      if (breaker.state === CircuitState.Open) throw new BrokenCircuitError();
      return work();
    };
  const because = (thrown: unknown, withinMs: number): string => {
    if (isBrokenCircuitError(thrown)) return `it is not asked at present, since it failed: ${last()}`;
    if (isTaskCancelledError(thrown)) return `no answer within ${withinMs} ms`;
    if (isBulkheadRejectedError(thrown)) {
      return `${concurrency} questions are under way and ${waiting} waiting, which is as many as may be`;
    }
    return messageOf(thrown);
  };
  return async (work, leftMs) => {
    const withinMs = Math.floor(Math.min(timeoutMs, leftMs));
    if (!(withinMs > 0)) return failed('no time was left to ask it');
    try {
      const deadline = timeout(withinMs, TimeoutStrategy.Aggressive);
      return await deadline.execute(({ signal }) =>
        breaker.execute(() => places.execute(inPlace(work), signal), signal),
      );
    } catch (thrown) {
      return failed(because(thrown, withinMs));
    }
  };
}

/** No answer, and why. */
export const failed = (because: string): PluginAnswer => ({ verdict: 'failed', because: sentence(because) });

/** What we ourselves did not let be asked, or not wait for, says nothing about whoever is asked. */
const isOurs = (thrown: unknown): boolean =>
  isBulkheadRejectedError(thrown) || isTaskCancelledError(thrown) || isBrokenCircuitError(thrown);
