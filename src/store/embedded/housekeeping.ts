import type { Clock } from '../../values/clock.ts';
import type { PriceTables } from './prices.ts';
import type { SettleTables } from './settle.ts';

const DAY_MS = 86_400_000;

/**
 * How long subjects, since their last change, and journal entries are kept. Marks, since an approval last
 * claimed them, and orders, from their expiry on, are kept as long as subjects; the history of prices as long
 * as the journal.
 */
export interface Retention {
  readonly subjectsMs: number;
  readonly journalMs: number;
}

/** Longer than any window can be. */
export const DEFAULT_RETENTION: Retention = { subjectsMs: 400 * DAY_MS, journalMs: 400 * DAY_MS };

/** Deletes some of what is past its retention, in proportion to the writes that share the transaction. */
export function createHousekeeping(
  { subjects, counters, marks, orders, journal, prices }: SettleTables & { readonly prices: PriceTables },
  now: Clock,
  { subjectsMs, journalMs }: Retention,
): (writes: number) => void {
  return (writes) => {
    const nowMs = now();
    // More than the writes can have added, so that what has expired does not pile up.
    const limit = 64 + 8 * writes;
    counters.expire(nowMs, limit);
    for (const each of [subjects, marks, orders]) each.expire(nowMs - subjectsMs, limit);
    for (const each of [journal, prices]) each.expire(nowMs - journalMs, limit);
  };
}
