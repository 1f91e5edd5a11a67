import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  TimeoutStrategy,
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
import { printableSentence } from '../values/printable.ts';
import type { Limits } from './config.ts';

/** Why a plugin gave no answer. The message is a clause without secrets. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
}

/** Reports an event of a plugin to the operator, with the reason. */
export type ReportPlugin = (event: PluginEvent, because: string) => void;
export type PluginEvent = 'inquiry-paused' | 'inquiry-resumed' | 'module-restarted' | 'module-ended';

/**
 * Asks within `leftMs` and within the plugin's own limits. Never rejects: a failure is an answer. The answer to
 * a simulated question neither pauses the plugin nor resumes it.
 */
export type Limiter = (
  ask: () => Promise<PluginAnswer>,
  leftMs: number,
  simulated?: boolean,
) => Promise<PluginAnswer>;

/**
 * Limits the questions to one plugin: a time-out, a number of questions in flight, a queue, and a circuit
 * breaker. `ask` must end by itself within the plugin's own time-out. If the caller's time ends earlier, the
 * caller gets a failure at once, but the question stays in flight, and its failure counts, until `ask` has
 * ended.
 */
export function createLimiter(plugin: string, limits: Limits, report: ReportPlugin): Limiter {
  const { timeoutMs, concurrency, waiting, breaker: circuit } = limits;
  const breaker: CircuitBreakerPolicy = circuitBreaker(
    // In the half-open state one question tests the plugin: everything except an answer counts as a failure.
    handleWhen((thrown) => !isFromLimits(thrown) || breaker.state === CircuitState.HalfOpen),
    { halfOpenAfter: circuit.cooldownMs, breaker: new ConsecutiveBreaker(circuit.failures) },
  );
  const slots = bulkhead(concurrency, waiting);
  const lastFailure = (): string => {
    const failure = breaker.lastFailure;
    return failure !== undefined && 'error' in failure ? messageOf(failure.error) : 'it failed';
  };
  let pausedAtMs = 0;
  breaker.onBreak(() => {
    pausedAtMs = performance.now();
    const because = `${plugin} is not asked for ${circuit.cooldownMs} ms; the last failure: ${lastFailure()}`;
    report('inquiry-paused', because);
  });
  breaker.onReset(() => report('inquiry-resumed', `${plugin} answers again`));

  const unlessPaused = (ask: () => Promise<PluginAnswer>) => (): Promise<PluginAnswer> => {
    // The breaker may have opened while this question was in the queue.
    if (breaker.state === CircuitState.Open) throw new BrokenCircuitError();
    return ask();
  };
  // Once the pause is over, a callback is asked about, and so is a simulated one.
  const unlessInPause = (ask: () => Promise<PluginAnswer>) => (): Promise<PluginAnswer> => {
    const isPaused = breaker.state === CircuitState.Open;
    if (isPaused && performance.now() - pausedAtMs < circuit.cooldownMs) throw new BrokenCircuitError();
    return ask();
  };
  const reasonFor = (thrown: unknown, withinMs: number): string => {
    if (isBrokenCircuitError(thrown)) return `it is not asked at present, since it failed: ${lastFailure()}`;
    if (isTaskCancelledError(thrown)) return `no answer within ${withinMs} ms`;
    if (isBulkheadRejectedError(thrown)) {
      return `${concurrency} questions are in flight and ${waiting} are waiting, which is the maximum`;
    }
    return messageOf(thrown);
  };
  return async (ask, leftMs, simulated = false) => {
    const withinMs = Math.floor(Math.min(timeoutMs, leftMs));
    if (!(withinMs > 0)) return failedAnswer('no time was left to ask it');
    try {
      const deadline = timeout(withinMs, TimeoutStrategy.Aggressive);
      return await deadline.execute(({ signal }) =>
        simulated
          ? slots.execute(unlessInPause(ask), signal)
          : breaker.execute(() => slots.execute(unlessPaused(ask), signal), signal),
      );
    } catch (thrown) {
      return failedAnswer(reasonFor(thrown, withinMs));
    }
  };
}

export const failedAnswer = (because: string): PluginAnswer => ({
  verdict: 'failed',
  because: printableSentence(because),
});

/** Whether our own limits stopped the question. Such an error says nothing about the plugin. */
const isFromLimits = (thrown: unknown): boolean =>
  isBulkheadRejectedError(thrown) || isTaskCancelledError(thrown) || isBrokenCircuitError(thrown);
