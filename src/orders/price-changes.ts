import type { PriceHistoryEntry, Store } from '../store/store.ts';
import { type Amount, formatAmount } from '../values/amount.ts';

/** A price that somebody set or removed. */
export interface PriceChanged {
  readonly asset: string;
  /** The price before, and whether it is known. Undefined for none. */
  readonly before: Amount | undefined;
  readonly isBeforeKnown: boolean;
  /** Undefined if the price was removed. */
  readonly after: Amount | undefined;
  readonly asOfMs: number | undefined;
  /** The change of the table, which may have other assets. */
  readonly version: number;
  readonly atMs: number;
  readonly by: string;
}

export interface PriceChanges {
  /** Newest first. */
  readonly changes: readonly PriceChanged[];
  /** Whether there are older ones. */
  readonly more: boolean;
}

/** Changes of the table that are read at once. Each may have a thousand prices. */
const PAGE = 20;

/**
 * The newest `most` changes of single prices. `isOver` ends the search after so many changes of the table; what a
 * price was before may then be unknown.
 */
export async function priceChanges(
  store: Pick<Store, 'priceHistory'>,
  { most, isOver }: { readonly most: number; readonly isOver: (looked: number) => boolean },
): Promise<PriceChanges> {
  const changes: Mutable<PriceChanged>[] = [];
  /** The oldest change of each asset so far, whose price before is not known yet. */
  const open = new Map<string, Mutable<PriceChanged>>();
  let [looked, more, before] = [0, false, Number.MAX_SAFE_INTEGER];
  for (;;) {
    const entries = await store.priceHistory({ before, limit: PAGE });
    for (const entry of entries) {
      for (const row of rowsOf(entry)) {
        const later = open.get(row.asset);
        open.delete(row.asset);
        if (later !== undefined) Object.assign(later, { before: row.after, isBeforeKnown: true });
        more ||= changes.length === most;
        if (more) continue;
        changes.push(row);
        open.set(row.asset, row);
      }
    }
    looked += entries.length;
    before = entries.at(-1)?.version ?? before;
    if (before === 1 || entries.length < PAGE) break;
    if ((more && open.size === 0) || isOver(looked)) return { changes, more: true };
  }
  // The first version is 1. Before it, there were no prices. An older history is deleted, like that of the journal.
  if (before === 1) for (const row of open.values()) row.isBeforeKnown = true;
  return { changes, more };
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

function rowsOf({ set, remove, version, atMs, by }: PriceHistoryEntry): readonly Mutable<PriceChanged>[] {
  const change = { before: undefined, isBeforeKnown: false, version, atMs, by };
  return [
    ...set.map(({ asset, price, asOfMs }) => ({ ...change, asset, after: price, asOfMs })),
    ...remove.map((asset) => ({ ...change, asset, after: undefined, asOfMs: undefined })),
  ];
}

/** What the price was before: an amount, `none`, or `?` if it is not known. */
export const beforeText = ({ before, isBeforeKnown }: PriceChanged): string =>
  before !== undefined ? formatAmount(before) : isBeforeKnown ? 'none' : '?';

/** What it became: an amount, or `removed`. */
export const afterText = ({ after }: PriceChanged): string =>
  after === undefined ? 'removed' : formatAmount(after);
