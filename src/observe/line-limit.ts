import type { Clock } from '../values/clock.ts';

/** Limits how many lines of one kind enter the log. Kinds must be few: the limit remembers each of them. */
export interface LineLimit {
  /** Counts a line. False if the line must not be written. */
  admits(kind?: string): boolean;
  /**
   * The number of lines that were suppressed in windows that have ended. Each suppressed line is counted
   * once.
   */
  takeSuppressed(kind?: string): number;
}

interface Window {
  readonly startMs: number;
  lines: number;
  suppressedBefore: number;
}

/**
 * Admits `lines` lines of each kind in a window of `windowMs`. The first line of a kind starts its window.
 */
export function createLineLimit({
  clock,
  lines,
  windowMs,
}: {
  readonly clock: Clock;
  readonly lines: number;
  readonly windowMs: number;
}): LineLimit {
  const windows = new Map<string, Window>();

  function currentWindow(kind: string): Window {
    const nowMs = clock();
    const before = windows.get(kind);
    // A clock that was set back starts a new window.
    if (before !== undefined && nowMs >= before.startMs && nowMs - before.startMs < windowMs) return before;
    const suppressed = Math.max(0, (before?.lines ?? 0) - lines);
    const suppressedBefore = (before?.suppressedBefore ?? 0) + suppressed;
    const window = { startMs: nowMs, lines: 0, suppressedBefore };
    windows.set(kind, window);
    return window;
  }

  return {
    admits(kind = '') {
      const window = currentWindow(kind);
      window.lines += 1;
      return window.lines <= lines;
    },
    takeSuppressed(kind = '') {
      const window = currentWindow(kind);
      const { suppressedBefore } = window;
      window.suppressedBefore = 0;
      return suppressedBefore;
    },
  };
}
