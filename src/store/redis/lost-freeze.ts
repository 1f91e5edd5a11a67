import { newEpoch, readState, seenIn, spread, publishChange } from './copies.ts';
import { freezeFor, lossError } from './lost.ts';
import type { FoundLoss } from './lost-memory.ts';
import { type RedisParts, clockArgument } from './parts.ts';
import { loadScript, run } from './script.ts';

const loseScript = loadScript('lose-1');

/**
 * Freezes the store for a loss that was found, on every replica. From the call on nothing is approved here,
 * also if it rejects; it is then to be called again. If the same loss was declared before, and perhaps an
 * operator has said go on, nothing is written.
 */
export function freezeForLoss(parts: RedisParts, loss: FoundLoss): Promise<void> {
  parts.memory.bar(loss);
  return parts.memory.freezing(() => writeFreeze(parts, loss));
}

async function writeFreeze(parts: RedisParts, { found, epoch = '' }: FoundLoss): Promise<void> {
  const { connection, keys, memory } = parts;
  const { reason, by } = freezeFor(found);
  const { sequence, freezes, ids } = memory.seen();
  const given = [clockArgument(parts), reason, by, epoch, newEpoch(), sequence, freezes, ids];
  await run(connection, loseScript, [keys.inForce], given);
  // An emptied Redis does not know them any more, and each must learn of the freeze.
  const sources = memory.sources();
  if (sources.length > 0) await connection.call('sadd', [keys.sources, ...sources]);
  const state = await readState(parts);
  if (state.epoch === undefined) throw lossError(found);
  await publishChange(parts, state.current[0]);
  await spread(parts, state);
  // Last: until every source has it, the epoch that was lost is what is declared.
  memory.see(state.epoch, seenIn(state));
}
