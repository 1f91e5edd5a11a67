import { releaseInForce } from '../release/stored.ts';
import { type LimitUse, limitsOfEntries } from '../simulation/limits.ts';
import type { JournalEntry } from '../store/store.ts';
import type { ReadingStore } from './reading.ts';

/** Reads the limits of callbacks that a search has found. */
export interface LimitsReading {
  /** The limits that the entries count in under the policies in force, the fullest first. */
  limitsOf(entries: readonly Pick<JournalEntry, 'source' | 'id'>[]): Promise<readonly LimitUse[]>;
}

export function createLimitsReading(
  store: ReadingStore,
  groupOf: (source: string) => string | undefined,
): LimitsReading {
  return {
    async limitsOf(wanted) {
      const [release, prices, { nowMs }, entries] = await Promise.all([
        releaseInForce(store),
        store.prices(),
        store.health(),
        Promise.all(wanted.map(({ source, id }) => store.entry(source, id))),
      ]);
      const found = entries.filter((entry) => entry !== undefined);
      return limitsOfEntries({ store, release, prices, groupOf, nowMs }, found);
    },
  };
}
