import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createTurnTimes, followTurns, nextShare } from '../../src/http/admission-turns.ts';
import { eventually } from '../eventually.ts';

/** The turns of a loop that began at these instants. */
const turnsAt = (...atMs: readonly number[]): ReturnType<typeof createTurnTimes> =>
  atMs.reduce((turn, at) => turn.next(at), createTurnTimes(0));

describe('what is read', () => {
  it('has not waited where turns are short', () => {
    expect(turnsAt(20, 40, 60).waitedMs(75)).toBe(0);
  });

  it('after a long turn may have waited for all of it, and a turn later has not', () => {
    const turns = turnsAt(20, 40, 1540);
    expect(turns.waitedMs(1550)).toBe(1510);
    expect(turns.next(1560).waitedMs(1565)).toBe(0);
  });
});

describe('the share of the callbacks that is let in', () => {
  it('is halved by a turn of more than a quarter of the time for an answer, and grows by any other', () => {
    expect(nextShare(1, 501, 2000)).toBe(0.5);
    expect(nextShare(0.5, 501, 2000)).toBe(0.25);
    expect(nextShare(0.5, 500, 2000)).toBe(0.625);
  });

  it('is never nothing, and never more than all', () => {
    expect(nextShare(1 / 64, 60_000, 2000)).toBe(1 / 64);
    expect(nextShare(0.9, 20, 2000)).toBe(1);
  });

  it('is not lessened by turns that any machine has, however short the time for an answer', () => {
    expect(nextShare(1, 100, 100)).toBe(1);
    expect(nextShare(1, 101, 100)).toBe(0.5);
  });
});

const busyFor = (ms: number): void => {
  const until = performance.now() + ms;
  while (performance.now() < until);
};

describe('the turns of this process', () => {
  it('lessen the share while they are long, and no longer', async () => {
    const turns = followTurns(() => performance.now(), 400);
    onTestFinished(() => turns.stop());
    for (let time = 0; time < 6; time++) {
      await pause(1);
      busyFor(150);
    }
    await pause(1);
    expect(turns.share()).toBeLessThan(0.5);
    await eventually('the loop keeps up again', () => turns.share() === 1 || undefined);
  });

  it('tell of one that was long, until the next is over', async () => {
    const turns = followTurns(() => performance.now(), 400);
    onTestFinished(() => turns.stop());
    await pause(50);
    busyFor(300);
    expect(turns.waitedMs()).toBeGreaterThanOrEqual(300);
    await eventually('the loop keeps up again', () => turns.waitedMs() === 0 || undefined);
  });
});
