import type { QuestionType, Verdict } from '../callback/callback.ts';
import type { Claim } from '../policy/proposal.ts';
import type { Amount } from '../values/amount.ts';

/**
 * Where decisions are settled and kept. Two adapters, embedded (SQLite) and Redis, pass one conformance suite.
 *
 * Every verb rejects with a CountersignError STORE_UNREACHABLE if its effect is not certain; whoever asked then answers
 * FAILURE. Time is the store's own (Redis `TIME`, or the clock given to the embedded store) and never runs backwards:
 * after a step back it stands still until it has caught up.
 */
export interface Store extends Decisions, Releases, Lists, Journal {
  readonly name: 'embedded' | 'redis';
  /** Makes the sources known: what is in force, and whether all is frozen, holds for them from here on. */
  register(sources: readonly string[]): Promise<void>;
  health(): Promise<StoreHealth>;
  /** Calls back after a push, a freeze or an unfreeze, by this process or another. A notice can be lost: poll as well. */
  watch(changed: () => void): () => void;
  close(): Promise<void>;
}

export interface StoreHealth {
  readonly nowMs: number;
  /** What an operator would want to know, such as the server's version. */
  readonly details: Readonly<Record<string, string | number>>;
}

// ---- decisions ----

export interface Decisions {
  settle(request: SettleRequest): Promise<SettleResult>;
  notice(request: NoticeRequest): Promise<NoticeResult>;
}

export interface SettleRequest {
  readonly source: string;
  /** `payment:11321`; see subjectOf. */
  readonly subject: string;
  /** SHA-256, in hexadecimal, of the canonical terms. */
  readonly terms: string;
  readonly question: QuestionType;
  readonly speedUp: boolean;
  /** The revision that the proposal was evaluated under. */
  readonly revision: string;
  readonly validFromMs: number;
  readonly validUntilMs: number;
  readonly approves: boolean;
  /** The code of the decision if the proposal itself refuses: RULE_REFUSED, NO_POLICY or NOTHING_IN_FORCE. */
  readonly refusalCode: RefusalCode;
  readonly final: boolean;
  readonly claims: readonly Claim[];
  /** JSON for the journal: the body, its members, every rule's result, times, who was authenticated and how. */
  readonly detail: string;
}

export type RefusalCode = 'RULE_REFUSED' | 'NO_POLICY' | 'NOTHING_IN_FORCE';
export type DecisionCode = 'APPROVED' | RefusalCode | 'FROZEN' | 'TERMS_CHANGED';

/** How a claim fared: whether it holds, and what the store held (see each claim). */
export type ClaimResult =
  | { readonly holds: boolean; readonly reserved: boolean; readonly used: Amount }
  | { readonly holds: boolean; readonly missing: boolean; readonly present: readonly string[] };

/**
 * One atomic step:
 *
 * 1. Frozen: `decided` FROZEN is journalled; the subject is not touched.
 * 2. `revision` is not the one in force: `stale`, nothing is written. Now is outside the proposal's validity: `elsewhen`,
 *    nothing is written.
 * 3. The subject is known with other terms: `decided` TERMS_CHANGED is journalled; the subject is not touched.
 * 4. The claims are checked, all of them, in order, so that each can be reported. A window claim whose key the subject has
 *    reserved before holds and is not reserved again, for as long as that reservation counts in its window; after that it is
 *    a claim like any other, or what was prepared hours apart could pass the limit in one instant. The proposal approves if
 *    it says so and every deciding claim holds.
 * 5. The same question was decided before. A refusal that is final, or whose revision and list versions are still
 *    the same, is repeated; so is an approval if the proposal approves now. `repeated`; the journal gets an entry of type
 *    `repeat` that names the first; window claims that were never reserved (a policy came in between) are reserved.
 * 6. Else the subject, its question's decision, the reservations (only on approval; also those of claims that only
 *    observe, if they hold or not) and the journal entry of type `decision` are written: `decided`.
 *
 * A speed-up's question is told from the next speed-up's by the number of txids that the subject has by then.
 */
export type SettleResult =
  | { readonly outcome: 'stale'; readonly inForce: string; readonly nowMs: number }
  | { readonly outcome: 'elsewhen'; readonly nowMs: number }
  | {
      readonly outcome: 'decided';
      readonly id: string;
      readonly atMs: number;
      readonly verdict: Verdict;
      readonly code: DecisionCode;
      /** One for each claim of the request, in order; empty for FROZEN and TERMS_CHANGED. */
      readonly claims: readonly ClaimResult[];
    }
  | {
      readonly outcome: 'repeated';
      readonly id: string;
      readonly atMs: number;
      readonly verdict: Verdict;
      readonly code: DecisionCode;
      /** The journal entry of the decision that stands. */
      readonly of: string;
      readonly claims: readonly ClaimResult[];
    };

export interface NoticeRequest {
  readonly source: string;
  readonly subject: string;
  readonly terms: string;
  /** The empty text where the notice carries none. */
  readonly txid: string;
  readonly detail: string;
}

/** Txids of one subject; without a bound each notice would cost more than the one before. */
export const TXIDS_MAX = 100;

export type NoticeCode = 'NOTED' | 'SIGNED_WITHOUT_APPROVAL' | 'TXID_UNEXPECTED' | 'FROZEN';

