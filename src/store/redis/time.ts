import { z } from 'zod';
import { type ClockReading, type ClockState, clockStateOf } from '../clock-state.ts';
import type { Store } from '../store.ts';
import { knownSources } from './in-force.ts';
import { type RedisParts, clockArgument, journalArguments } from './parts.ts';
import { digits, parseReply } from './reply.ts';
import { loadScript, run } from './script.ts';

const clockScript = loadScript('clock-1');
const acceptScript = loadScript('accept-clock-2');

/*
 * The record of what is in force and the control of each source each keep their own time, because they may be
 * on different servers with different clocks.
 */

/** `registered` are the sources that this process registered. */
export function createTime(
  parts: RedisParts,
  registered: () => readonly string[],
): Pick<Store, 'clock' | 'readClock' | 'acceptClock'> {
  const worstState = async (controls: readonly string[], mode: ClockMode): Promise<ClockState> =>
    worstOf(await Promise.all(controls.map((control) => compareClock(parts, control, mode))));
  return {
    clock: () => worstState(controlsOf(parts, registered()), 'keep'),
    readClock: async () => worstState(controlsOf(parts, await knownSources(parts)), 'look'),
    async acceptClock({ by }) {
      const { connection, keys } = parts;
      const args = [...journalArguments(parts), by];
      const sources = await knownSources(parts);
      const accepted = sources.map((source) => {
        const { control, journal } = keys.of(source);
        return run(connection, acceptScript, [control, journal], args);
      });
      await Promise.all([run(connection, acceptScript, [keys.inForce, keys.inForce], args), ...accepted]);
      return worstState(controlsOf(parts, sources), 'keep');
    },
  };
}

const controlsOf = ({ keys }: RedisParts, sources: readonly string[]): readonly string[] => [
  keys.inForce,
  ...sources.map((source) => keys.of(source).control),
];

/** Advances the time of what is in force and of these sources. */
export async function advanceTime(parts: RedisParts, sources: readonly string[]): Promise<void> {
  if (parts.clockBounds === undefined) return;
  await Promise.all(controlsOf(parts, sources).map((control) => compareClock(parts, control, 'keep')));
}

/** `look` writes nothing. */
type ClockMode = 'keep' | 'look';

const found = z
  .tuple([z.enum(['right', 'jumped', 'forgotten']), digits, digits, digits])
  .transform(([what, clockMs, nowMs, maxAheadMs]): ClockReading => ({
    found: what,
    clockMs,
    nowMs,
    maxAheadMs,
  }));

/**
 * Compares Redis' clock with the time that a control keeps, and with the time that passed in this process
 * since the clock was last right.
 */
export async function compareClock(parts: RedisParts, control: string, mode: ClockMode): Promise<ClockState> {
  const { lastPlausibleClock, elapsed, clockBounds } = parts;
  const elapsedMs = elapsed.elapsedMs();
  const last = lastPlausibleClock.get(control);
  const expectedMs = last === undefined ? '' : last.clockMs + elapsedMs - last.elapsedMs;
  const args = [clockArgument(parts), mode, clockBounds?.maxGapMs ?? 0, expectedMs];
  const reply = await run(parts.connection, clockScript, [control], args);
  const state = parseReply(found, 'the time', reply);
  if (state.found === 'right') lastPlausibleClock.set(control, { clockMs: state.clockMs, elapsedMs });
  return clockStateOf(state, clockBounds?.maxStepMs ?? Number.POSITIVE_INFINITY, 'Redis');
}

const RANK = { right: 0, behind: 1, jumped: 2 } as const;

function worstOf(states: readonly ClockState[]): ClockState {
  return states.reduce((worstState, state) => {
    const by =
      RANK[state.state] - RANK[worstState.state] || Math.abs(state.aheadMs) - Math.abs(worstState.aheadMs);
    return by > 0 ? state : worstState;
  });
}
