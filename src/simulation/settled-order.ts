import { type RecordItem, isPriceChange } from '../journal/record.ts';
import { pricesOf } from '../journal/recorded.ts';
import type { JournalEntry } from '../store/store.ts';

/**
 * The items of a record in an order in which a store can have settled them. Sources of a group count together,
 * but nothing says which of two sources was first within one millisecond. Approvals come before refusals there:
 * what others have used up refuses a callback, and no refusal takes room from an approval. A change, such as that
 * of a list or a release, and a change of the prices stay where they are.
 */
export async function* inSettledOrder(
  record: AsyncIterable<RecordItem> | Iterable<RecordItem>,
): AsyncGenerator<RecordItem> {
  let together: JournalEntry[] = [];
  let [nowMs, prices] = [0, 0];
  for await (const item of record) {
    const callback =
      !isPriceChange(item) && (item.type === 'decision' || item.type === 'repeat') ? item : undefined;
    const used = callback === undefined ? 0 : pricesOf(callback);
    if (callback === undefined || item.atMs !== nowMs || used > prices) {
      yield* approvalsFirst(together);
      together = [];
      prices = 0;
    }
    nowMs = item.atMs;
    if (callback === undefined) {
      yield item;
      continue;
    }
    prices = Math.max(prices, used);
    together.push(callback);
  }
  yield* approvalsFirst(together);
}

/**
 * If all entries are of one source, their order is known. Otherwise approvals come before all refusals, also before
 * those of their own source: what refused those may be an approval of another source that came between.
 */
function approvalsFirst(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  const [first] = entries;
  if (entries.every(({ source }) => source === first?.source)) return entries;
  const isRefusal = ({ verdict }: JournalEntry): boolean => verdict !== 'SUCCESS';
  return entries.toSorted((a, b) => Number(isRefusal(a)) - Number(isRefusal(b)));
}
