/** How far the event loop is behind, from when its turns began. */
export interface Turns {
  /**
   * The longest for which a request that is read now may have lain unread; 0 where it is not worth a thought.
   */
  waitedMs(): number;
  /**
   * The part of the callbacks that may be under way, from 1/64 to 1, for which the turns stay short enough.
   */
  share(): number;
  stop(): void;
}

const TICK_MS = 20;
/** Shorter waits are what any process has: a collection of garbage, a neighbour on the machine. */
const NOTABLE_MS = 100;
/** A callback takes three turns of the loop or so: to be read, to be settled, to be answered. */
const TURNS_OF_A_CALLBACK = 4;
const SHARE_MIN = 1 / 64;
const GROWTH = 1.25;

/**
 * Notes when turns begin, every 20 ms or once a turn, whatever is longer. What is read now was not there when
 * the turn before this one looked at its sockets, so it has waited since then at most. After a long turn the
 * end of the next is noted as well, so that only what came meanwhile counts as having waited.
 *
 * A turn so long that a callback would be late halves the share, and each that is not lets it grow again: the
 * slower the machine is, the fewer callbacks it takes on, and those it answers in time. `nowMs` must never
 * run backwards.
 */
export function followTurns(nowMs: () => number, answerTimeoutMs: number): Turns {
  let turn = createTurnTimes(nowMs());
  let beganAtMs = nowMs();
  let share = 1;
  let endNoted = false;
  const noteEnd = (): void => {
    turn = turn.next(nowMs());
    endNoted = true;
  };
  const noteBeginning = (): void => {
    const now = nowMs();
    share = nextShare(share, now - beganAtMs, answerTimeoutMs);
    beganAtMs = now;
    // No socket was looked at since the end that was noted: noted twice, it would hide how long things have
    // waited.
    const same = endNoted && turn.sinceMs(now) < TICK_MS / 2;
    endNoted = false;
    if (same) return;
    turn = turn.next(now);
    if (turn.waitedMs(now) > 0) setImmediate(noteEnd);
  };
  const timer = setInterval(noteBeginning, TICK_MS).unref();
  return { waitedMs: () => turn.waitedMs(nowMs()), share: () => share, stop: () => clearInterval(timer) };
}

/** The share after a turn that took so long. */
export function nextShare(share: number, turnMs: number, answerTimeoutMs: number): number {
  const longMs = Math.max(answerTimeoutMs / TURNS_OF_A_CALLBACK, NOTABLE_MS);
  return turnMs > longMs ? Math.max(share / 2, SHARE_MIN) : Math.min(share * GROWTH, 1);
}

interface TurnTimes {
  next(atMs: number): TurnTimes;
  sinceMs(nowMs: number): number;
  waitedMs(nowMs: number): number;
}

/** The beginnings of the last two turns. */
export function createTurnTimes(atMs: number, beforeMs = atMs): TurnTimes {
  return {
    next: (nextMs) => createTurnTimes(nextMs, atMs),
    sinceMs: (nowMs) => nowMs - atMs,
    waitedMs(nowMs) {
      const waitedMs = nowMs - beforeMs;
      return waitedMs < NOTABLE_MS ? 0 : waitedMs;
    },
  };
}
