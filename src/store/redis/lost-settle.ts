import type { CountersignError } from '../../errors.ts';
import type { Decisions } from '../store.ts';
import { type Known, type Loss, freezeFor, lossError, sourceLost } from './lost.ts';
import { freezeForLoss } from './lost-freeze.ts';
import type { RedisParts } from './parts.ts';

/** Why nothing may be approved here while a loss is known and not frozen yet; undefined otherwise. */
export function lossOf({ memory }: RedisParts): string | undefined {
  const loss = memory.loss();
  return loss === undefined ? undefined : freezeFor(loss.found).reason;
}

/**
 * What this process knows of a source, for settle to compare. Throws STORE_LOST while a loss is known and not
 * frozen yet.
 */
export function knownOf({ memory }: RedisParts, source: string): Known {
  const loss = memory.loss();
  if (loss !== undefined) throw lossError(loss.found);
  return {
    // Of a source that it did not register it can't say that it was ever enrolled.
    epoch: memory.sources().includes(source) ? (memory.epoch() ?? '') : '',
    witness: memory.witness,
    newest: memory.newest(source),
  };
}

/**
 * Settles with the verb given, and remembers each approval once it may be answered, whatever that verb waits
 * for. Rejects with STORE_LOST if data was found lost since it was asked for: the approval may be among them,
 * and to ask again is safe.
 */
export function rememberApprovals(parts: RedisParts, settle: Decisions['settle']): Decisions['settle'] {
  const { memory } = parts;
  return async (request) => {
    const { epoch } = knownOf(parts, request.source);
    const result = await settle(request);
    if (!('verdict' in result) || result.verdict !== 'SUCCESS') return result;
    const found = memory.loss()?.found;
    if (found !== undefined || (epoch !== '' && epoch !== memory.epoch())) {
      throw lossError(found ?? 'it was found while this was decided');
    }
    memory.approved(request.source, result.id);
    return result;
  };
}

/**
 * Freezes the store without keeping the answer waiting, and says what to reject with. What fails is tried
 * again with the next look.
 */
export function lostInSettle(
  parts: RedisParts,
  source: string,
  { loss, known }: { readonly loss: Loss; readonly known: Known },
): CountersignError {
  const found = sourceLost(source, loss);
  const epoch = known.epoch === '' ? parts.memory.epoch() : known.epoch;
  freezeForLoss(parts, { found, epoch }).catch(() => undefined);
  return lossError(found);
}
