import type { DatabaseSync } from 'node:sqlite';
import { CountersignError } from '../../errors.ts';
import type { Clock } from '../../values/clock.ts';
import { type ClockBounds, type ClockFound, type ClockState, clockStateOf } from '../clock-state.ts';
import type { Elapsed } from '../elapsed.ts';
import type { Store } from '../store.ts';
import type { ClockAsked } from './engine.ts';
import { type ClockLook, createClockTable } from './time.ts';
import { type Asked, type WriteVerb, createWriteVerbs } from './write-verbs.ts';

const UNBOUNDED: ClockBounds = {
  maxStepMs: Number.POSITIVE_INFINITY,
  maxGapMs: Number.POSITIVE_INFINITY,
};

export interface TimedVerbsParts {
  readonly connection: DatabaseSync;
  readonly clock: Clock;
  readonly elapsed: Elapsed;
  readonly clockBounds: ClockBounds | undefined;
  readonly write: (asked: Asked | ClockAsked) => Promise<unknown>;
}

/** The verbs that write, and those about the clock. `lookAtClock` throws what SQLite throws. */
export interface TimedVerbs extends Pick<Store, WriteVerb | 'clock' | 'acceptClock'> {
  readonly lookAtClock: () => ClockState;
}

export function createTimedVerbs(parts: TimedVerbsParts): TimedVerbs {
  const { connection, clock, elapsed, clockBounds, write } = parts;
  const { maxStepMs, maxGapMs } = clockBounds ?? UNBOUNDED;
  const table = createClockTable(connection, maxStepMs);
  const stateOf = (found: ClockFound): ClockState => clockStateOf(found, maxStepMs, 'this machine');
  const given = (mode: ClockLook['mode']): ClockLook => ({
    mode,
    elapsed: { id: elapsed.id, elapsedMs: elapsed.elapsedMs() },
    maxGapMs,
  });
  const look = async (mode: 'keep' | 'accept', by = ''): Promise<ClockState> => {
    const argument = { ...given(mode), by };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the engine makes of it
    return stateOf((await write({ verb: 'lookAtClock', argument })) as ClockFound);
  };
  let hasLooked = clockBounds === undefined;
  const verbs = createWriteVerbs((asked) => {
    // Shares the commit of what this process writes first, so that this has the right time.
    if (!hasLooked) look('keep').catch(() => undefined);
    hasLooked = true;
    return write(asked);
  });
  return {
    ...verbs,
    // What looks like a jump may be an outage, which only a look beside the clock can tell.
    async settle(request) {
      const settled = await verbs.settle(request);
      if (settled.outcome !== 'jumped') return settled;
      await look('keep');
      return verbs.settle(request);
    },
    changeList: (change) =>
      verbs.changeList(change).catch(async (thrown: unknown) => {
        if (!(thrown instanceof CountersignError) || thrown.code !== 'CLOCK_JUMPED') throw thrown;
        await look('keep');
        return verbs.changeList(change);
      }),
    clock: () => look('keep'),
    acceptClock: ({ by }) => look('accept', by),
    lookAtClock: () => stateOf(table.look(given('look'), clock())),
  };
}