/**
 * `sign_success`, in one atomic step. SIGNED_WITHOUT_APPROVAL unless the subject is known with the same terms and some
 * `sign_start` about it stands approved. TXID_UNEXPECTED if the txid is new and the subject already has as many as
 * one plus its approved speed-ups of `sign_start`, or TXIDS_MAX. Else NOTED: SUCCESS, unless frozen (FROZEN: FAILURE). A new
 * txid of a known subject with the same terms is recorded in every case, as long as there are fewer than TXIDS_MAX.
 * Journalled as an entry of type `notice`.
 */
export interface NoticeResult {
  readonly id: string;
  readonly atMs: number;
  readonly verdict: Verdict;
  readonly code: NoticeCode;
}

// ---- what is in force ----

/** What holds for all sources: moved on as one, so that its sequence tells the newer from the older. */
export interface Control {
  readonly sequence: number;
  /** The revision in force; the empty text where there is none. */
  readonly revision: string;
  readonly frozen: { readonly reason: string; readonly by: string; readonly atMs: number } | undefined;
}

export interface Push {
  readonly revision: string;
  /** The release in its canonical JSON, whose SHA-256 is the revision. */
  readonly document: string;
  /** The revision it was compared against; the push fails if another is in force by now. */
  readonly expected: string;
  readonly by: string;
  readonly message: string;
}

export interface HistoryEntry {
  readonly sequence: number;
  readonly revision: string;
  readonly by: string;
  readonly message: string;
  readonly atMs: number;
}

export interface Releases {
  control(): Promise<Control>;
  /** When it resolves with `in-force`, no source settles under another revision any more. */
  push(push: Push): Promise<{ readonly outcome: 'in-force' | 'conflict'; readonly control: Control }>;
  /** The document of a revision that was ever pushed. */
  document(revision: string): Promise<string | undefined>;
  /** Newest first. */
  history(limit: number): Promise<readonly HistoryEntry[]>;
  /** When it resolves, no source approves any more. */
  freeze(freeze: { readonly reason: string; readonly by: string }): Promise<Control>;
  unfreeze(unfreeze: { readonly by: string }): Promise<Control>;
}

// ---- lists ----

export interface ListChange {
  readonly source: string;
  readonly list: string;
  /** Comparable texts; adding none makes an empty list. */
  readonly add: readonly string[];
  readonly remove: readonly string[];
  readonly by: string;
  readonly message: string;
}

export interface ListSummary {
  readonly list: string;
  readonly entries: number;
  /** Counts the changes. */
  readonly version: number;
  readonly changedAtMs: number;
}

export interface ListEntry {
  readonly value: string;
  readonly addedAtMs: number;
}

/**
 * Lists belong to a source. A change is one atomic step with one journal entry of type `list`. One that only removes, from a
 * list that does not exist, throws NOT_FOUND.
 */
export interface Lists {
  changeList(
    change: ListChange,
  ): Promise<{ readonly added: number; readonly removed: number; readonly summary: ListSummary }>;
  lists(source: string): Promise<readonly ListSummary[]>;
  /** In no promised order, with bounded memory. Throws NOT_FOUND if there is no such list. */
  listEntries(source: string, list: string): AsyncIterable<ListEntry>;
}

// ---- the journal ----

export type JournalType =
  /** A callback was decided. */
  | 'decision'
  /** The decision that `of` names was repeated. */
  | 'repeat'
  /** A `sign_success`. */
  | 'notice'
  /** An authenticated callback that was no question: a self-check, or one that could not be parsed. */
  | 'refused'
  | 'self-check'
  /** The decision that `of` names was made, but FAILURE was answered, for it was late or the client had gone. */
  | 'late'
  | 'list';

export interface JournalEntry {
  /** Unique within the source, ascending; opaque. */
  readonly id: string;
  readonly source: string;
  readonly atMs: number;
  readonly type: JournalType;
  /** The empty text where there is none, here and below. */
  readonly subject: string;
  readonly verdict: Verdict | '';
  readonly code: string;
  readonly revision: string;
  readonly of: string;
  readonly claims: readonly ClaimResult[];
  /** As it was given, byte for byte. */
  readonly detail: string;
}

export interface JournalRecord {
  readonly source: string;
  readonly type: 'refused' | 'self-check' | 'late';
  readonly subject: string;
  readonly verdict: Verdict | '';
  readonly code: string;
  readonly of: string;
  readonly detail: string;
}

export interface JournalQuery {
  readonly source: string;
  /** Entries after this id; the empty text begins at the first. With `newestFirst`, entries before it. */
  readonly after?: string;
  readonly fromMs?: number;
  readonly untilMs?: number;
  /** Only entries about this subject. Fast: the subject knows its entries. */
  readonly subject?: string;
  readonly newestFirst?: boolean;
  /** At most this many entries come back; 1 to 1000. */
  readonly limit: number;
}

export interface Journal {
  /** Writes an entry that decides nothing; resolves with its id once it is as durable as a decision. */
  record(record: JournalRecord): Promise<string>;
  entry(source: string, id: string): Promise<JournalEntry | undefined>;
  entries(query: JournalQuery): Promise<readonly JournalEntry[]>;
  /** How many entries the source's journal holds. */
  journalSize(source: string): Promise<number>;
}
