import { createHash } from 'node:crypto';
import { usageError } from '../errors.ts';
import { type JournalCollector, createCollector } from './approvals.ts';
import type { Bill } from './bill.ts';
import type { Item } from './classes.ts';
import type { Day } from './day.ts';
import type { JournalEntry } from '../store/store.ts';
import type { Entries, Subjects } from './entries.ts';
import { kindOfSubject } from '../callback/callback.ts';
import { reconcilePayments } from './payments.ts';
import type { EarlierRuns, History, Refusal, SourceResult } from './source.ts';
import { reconcileWithdrawals } from './withdrawals.ts';

export interface DayParts {
  readonly day: Day;
  /** How long a bill or a signature may take after the approval. */
  readonly settleMs: number;
  readonly entries: Entries;
  /** The bill of each source that receives payments. The other sources are co-signers. */
  readonly bills: ReadonlyMap<string, Bill>;
  readonly earlier: (source: string) => EarlierRuns;
  readonly progress: (doing: string, count: number) => void;
}

/** What a reconciliation read, with SHA-256 digests. */
export interface Inputs {
  readonly bills: readonly { readonly source: string; readonly records: number; readonly sha256: string }[];
  /** The entries that matter: approvals, late answers and notifications. */
  readonly journal: { readonly entries: number; readonly sha256: string };
}

export interface DayResult {
  readonly inputs: Inputs;
  /**
   * All items, in a fixed order: first everything that is not matched, source by source. The same inputs give
   * the same items.
   */
  readonly items: () => Iterable<Item>;
  /** The subjects of each source that were approved after the day and are in its bill. */
  readonly ahead: readonly { readonly source: string; readonly subjects: readonly string[] }[];
}

const PROGRESS_EVERY = 1000;

/**
 * Reconciles our decisions of a day with the platform's bill and the co-signers' notifications. Amounts must
 * agree to the last digit. Writes nothing, so it can be repeated at any time. Rejects with BILL_INVALID, and
 * with the errors of the entries.
 */
export async function reconcileDay(parts: DayParts): Promise<DayResult> {
  const { day, settleMs, entries, bills, earlier, progress } = parts;
  const collector = await readPeriod(parts);
  const collectors = [collector];
  const results: (SourceResult & { readonly source: string })[] = [];
  const billed: Inputs['bills'][number][] = [];
  for (const source of [...entries.sources].sort()) {
    const sourceParts = {
      source,
      day,
      settleMs,
      journal: collector.of(source),
      earlier: earlier(source),
      lookUp: (subjects: ReadonlySet<string>) => lookUp(entries, collectors, source, subjects),
    };
    const bill = bills.get(source);
    let records = 0;
    const recordRead = (): void => {
      if (++records % PROGRESS_EVERY === 0) progress(`the bill of ${source}`, records);
    };
    const result =
      bill === undefined
        ? await reconcileWithdrawals(sourceParts)
        : await reconcilePayments({ ...sourceParts, bill, recordRead });
    results.push({ source, ...result });
    if (bill !== undefined) billed.push({ source, records, sha256: bill.digest() });
  }
  return {
    inputs: { bills: billed, journal: journalInput(collectors) },
    *items() {
      for (const { others } of results) yield* others();
      for (const { matched } of results) yield* matched();
    },
    ahead: results.map(({ source, ahead }) => ({ source, subjects: ahead })),
  };
}

async function readPeriod({ day, settleMs, entries, bills, progress }: DayParts): Promise<JournalCollector> {
  const collector = createCollector();
  let read = 0;
  for await (const entry of entries.between(day.fromMs - settleMs, day.untilMs + settleMs)) {
    if (++read % PROGRESS_EVERY === 0) progress('the journal', read);
    assertKind(entry, bills);
    collector.add(entry);
  }
  return collector;
}

/** A source without a bill can't have payments: they would not be reconciled. Throws USAGE. */
function assertKind({ source, subject }: JournalEntry, bills: DayParts['bills']): void {
  const kind = kindOfSubject(subject);
  if (kind === undefined || (kind === 'payment') === bills.has(source)) return;
  throw usageError(
    `the journal of ${source} has ${subject}, and the settings say that ${source} ` +
      `${bills.has(source) ? 'receives payments' : 'is a co-signer'}. Use the settings that the journal was ` +
      'written with',
    { source, subject },
  );
}

function journalInput(collectors: readonly JournalCollector[]): Inputs['journal'] {
  const hash = createHash('sha256');
  let entries = 0;
  for (const collector of collectors) {
    hash.update(collector.digest());
    entries += collector.entries();
  }
  return { entries, sha256: hash.digest('hex') };
}

/** The whole history of some subjects, which also becomes a part of the digest. */
async function lookUp(
  entries: Entries,
  collectors: JournalCollector[],
  source: string,
  names: ReadonlySet<string>,
): Promise<History> {
  const older = createCollector();
  collectors.push(older);
  const refusals = new Map<string, Refusal>();
  const subjects: Subjects = new Map([[source, new Set([...names].sort())]]);
  for await (const entry of entries.about(subjects)) {
    older.add(entry);
    if (entry.type === 'decision' && entry.verdict === 'FAILURE')
      refusals.set(entry.subject, { entry: entry.id, atMs: entry.atMs, code: entry.code });
  }
  return { journal: older.of(source), refusals };
}
