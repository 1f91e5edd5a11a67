import { describe, expect, it } from 'vitest';
import { createPace } from '../../src/replay/schedule.ts';

/** When each of the recorded instants is sent, by a clock that only waiting moves. */
function sentAt(
  options: { readonly ratePerSecond?: number; readonly speed?: number },
  recordedMs: readonly number[],
): readonly number[] {
  let nowMs = 500;
  const pace = createPace({
    clock: () => nowMs,
    ratePerSecond: options.ratePerSecond,
    speed: options.speed,
  });
  return recordedMs.map((atMs) => {
    nowMs += pace.dueInMs(atMs);
    return nowMs - 500;
  });
}

describe('the pace of a replay', () => {
  it.each([
    ['at once', {}, [7000, 8000, 90_000], [0, 0, 0]],
    ['as recorded', { speed: 1 }, [7000, 8000, 90_000], [0, 1000, 83_000]],
    ['ten times as fast', { speed: 10 }, [7000, 8000, 90_000], [0, 100, 8300]],
    ['at half the speed', { speed: 0.5 }, [7000, 8000], [0, 2000]],
    ['at a rate', { ratePerSecond: 50 }, [0, 0, 0, 9000], [0, 20, 40, 60]],
    [
      'at a recorded pace that the rate bounds',
      { speed: 1, ratePerSecond: 2 },
      [0, 10, 20, 5000],
      [0, 500, 1000, 5000],
    ],
    ['at an earlier instant than the one before, at once', { speed: 1 }, [5000, 4000], [0, 0]],
  ])('%s', (_, options, recorded, expected) => {
    expect(sentAt(options, recorded)).toEqual(expected);
  });

  it('does not catch up in a burst with what the instance was too slow for', () => {
    let nowMs = 0;
    const pace = createPace({ clock: () => nowMs, ratePerSecond: 10, speed: undefined });
    expect(pace.dueInMs(0)).toBe(0);
    nowMs = 10_000;
    expect(pace.dueInMs(0)).toBe(0);
    expect(pace.dueInMs(0)).toBe(100);
  });
});
