import type { Release } from '../policy/release.ts';
import {
  type CallTexts,
  type PolicyMovementTexts,
  callTexts,
  movementTexts,
} from '../policy/transaction-text.ts';
import type { JournalEntry } from '../store/store.ts';
import { recordedCallback } from '../journal/recorded.ts';

/** What the transaction of a journal entry does. */
export interface RecordedTransaction {
  readonly calls: CallTexts;
  /** As the policies see it that decided. */
  readonly movements: readonly PolicyMovementTexts[];
}

/**
 * Reads the transaction of a web3 callback again, with the policies that it was decided by. Undefined for an entry
 * about anything else, and for one whose body can't be read.
 */
export async function recordedTransaction(
  entry: JournalEntry,
  releaseOf: (revision: string) => Promise<Release | undefined>,
): Promise<RecordedTransaction | undefined> {
  const recorded = recordedCallback(entry);
  if (typeof recorded === 'string' || recorded.callback.kind !== 'web3') return undefined;
  const { callback } = recorded;
  const release = await releaseOf(entry.revision);
  return { calls: callTexts(release, callback), movements: movementTexts(release, callback) };
}
