import { CHANGES, recordedChange } from '../journal/recorded.ts';
import type { JournalEntry, Lists } from '../store/store.ts';
import type { Bundle } from './bundle.ts';

/** What the journal says of a value at an instant. */
interface Trace {
  /** Whether the last change before the instant added it; undefined if there is none. */
  before?: boolean;
  /** Whether a change since the instant removed it. */
  isRemoved: boolean;
}

/**
 * Finds out what lists had at two instants, from what they have now and from their changes in the journal. A
 * change says what was asked for: a value that it adds may have been there before.
 */
export function createListStates(instants: readonly [beginMs: number, endMs: number]) {
  const lists = new Map<string, { changes: number; readonly values: Map<string, readonly Trace[]> }>();
  const tracesOf = (values: ReadonlyMap<string, readonly Trace[]>, value: string): readonly Trace[] =>
    values.get(value) ?? instants.map(() => ({ isRemoved: false }));
  const listOf = (source: string, list: string) =>
    lists.get(`${source}/${list}`) ?? { changes: 0, values: new Map<string, readonly Trace[]>() };

  return {
    /** To be called with the entries of a source in order. */
    note: (entry: JournalEntry): void => {
      const change = entry.type === 'list' ? recordedChange(CHANGES.list, entry) : undefined;
      if (change === undefined) return;
      const known = listOf(entry.source, change.list);
      lists.set(`${entry.source}/${change.list}`, known);
      known.changes++;
      const noteValue = (value: string, isAdded: boolean): void => {
        const traces = tracesOf(known.values, value);
        known.values.set(value, traces);
        for (const [at, trace] of traces.entries()) {
          if (entry.atMs < (instants[at] ?? 0)) trace.before = isAdded;
          else trace.isRemoved ||= !isAdded;
        }
      };
      // In the order of the stores.
      for (const value of change.add) noteValue(value, true);
      for (const value of change.remove) noteValue(value, false);
    },
    /** Writes the values that the lists of a source had at an instant. Returns how many it does not know. */
    async write(store: Lists, bundle: Bundle, source: string): Promise<number> {
      let unknown = 0;
      for (const { list, version } of await store.lists(source)) {
        const { changes, values } = listOf(source, list);
        const now = new Map<string, number>();
        for await (const { value, addedAtMs } of store.listEntries(source, list)) now.set(value, addedAtMs);
        for (const value of [...new Set([...now.keys(), ...values.keys()])].sort()) {
          const addedAtMs = now.get(value);
          const [atBegin, atEnd] = tracesOf(values, value).map(({ before, isRemoved }, at) => {
            if (addedAtMs !== undefined && addedAtMs < (instants[at] ?? 0)) return true;
            // The version counts the changes: with all of them, a value that none added was not there.
            const isKnown = changes === version || (addedAtMs !== undefined && !isRemoved);
            return before ?? (isKnown ? false : null);
          });
          if (atBegin === false && atEnd === false) continue;
          bundle.add('lists.jsonl', { source, list, value, atBegin, atEnd });
          if (atBegin === null || atEnd === null) unknown++;
        }
      }
      return unknown;
    },
  };
}
