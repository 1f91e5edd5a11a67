import { messageOf } from '../errors.ts';
import type { Clock } from '../values/clock.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { CallbackReport, ReportCallback } from './report.ts';

const MINUTE_MS = 60_000;

/**
 * Tells log and metrics of each callback: one line a callback, event `callback`, or `alarm` at level error.
 * Of callbacks whose sender is not authenticated at most `unauthenticatedPerMinute` lines are written a
 * minute; how many were not is in a line `callbacks-suppressed` after it. Never throws.
 */
export function createCallbackObserver({
  log,
  metrics,
  clock,
  unauthenticatedPerMinute,
}: {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly unauthenticatedPerMinute: number;
}): ReportCallback {
  let minute = Number.NaN;
  let lines = 0;
  const countedFrom = (nowMs: number): void => {
    const now = Math.floor(nowMs / MINUTE_MS);
    if (now === minute) return;
    if (lines > unauthenticatedPerMinute)
      log.warn('callbacks-suppressed', { suppressed: lines - unauthenticatedPerMinute });
    minute = now;
    lines = 0;
  };
  return (report) => {
    try {
      countedFrom(clock());
      if (isUnauthenticated(report) && !report.alarm) lines += 1;
      if (!isUnauthenticated(report) || report.alarm || lines <= unauthenticatedPerMinute)
        writeLine(log, report);
      metrics.callback(report);
    } catch (thrown) {
      log.error('report-failed', { requestId: report.requestId, because: messageOf(thrown) });
    }
  };
}

function isUnauthenticated(report: CallbackReport): boolean {
  return report.source === undefined || report.outcome === 'unauthenticated';
}

function writeLine(log: Log, report: CallbackReport): void {
  if (report.alarm) log.error('alarm', report);
  else if (report.outcome === 'failed' || report.outcome === 'late') log.error('callback', report);
  else if (isUnauthenticated(report)) log.warn('callback', report);
  else log.info('callback', report);
}
