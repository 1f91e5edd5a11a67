import type { Window } from '../../claims/window.ts';

/** Where an amount that is reserved now is counted. */
export interface Bucket {
  /** The amount's bucket ends here: its name within the counter. */
  readonly endMs: number;
  /** Buckets that end at or before this instant no longer count. */
  readonly horizonMs: number;
  /** From here on this bucket no longer counts. */
  readonly expiresMs: number;
}

/** The bucket of a window at an instant (see Window). A calendar period is one bucket. */
export function bucketOf(window: Window, nowMs: number): Bucket {
  if (window.type === 'calendar') {
    return { endMs: window.endMs, horizonMs: window.startMs, expiresMs: window.endMs };
  }
  const endMs = (Math.floor(nowMs / window.bucketMs) + 1) * window.bucketMs;
  return { endMs, horizonMs: nowMs - window.lengthMs, expiresMs: endMs + window.lengthMs };
}
