import { expect } from 'vitest';
import type { JournalEntry, Store } from '../../src/store/store.ts';
import { type Sent, successesOf } from './load.ts';

/** The whole journal of a source, oldest first. */
export async function journalOf(store: Store, source = 'shop'): Promise<readonly JournalEntry[]> {
  const found: JournalEntry[] = [];
  for (;;) {
    const page = await store.entries({ source, after: found.at(-1)?.id ?? '', limit: 1000 });
    if (page.length === 0) return found;
    found.push(...page);
  }
}

export const approvalsIn = (journal: readonly JournalEntry[]): readonly JournalEntry[] =>
  journal.filter(({ type, verdict }) => type === 'decision' && verdict === 'SUCCESS');

/** The sum of what was approved; scenarios pay in whole numbers. */
export const approvedIn = (journal: readonly JournalEntry[]): number =>
  approvalsIn(journal)
    .map((entry) => detailOf(entry).amount)
    .reduce((a, b) => a + b, 0);

/**
 * Compares all that was answered with the journal, whatever happened meanwhile: each SUCCESS has an entry of
 * its own with the very body; no subject was approved twice or under two terms; the approved amounts are
 * within `limit`.
 */
export async function audit(store: Store, sent: readonly Sent[], limit: number): Promise<void> {
  expect(sent.filter(({ answer = 'FAILURE' }) => answer !== 'SUCCESS' && answer !== 'FAILURE')).toEqual([]);
  const journal = await journalOf(store);
  const said = journal.filter(({ verdict }) => verdict === 'SUCCESS').map(detailOf);
  const written = countBy(said, ({ body }) => body);
  const answered = countBy(successesOf(sent), ({ body }) => body);
  expect([...answered].filter(([body, times]) => times > (written.get(body) ?? 0))).toEqual([]);

  const termsOf = Map.groupBy(said, ({ subject }) => subject);
  expect([...termsOf].filter(([, details]) => new Set(details.map(({ terms }) => terms)).size > 1)).toEqual(
    [],
  );

  const approvals = approvalsIn(journal);
  expect(new Set(approvals.map(({ subject }) => subject)).size).toBe(approvals.length);
  expect(approvedIn(journal)).toBeLessThanOrEqual(limit);
}

function detailOf({ subject, detail }: JournalEntry): {
  readonly subject: string;
  readonly body: string;
  readonly terms: string;
  readonly amount: number;
} {
  const { body, terms } = JSON.parse(detail) as { readonly body: string; readonly terms: object };
  const { orderAmount } = JSON.parse(body) as { readonly orderAmount: string };
  return { subject, body, terms: JSON.stringify(terms), amount: Number(orderAmount) };
}

function countBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(keyOf(item), (counts.get(keyOf(item)) ?? 0) + 1);
  return counts;
}
