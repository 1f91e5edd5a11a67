import { type StoreState, readState, seenIn } from './copies.ts';
import { lossError } from './lost.ts';
import { freezeForLoss } from './lost-freeze.ts';
import type { RedisParts } from './parts.ts';

export interface Look {
  /**
   * Also that no change is missing that was seen. A change that is made itself moves on, whatever is missing
   * before it.
   */
  readonly changes: boolean;
}

/**
 * What is in force, after a comparison with what this process remembers; from then on it remembers that.
 * Freezes the store for a loss, also for one that could not be frozen before, and rejects if it can't.
 */
export async function look(parts: RedisParts, wanted: Look = { changes: false }): Promise<StoreState> {
  const pending = parts.memory.loss();
  if (pending !== undefined) await freezeForLoss(parts, pending);
  let state = await readState(parts);
  // Twice: what was read on its way between two nodes of a Cluster may have been overtaken.
  if (lossIn(parts, state, wanted) !== undefined) state = await readState(parts);
  const found = lossIn(parts, state, wanted);
  if (found !== undefined) {
    await freezeForLoss(parts, { found, epoch: parts.memory.epoch() });
    state = await readState(parts);
  }
  const again = lossIn(parts, state, { changes: false });
  if (again !== undefined || state.epoch === undefined) throw lossError(again ?? found ?? NOTHING);
  parts.memory.see(state.epoch, seenIn(state));
  return state;
}

const NOTHING = 'Redis holds nothing any more of what this process saw in it';

function lossIn({ memory }: RedisParts, state: StoreState, { changes }: Look): string | undefined {
  const { epoch, lost, current } = state;
  const known = memory.epoch();
  if (known === undefined) return undefined;
  if (epoch === undefined) return NOTHING;
  if (epoch !== known) {
    return lost.includes(known)
      ? undefined
      : 'Redis holds another store than this process saw in it, begun anew or restored';
  }
  return changes && Number(current[0]) < memory.seen().sequence
    ? 'Redis no longer has the latest changes of policies, prices or freezes that this process saw in it'
    : undefined;
}
