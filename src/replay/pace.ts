/** When callbacks are due: by the recorded pace, a rate, or both; without either at once. */
export interface Pace {
  /** How many milliseconds from now the next callback is due, 0 if it is. */
  dueInMs(recordedAtMs: number): number;
}

export interface PaceOptions {
  /** A monotonic clock, in milliseconds. */
  readonly clock: () => number;
  /** At most so many a second. */
  readonly ratePerSecond: number | undefined;
  /** So many times as fast as recorded. */
  readonly speed: number | undefined;
}

export function createPace({ clock, ratePerSecond, speed }: PaceOptions): Pace {
  let first: { readonly atMs: number; readonly recordedAtMs: number } | undefined;
  let nextMs = -Infinity;
  return {
    dueInMs(recordedAtMs) {
      const nowMs = clock();
      first ??= { atMs: nowMs, recordedAtMs };
      const byRecord = speed === undefined ? nowMs : first.atMs + (recordedAtMs - first.recordedAtMs) / speed;
      const dueMs = Math.max(nowMs, byRecord, nextMs);
      // What fell behind is not caught up with in a burst above the rate.
      if (ratePerSecond !== undefined) nextMs = dueMs + 1000 / ratePerSecond;
      return dueMs - nowMs;
    },
  };
}
