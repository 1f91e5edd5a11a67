import type { Clock } from '../values/clock.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';

const MINUTE_MS = 60_000;

/** Counts calls of the API without the right token, and writes a line for each up to a number a minute. */
export function createDenialObserver({
  log,
  metrics,
  clock,
  unauthenticatedPerMinute,
}: {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly unauthenticatedPerMinute: number;
}): (address: string) => void {
  let minute = Number.NaN;
  let lines = 0;
  return (address) => {
    metrics.apiDenied();
    const now = Math.floor(clock() / MINUTE_MS);
    if (now !== minute) [minute, lines] = [now, 0];
    lines += 1;
    if (lines <= unauthenticatedPerMinute) log.warn('api-denied', { address });
  };
}
