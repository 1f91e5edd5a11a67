import type { SimulationStore } from '../store/embedded/simulation.ts';
import { CHANGES, recordedChange } from '../journal/recorded.ts';
import type { JournalEntry, PriceHistoryEntry } from '../store/store.ts';

/** Lists, orders and prices of the private store, built again from the record. */
export interface ReplayedState {
  /** Holds back a change of prices until the first callback that used it. */
  addPrices(change: PriceHistoryEntry): void;
  /**
   * Applies the changes of prices up to the version of a callback, or up to its time if the version is 0.
   */
  applyPrices(version: number, atMs: number): void;
  applyList(entry: JournalEntry): void;
  applyOrder(entry: JournalEntry): void;
  /** Gives back what the candidate approved. */
  applyRelease(entry: Pick<JournalEntry, 'source' | 'subject' | 'atMs'>): void;
  /** Lifts a lock-out. */
  applyLift(entry: JournalEntry): void;
  /** Counts a repeat of a decision from before the record. */
  countOlderRepeat(): void;
  /** Counts a callback that was recorded without a group, and is decided in the group of the settings. */
  countUngrouped(): void;
  /** Notes a list that a rule of the candidate uses and the record does not have. */
  noteMissingList(source: string, list: string): void;
  /** Sentences about state that the record does not have, in a fixed order. */
  warnings(): readonly string[];
}

const WHO = { by: 'backtest', message: '' };

/** State that the record does not have. */
interface Gaps {
  /** SOURCE/LIST. */
  readonly missing: Set<string>;
  readonly older: Set<string>;
  unpriced: number;
  unreadable: number;
  orders: number;
  releases: number;
  repeats: number;
  ungrouped: number;
}

export function createReplayedState(store: SimulationStore): ReplayedState {
  const gaps: Gaps = {
    missing: new Set(),
    older: new Set(),
    unpriced: 0,
    unreadable: 0,
    orders: 0,
    releases: 0,
    repeats: 0,
    ungrouped: 0,
  };
  const pending: PriceHistoryEntry[] = [];
  let lastVersion = 0;
  return {
    addPrices(change) {
      pending.push(change);
    },
    applyPrices(version, atMs) {
      for (;;) {
        const [next] = pending;
        if (next === undefined) break;
        const seen = version > 0 ? next.version <= version : next.atMs <= atMs;
        if (!seen) break;
        store.changePrices({ set: next.set, remove: next.remove, by: WHO.by }, next.atMs);
        lastVersion = next.version;
        pending.shift();
      }
      if (version > lastVersion) gaps.unpriced++;
    },
    applyList(entry) {
      const change = recordedChange(CHANGES.list, entry);
      const { source, atMs } = entry;
      if (change === undefined) {
        gaps.unreadable++;
        return;
      }
      if (change.add.length === 0 && change.remove.length > 0 && !store.hasList(source, change.list)) {
        gaps.older.add(`${source}/${change.list}`);
        store.changeList({ source, list: change.list, add: [], remove: [], ...WHO }, atMs);
      }
      store.changeList({ source, ...change, ...WHO }, atMs);
    },
    applyOrder(entry) {
      const change = recordedChange(CHANGES.order, entry);
      const { source, subject, atMs } = entry;
      if (change === undefined) gaps.unreadable++;
      else if (change.change === 'expect') {
        const { members, expiresAtMs } = change;
        store.expectOrder({ source, subject, members, expiresAtMs, by: WHO.by }, atMs);
      } else if (store.hasOrder(source, subject)) store.cancelOrder({ source, subject, by: WHO.by }, atMs);
      else gaps.orders++;
    },
    applyRelease({ source, subject, atMs }) {
      if (store.hasSubject(source, subject)) store.releaseApproval(source, subject, atMs);
      else gaps.releases++;
    },
    applyLift(entry) {
      const change = recordedChange(CHANGES.lockout, entry);
      if (change === undefined) gaps.unreadable++;
      else store.liftLockout(entry.source, change.lockout.id);
    },
    countOlderRepeat: () => void gaps.repeats++,
    countUngrouped: () => void gaps.ungrouped++,
    noteMissingList: (source, list) => void gaps.missing.add(`${source}/${list}`),
    warnings: () => warningsOf(gaps),
  };
}

function warningsOf(gaps: Gaps): readonly string[] {
  const { missing, older, unpriced, unreadable, orders, releases, repeats, ungrouped } = gaps;
  const warningFor = (count: number, text: string): readonly string[] => (count === 0 ? [] : [text]);
  return [
    ...[...missing]
      .toSorted()
      .map((list) => `the record has no list ${list}, so a rule of the candidate that uses it refuses`),
    ...warningFor(
      ungrouped,
      `${ungrouped} callbacks were recorded without a group of their source: they count in the group of the settings`,
    ),
    ...warningFor(unpriced, `${unpriced} callbacks were decided with prices that are not in the record`),
    ...[...older]
      .toSorted()
      .map((list) => `the list ${list} is older than the record: its content at the beginning is not known`),
    ...warningFor(
      repeats,
      `${repeats} repeats of decisions from before the record begins were decided as if they were the first`,
    ),
    ...warningFor(orders, `${orders} orders were cancelled that were announced before the record begins`),
    ...warningFor(releases, `${releases} approvals were released that were given before the record begins`),
    ...warningFor(
      unreadable,
      `${unreadable} changes of lists, orders or lock-outs in the record can't be read`,
    ),
  ];
}
