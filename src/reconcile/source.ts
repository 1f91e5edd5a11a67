import { CountersignError } from '../errors.ts';
import {
  type Answered,
  type Approved,
  type Release,
  type SourceJournal,
  amountText,
  answeredOf,
} from './approvals.ts';
import type { Item, Side } from './classes.ts';
import type { Day } from './day.ts';

/** What earlier runs found about a source. */
export interface EarlierRuns {
  /** Whether the day before was reconciled. */
  readonly knowsDayBefore: boolean;
  /** The subjects that the day before left settling, with where it says so, such as `3/17`. */
  readonly settling: ReadonlyMap<string, string>;
  /** The subjects approved after the end of the day before that its bill, or an earlier one, had already. */
  readonly ahead: ReadonlySet<string>;
  /** Where a run says that a subject was approved, but neither billed nor signed. */
  readonly unsettled: (subject: string) => string | undefined;
  /** The run of the day that has an instant. */
  readonly runAt: (atMs: number) => number | undefined;
}

/** A refusal of a callback, to explain why something was never approved. */
export interface Refusal {
  readonly entry: string;
  readonly atMs: number;
  readonly code: string;
}

/** All that the journal has about some subjects, of any time. */
export interface History {
  readonly journal: SourceJournal;
  readonly refusals: ReadonlyMap<string, Refusal>;
}

export interface SourceParts {
  readonly source: string;
  readonly day: Day;
  /** How long a bill or a signature may take after the approval. */
  readonly settleMs: number;
  /** The journal of the day, and of `settleMs` before and after it. */
  readonly journal: SourceJournal;
  readonly earlier: EarlierRuns;
  readonly lookUp: (subjects: ReadonlySet<string>) => Promise<History>;
}

export interface SourceResult {
  /** Everything that is not matched, in the order of the journal and then of the bill. */
  readonly others: () => Iterable<Item>;
  /** In the order of the journal. */
  readonly matched: () => Iterable<Item>;
  /** The subjects approved after the end of the day that are billed already. */
  readonly ahead: readonly string[];
}

/**
 * The journal, with the whole history of each subject that begins before the period that was read. Throws
 * STORE_CORRUPT if the journal no longer has an approval that the day before left settling.
 */
export async function completeJournal(
  { source, journal, earlier, lookUp }: SourceParts,
  isIncomplete: (approved: Approved) => boolean,
): Promise<History> {
  const older = new Set<string>();
  for (const [name, approved] of journal.subjects) if (isIncomplete(approved)) older.add(name);
  const carried = [...earlier.settling.keys(), ...journal.released.keys()];
  for (const name of carried) if (!journal.subjects.has(name)) older.add(name);
  const history = older.size === 0 ? undefined : await lookUp(older);
  for (const name of older) {
    const found = history?.journal.subjects.get(name);
    if (found !== undefined) journal.subjects.set(name, found);
  }
  for (const [name, item] of earlier.settling) {
    if ((journal.subjects.get(name)?.successes.length ?? 0) > 0) continue;
    throw new CountersignError(
      'STORE_CORRUPT',
      `the journal of ${source} has no approval of ${name}, which item ${item} left settling. Give the ` +
        'entries that were archived with --decisions, or restore the journal',
      { source, subject: name },
    );
  }
  const late = new Set([...journal.late, ...(history?.journal.late ?? [])]);
  const released = new Map([...journal.released, ...(history?.journal.released ?? [])]);
  return {
    journal: { subjects: journal.subjects, late, released },
    refusals: history?.refusals ?? new Map(),
  };
}

/** The release of an approval, if it was made by the end of this day. A later one is judged on its own day. */
export function releaseOf(
  subject: string,
  { released }: Pick<SourceJournal, 'released'>,
  { day }: Pick<SourceParts, 'day'>,
): Release | undefined {
  const release = released.get(subject);
  return release !== undefined && release.atMs < day.untilMs ? release : undefined;
}

