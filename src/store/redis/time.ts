import { z } from 'zod';
import { type ClockFound, type ClockState, clockStateOf } from '../clock-state.ts';
import type { Store } from '../store.ts';
import { knownSources } from './copies.ts';
import { type RedisParts, clockArgument, journalArguments } from './parts.ts';
import { digits, expectReply } from './reply.ts';
import { loadScript, run } from './script.ts';

const clockScript = loadScript('clock-1');
const acceptScript = loadScript('accept-clock-2');

/** What this process counted since it last believed the clock that keeps the time of one control. */
export interface Witness {
  readonly clockMs: number;
  readonly elapsedMs: number;
}

/*
 * Time is kept with each source, and with what is in force, since each may lie on another server, whose clock
 * is another.
 */

export function createTime(parts: RedisParts): Pick<Store, 'clock' | 'lookAtClock' | 'acceptClock'> {
  const worst = async (controls: readonly string[], mode: 'keep' | 'look'): Promise<ClockState> =>
    worstOf(await Promise.all(controls.map((control) => lookAt(parts, control, mode))));
  const all = async (): Promise<readonly string[]> => controlsOf(parts, await knownSources(parts));
  return {
    clock: () => worst(controlsOf(parts, parts.memory.sources()), 'keep'),
    lookAtClock: async () => worst(await all(), 'look'),
    async acceptClock({ by }) {
      const { connection, keys } = parts;
      const given = [...journalArguments(parts), by];
      const sources = await knownSources(parts);
      const accepted = sources.map((source) => {
        const { control, journal } = keys.of(source);
        return run(connection, acceptScript, [control, journal], given);
      });
      await Promise.all([run(connection, acceptScript, [keys.inForce, keys.inForce], given), ...accepted]);
      return worst(controlsOf(parts, sources), 'keep');
    },
  };
}

const controlsOf = ({ keys }: RedisParts, sources: readonly string[]): readonly string[] => [
  keys.inForce,
  ...sources.map((source) => keys.of(source).control),
];

/** Moves the time of sources on that this process serves, and of what is in force. */
export async function keepTime(parts: RedisParts, sources: readonly string[]): Promise<void> {
  if (parts.clockBounds === undefined) return;
  await Promise.all(controlsOf(parts, sources).map((control) => lookAt(parts, control, 'keep')));
}

const found = z
  .tuple([z.enum(['right', 'jumped', 'forgotten']), digits, digits, digits])
  .transform(([what, clockMs, nowMs, heldAheadMs]): ClockFound => ({
    found: what,
    clockMs,
    nowMs,
    heldAheadMs,
  }));

/** Looks at the clock of a control. */
export async function lookAt(parts: RedisParts, control: string, mode: 'keep' | 'look'): Promise<ClockState> {
  const { witnesses, elapsed, clockBounds } = parts;
  const elapsedMs = elapsed.elapsedMs();
  const witness = witnesses.get(control);
  const witnessMs = witness === undefined ? '' : witness.clockMs + elapsedMs - witness.elapsedMs;
  const given = [clockArgument(parts), mode, clockBounds?.maxGapMs ?? 0, witnessMs];
  const reply = await run(parts.connection, clockScript, [control], given);
  const looked = expectReply(found, 'the time', reply);
  if (looked.found === 'right') witnesses.set(control, { clockMs: looked.clockMs, elapsedMs });
  return clockStateOf(looked, clockBounds?.maxStepMs ?? Number.POSITIVE_INFINITY, 'Redis');
}

const RANK = { right: 0, behind: 1, jumped: 2 } as const;

function worstOf(states: readonly ClockState[]): ClockState {
  return states.reduce((worst, state) => {
    const by = RANK[state.state] - RANK[worst.state] || Math.abs(state.aheadMs) - Math.abs(worst.aheadMs);
    return by > 0 ? state : worst;
  });
}
