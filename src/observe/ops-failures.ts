import { createLineLimit } from './line-limit.ts';
import type { Log } from './log.ts';

const LINE_EVERY_MS = 10_000;

/** Logs requests that can't be served: one line of each request in ten seconds. */
export function logOpsFailures(log: Log): (request: string, because: string) => void {
  const nowMs = (): number => performance.now();
  const limit = createLineLimit({ clock: nowMs, lines: 1, windowMs: LINE_EVERY_MS });
  return (request, because) => {
    if (limit.admits(request)) log.error('ops-failed', { because: `${request}: ${because}` });
  };
}