/**
 * What a release of this day says about an approval that is not settled on it. Undefined if there is none.
 * `again`: an earlier run found the approval billed or signed.
 */
export function judgeRelease(
  subject: string,
  answered: Answered,
  journal: SourceJournal,
  parts: Pick<SourceParts, 'source' | 'day' | 'settleMs' | 'earlier'>,
): { readonly what: 'released' | 'settled'; readonly note: string } | undefined {
  const release = releaseOf(subject, journal, parts);
  if (release === undefined) return undefined;
  const isNew = release.atMs >= parts.day.fromMs;
  if (!isNew && !isOfDay(subject, answered, parts)) return undefined;
  const note = releaseNote(release, parts);
  if (!answered.delivered) return { what: 'released', note };
  const earlier = judgeEarlier(subject, answered, parts);
  const what = earlier?.what === 'again' ? 'settled' : 'released';
  return { what, note: earlier === undefined ? note : `${note}; ${earlier.note}` };
}

export const releaseNote = ({ atMs, entry }: Release, { source }: Pick<SourceParts, 'source'>): string =>
  `released ${new Date(atMs).toISOString()}, entry ${source}/${entry}`;

/** Why something that settled now was approved before this day. */
export type EarlierApproval =
  | { readonly what: 'expected'; readonly note: string }
  | { readonly what: 'late'; readonly note: string }
  | { readonly what: 'again'; readonly note: string };

/**
 * Judges an approval that is billed or signed on this day. Undefined if it is of the day, and not settled
 * before.
 */
export function judgeEarlier(
  subject: string,
  { atMs }: Answered,
  { day, settleMs, earlier }: Pick<SourceParts, 'day' | 'settleMs' | 'earlier'>,
): EarlierApproval | undefined {
  const carried = earlier.settling.get(subject);
  if (carried !== undefined) return { what: 'expected', note: `carried from item ${carried}` };
  if (earlier.ahead.has(subject)) return { what: 'again', note: "in the day before's bill already" };
  if (atMs >= day.fromMs) return undefined;
  const unsettled = earlier.unsettled(subject);
  if (unsettled !== undefined) return { what: 'late', note: `explains item ${unsettled}` };
  const run = earlier.runAt(atMs);
  if (run !== undefined) return { what: 'again', note: `run ${run} found it settled` };
  return atMs >= day.fromMs - settleMs
    ? { what: 'expected', note: 'approved at the end of the day before' }
    : { what: 'late', note: 'the day of its approval was not reconciled here' };
}

/** Whether an approval should be billed or signed by the end of this day. */
export function isOfDay(
  subject: string,
  { atMs }: Answered,
  { day, earlier }: Pick<SourceParts, 'day' | 'earlier'>,
): boolean {
  return (atMs >= day.fromMs && atMs < day.untilMs) || earlier.settling.has(subject);
}

/**
 * The approval to judge by: the one before the end of the day, so that a repeat on the next day changes
 * nothing, or else the first one within `settleMs` after the day. Otherwise undefined: a later approval is about
 * a later debit.
 */
export function approvalOf(
  approved: Approved,
  journal: SourceJournal,
  { day: { untilMs }, settleMs }: Pick<SourceParts, 'day' | 'settleMs'>,
): Answered | undefined {
  const before = answeredOf(approved, journal, untilMs);
  return before?.delivered === true ? before : answeredOf(approved, journal, untilMs + settleMs);
}

export function approvedSide(source: string, approved: Approved, answered: Answered): Side {
  const { coin, amount, user } = approved;
  const time = new Date(answered.atMs).toISOString();
  const { entry, approvers } = answered;
  const people = approvers.length === 0 ? {} : { approvers };
  return { coin, amount, user, time, place: `${source}/${entry}`, ...people };
}

export const sideText = ({ coin, amount }: Pick<Side, 'coin' | 'amount'>): string =>
  `${amountText(amount)} ${coin}`;
