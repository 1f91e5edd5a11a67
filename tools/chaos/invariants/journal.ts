import { type Case, type Invariant, type Read, both, findings, describe, describeEntry } from '../case.ts';
import type { Exchange } from '../history.ts';

/**
 * Each SUCCESS has an entry of its own, with the very body, made while it was under way: before its answer.
 */
export const journalledBefore: Invariant = {
  name: 'each SUCCESS is in the journal before it is answered',
  check({ successes, approved, journalLagMs }) {
    const entries = Map.groupBy(approved, ({ entry, body }) => `${entry.source} ${body}`);
    const answered = Map.groupBy(successes, ({ callback }) => `${callback.source} ${callback.body}`);
    const broken = [...answered].flatMap(([body, exchanges]) =>
      unmatched(exchanges, entries.get(body) ?? [], journalLagMs).map(describe),
    );
    return { checked: successes.length, broken };
  },
};

/** Gives each entry to the open exchange that ends first, which leaves the fewest without one. */
function unmatched(
  exchanges: readonly Exchange[],
  entries: readonly Read[],
  lagMs: number,
): readonly Exchange[] {
  const open = exchanges.toSorted((a, b) => a.endedAtMs - b.endedAtMs);
  for (const { entry } of entries.toSorted((a, b) => a.entry.atMs - b.entry.atMs)) {
    const index = open.findIndex(
      ({ sentAtMs, endedAtMs }) => sentAtMs - lagMs <= entry.atMs && entry.atMs <= endedAtMs,
    );
    if (index !== -1) open.splice(index, 1);
  }
  return open;
}

/** What the journal says was approved was asked by somebody, of that source, about that subject. */
export const nothingMadeUp: Invariant = {
  name: 'the journal approves only what was sent',
  check: ({ approved }) =>
    findings(approved, (each) => {
      const { entry, callback } = each;
      return callback?.source === entry.source && callback.subject === entry.subject
        ? undefined
        : describeEntry(each);
    }),
};

export const inOrder: Invariant = {
  name: 'the journal’s time never runs backwards',
  check: ({ journal }) => both(...[...journal.values()].map(backwards)),
};

function backwards(entries: readonly Case['read'][number]['entry'][]): ReturnType<Invariant['check']> {
  return findings(
    entries.map((entry, index) => [entries[index - 1], entry] as const),
    ([before, entry]) =>
      before !== undefined && entry.atMs < before.atMs
        ? `${entry.source}/${entry.id} is of ${entry.atMs}, the one before of ${before.atMs}`
        : undefined,
  );
}
