import type { RecordItem, RecordedEntry } from '../journal/recorded.ts';

/**
 * The items of a record in an order in which a store can have settled them. Sources of a group count together,
 * but nothing says which of two sources was first within one millisecond. Approvals come before refusals there:
 * what others have used up refuses a callback, and no refusal takes room from an approval. A change, such as that
 * of a list or a release, and a change of the prices stay where they are.
 */
export async function* inSettledOrder(
  record: AsyncIterable<RecordItem> | Iterable<RecordItem>,
): AsyncGenerator<RecordItem> {
  let together: RecordedEntry[] = [];
  let [nowMs, prices] = [0, 0];
  for await (const item of record) {
    const isCallback = item.type === 'decision' || item.type === 'repeat';
    if (!isCallback || item.atMs !== nowMs || item.prices > prices) {
      yield* approvalsFirst(together);
      together = [];
      prices = 0;
    }
    nowMs = item.atMs;
    if (!isCallback) {
      yield item;
      continue;
    }
    prices = Math.max(prices, item.prices);
    together.push(item);
  }
  yield* approvalsFirst(together);
}

/**
 * If all entries are of one source, their order is known. Otherwise approvals come before all refusals, also before
 * those of their own source: what refused those may be an approval of another source that came between.
 */
function approvalsFirst(entries: readonly RecordedEntry[]): readonly RecordedEntry[] {
  const [first] = entries;
  if (entries.every(({ source }) => source === first?.source)) return entries;
  const isRefusal = ({ verdict }: RecordedEntry): boolean => verdict !== 'SUCCESS';
  return entries.toSorted((a, b) => Number(isRefusal(a)) - Number(isRefusal(b)));
}
