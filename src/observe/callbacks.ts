import { messageOf } from '../errors.ts';
import type { Clock } from '../values/clock.ts';
import type { Activity } from './activity.ts';
import { createLineLimit } from './line-limit.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { CallbackReport, ReportCallback } from './report.ts';

const MINUTE_MS = 60_000;

interface ObserverParts {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly activity: Pick<Activity, 'note'>;
  readonly clock: Clock;
  /** `log.unauthenticatedPerMinute` of the settings. */
  readonly unauthenticatedPerMinute: number;
}

/**
 * Logs and counts each callback: one line with the event `callback`, or `alarm` at level error. Lines about
 * unauthenticated callbacks are limited. A line `callbacks-suppressed` reports how many were suppressed.
 * Never throws.
 */
export function createCallbackObserver(parts: ObserverParts): ReportCallback {
  const { log, metrics, activity, clock, unauthenticatedPerMinute: lines } = parts;
  const limit = createLineLimit({ clock, lines, windowMs: MINUTE_MS });
  return (report) => {
    try {
      const suppressed = limit.takeSuppressed();
      if (suppressed > 0) log.warn('callbacks-suppressed', { suppressed });
      if (!isUnauthenticated(report) || report.alarm || limit.admits()) writeLine(log, report);
      metrics.countCallback(report);
      const { source, authenticatedBy } = report;
      if (source !== undefined && authenticatedBy !== undefined)
        metrics.keyUsed(source, authenticatedBy, clock());
      activity.note(report);
    } catch (thrown) {
      log.error('report-failed', { requestId: report.requestId, because: messageOf(thrown) });
    }
  };
}

/** Counts API calls without the right token, and logs them within the same limit. */
export function createDenialObserver(parts: Omit<ObserverParts, 'activity'>): (address: string) => void {
  const { log, metrics, clock, unauthenticatedPerMinute: lines } = parts;
  const limit = createLineLimit({ clock, lines, windowMs: MINUTE_MS });
  return (address) => {
    metrics.apiDenied();
    if (limit.admits()) log.warn('api-denied', { address });
  };
}

function isUnauthenticated(report: CallbackReport): boolean {
  return report.source === undefined || report.outcome === 'unauthenticated';
}

function writeLine(log: Log, report: CallbackReport): void {
  if (report.alarm) log.error('alarm', report);
  else if (report.outcome === 'failed' || report.outcome === 'late') log.error('callback', report);
  else if (isUnauthenticated(report)) log.warn('callback', { ...report, ...unverifiedFields(report) });
  else log.info('callback', report);
}

function unverifiedFields({ unverified }: CallbackReport) {
  return {
    unverifiedSource: unverified?.source,
    unverifiedAppKey: unverified?.appKey,
    unverifiedOrder: unverified?.order,
  };
}
