import type { QuestionType, Verdict } from '../callback/callback.ts';
import type { PriceTable } from '../policy/facts.ts';
import type { Claim, ClaimResult } from '../claims/claims.ts';
import type { Amount } from '../values/amount.ts';
import type { ClockState } from './clock-state.ts';

/**
 * Where decisions are settled and kept. Two adapters, embedded (SQLite) and Redis, pass one conformance
 * suite.
 *
 * Every verb rejects with a CountersignError STORE_UNREACHABLE if its effect is not certain; whoever asked
 * then answers FAILURE. Time is the store's own (Redis `TIME`, or the clock given to the embedded store) and
 * never runs backwards: after a step back it stands still until it has caught up. A clock that jumped ahead
 * is neither believed nor written.
 */
export interface Store extends Decisions, Releases, Lists, Orders, Prices, Journal, Services {
  readonly name: 'embedded' | 'redis';
  /**
   * Makes the sources known: what is in force, and whether all is frozen, holds for them from here on. On a
   * store that was never begun it begins it; a source that was known and has lost its data freezes the store.
   */
  register(sources: readonly string[]): Promise<void>;
  health(): Promise<StoreHealth>;
  /**
   * Moves the store's time on with its clock, unless that has jumped ahead. Whoever runs for long calls it
   * every few seconds.
   */
  clock(): Promise<ClockState>;
  /** The same, and nothing is written. */
  lookAtClock(): Promise<ClockState>;
  /**
   * Takes the clock as it stands, also after a jump ahead. Journalled for each source, as an entry of type
   * `clock`.
   */
  acceptClock(accept: { readonly by: string }): Promise<ClockState>;
  /**
   * Describes the data that this process found lost, while it could not yet freeze the store; undefined if none.
   * Meanwhile `settle` and `notice` reject with STORE_LOST. The embedded store never loses data behind a running
   * process: it rejects with STORE_MOVED instead.
   */
  loss(): string | undefined;
  /**
   * Calls back after a push, a freeze, an unfreeze, a change of prices or a call of the services, by this
   * process or another. A notice can be lost: poll as well.
   */
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
  notice(request: NotificationRequest): Promise<NotificationResult>;
}

export interface SettleRequest {
  readonly source: string;
  /** `payment:11321`; see subjectOf. */
  readonly subject: string;
  /** SHA-256, in hexadecimal, of the canonical terms. */
  readonly terms: string;
  /**
   * The scheme that it was signed by, which the subject is then bound to; the empty text where it is bound to
   * none.
   */
  readonly scheme: string;
  readonly question: QuestionType;
  readonly speedUp: boolean;
  /** The revision that the proposal was evaluated under. */
  readonly revision: string;
  readonly validFromMs: number;
  readonly validUntilMs: number;
  readonly approves: boolean;
  /**
   * The code of the decision if the proposal itself refuses: RULE_REFUSED, NO_POLICY, NOTHING_IN_FORCE or
   * TOO_MANY_CLAIMS.
   */
  readonly refusalCode: RefusalCode;
  readonly final: boolean;
  /** The proposal refuses, and only for what may change without a push. */
  readonly afresh: boolean;
  /**
   * The version of the price table that the proposal was evaluated with; 0 if it does not depend on prices.
   */
  readonly prices: number;
  readonly claims: readonly Claim[];
  /**
   * JSON for the journal: the body, its members, every rule's result, times, who was authenticated and how.
   */
  readonly detail: string;
}

export type RefusalCode = 'RULE_REFUSED' | 'NO_POLICY' | 'NOTHING_IN_FORCE' | 'TOO_MANY_CLAIMS';
export type DecisionCode = 'APPROVED' | RefusalCode | 'FROZEN' | 'TERMS_CHANGED' | 'SCHEME_CHANGED';

/**
 * One atomic step:
 *
 * 1. Frozen: `decided` FROZEN is journalled; the subject is not touched.
 *    The clock has jumped ahead: `jumped`, nothing is written (see clock-state.ts).
 * 2. `revision` is not the one in force, or `prices` is neither 0 nor the version in force: `stale`, nothing
 *    is written. Now is outside the proposal's validity: `expired`,
 *    nothing is written.
 * 3. The subject is known with other terms: `decided` TERMS_CHANGED is journalled; the subject is not
 *    touched. The same with
 *    SCHEME_CHANGED if its decisions and the request are of two schemes: the subject keeps that of its first decision that has one.
 * 4. The claims are checked, all of them, in order, so that each can be reported. A window claim whose key
 *    the subject has
 *    reserved before holds and is not reserved again, for as long as that reservation counts in its window; after that it is
 *    a claim like any other, or what was prepared hours apart could pass the limit in one instant. The proposal approves if
 *    it says so and every deciding claim holds.
 *    Marks, orders and speed-ups are described with their claims; a mark and an order are made and used up only on approval.
 * 5. The same question was decided before. A refusal that is final, or whose revision and list versions are
 *    still
 *    the same, is repeated, unless all that refused (the proposal, with `afresh`, or deciding claims with `afresh`) may
 *    change without a push: then it is decided afresh. Repeated so is an approval if the proposal approves now. `repeated`; the journal gets an entry of type
 *    `repeat` that names the first; window claims that were never reserved (a policy came in between) are reserved.
 * 6. Else the subject, its question's decision, the reservations (only on approval; also those of claims that
 *    only
 *    observe, if they hold or not) and the journal entry of type `decision` are written: `decided`.
 *
 * A speed-up's question is told from the next speed-up's by the number of txids that the subject has by then.
 */
export type SettleResult =
  | { readonly outcome: 'stale'; readonly inForce: string; readonly nowMs: number }
  | { readonly outcome: 'expired'; readonly nowMs: number }
  | { readonly outcome: 'jumped'; readonly aheadMs: number; readonly nowMs: number }
  | {
      readonly outcome: 'decided';
      readonly id: string;
      readonly atMs: number;
      readonly verdict: Verdict;
      readonly code: DecisionCode;
      /** One for each claim of the request, in order; empty for FROZEN, TERMS_CHANGED and SCHEME_CHANGED. */
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

export interface NotificationRequest {
  readonly source: string;
  readonly subject: string;
  readonly terms: string;
  /** The empty text where the notice carries none. */
  readonly txid: string;
  readonly detail: string;
}

/** Txids of one subject; without a bound each notice would cost more than the one before. */
export const TXIDS_MAX = 100;

export type NotificationCode = 'NOTED' | 'SIGNED_WITHOUT_APPROVAL' | 'TXID_UNEXPECTED' | 'FROZEN';

/**
 * `sign_success`, in one atomic step. SIGNED_WITHOUT_APPROVAL unless the subject is known with the same terms
 * and some `sign_start` about it stands approved. TXID_UNEXPECTED if the txid is new and the subject already
 * has as many as one plus its approved speed-ups of `sign_start`, or TXIDS_MAX. Else NOTED: SUCCESS, unless
 * frozen (FROZEN: FAILURE). A new txid of a known subject with the same terms is recorded in every case, as
 * long as there are fewer than TXIDS_MAX. Journalled as an entry of type `notice`.
 */
export interface NotificationResult {
  readonly id: string;
  readonly atMs: number;
  readonly verdict: Verdict;
  readonly code: NotificationCode;
}

// ---- what is in force ----

/** What holds for all sources: moved on as one, so that its sequence tells the newer from the older. */
export interface Control {
  readonly sequence: number;
  /** The revision in force; the empty text where there is none. */
  readonly revision: string;
  /** The freezes that stand, oldest first. Nothing is approved unless there are none. */
  readonly frozen: readonly Freeze[];
  /** The freezes that were lifted last, oldest first: some twenty, for those who follow to say by whom. */
  readonly lifted: readonly Lifted[];
  /** The version of the price table; 0 while there is none. */
  readonly prices: number;
}

export interface Freeze {
  /** `f7`: unique in the store, and not given again. */
  readonly id: string;
  /**
   * Who froze: an operator, or the services, because data was lost; `unknown` is a later version's, which
   * alone lifts it.
   */
  readonly kind: 'operator' | 'loss' | 'unknown';
  readonly reason: string;
  readonly by: string;
  readonly atMs: number;
}

export interface Lifted {
  readonly id: string;
  readonly by: string;
  readonly atMs: number;
}

export interface Unfreeze {
  readonly by: string;
  /** Those to lift. One that does not stand is passed over. */
  readonly ids: readonly string[];
  /** Without it no freeze for lost data is lifted, named or not. */
  readonly acknowledgeLoss?: boolean;
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

/**
 * Freezes hold for all sources, and each source's journal tells of them: a freeze, and each end of some, is
 * an entry of type `freeze` in the journal of every source that is known then (see FreezeDetail in
 * freezes.ts). So a source's journal alone, also once it is archived, says why its callbacks were refused as
 * FROZEN, and who went on. Of what the store freezes by itself the author is `countersign`.
 */
export interface Releases {
  control(): Promise<Control>;
  /** When it resolves with `in-force`, no source settles under another revision any more. */
  push(push: Push): Promise<{ readonly outcome: 'in-force' | 'conflict'; readonly control: Control }>;
  /** The document of a revision that was ever pushed. */
  document(revision: string): Promise<string | undefined>;
  /** Newest first. */
  history(limit: number): Promise<readonly HistoryEntry[]>;
  /**
   * When it resolves, no source approves any more. Freezes stack, and each is lifted by its id. A hundred
   * stand at once; none is refused for their number: a further one joins the newest that an operator ordered,
   * and gets its id. Throws USAGE for a reason of more than 1000 characters, or an author of more than 200.
   */
  freeze(freeze: {
    readonly reason: string;
    readonly by: string;
  }): Promise<{ readonly freeze: Freeze; readonly control: Control }>;
  /**
   * Lifts the freezes that it names; the others stand. With `acknowledgeLoss` also those for lost data: what
   * is remembered and used of limits then begins from what the store still has. Throws STORE_LOST if more is
   * found lost meanwhile: all then stays frozen.
   */
  unfreeze(unfreeze: Unfreeze): Promise<{ readonly lifted: readonly Freeze[]; readonly control: Control }>;
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
 * Lists belong to a source. A change is one atomic step with one journal entry of type `list`. One that only
 * removes, from a list that does not exist, throws NOT_FOUND.
 */
export interface Lists {
  changeList(
    change: ListChange,
  ): Promise<{ readonly added: number; readonly removed: number; readonly summary: ListSummary }>;
  lists(source: string): Promise<readonly ListSummary[]>;
  /** In no promised order, with bounded memory. Throws NOT_FOUND if there is no such list. */
  listEntries(source: string, list: string): AsyncIterable<ListEntry>;
}

// ---- orders ----

/**
 * What the merchant's back end says will come: only a callback that agrees in every member may then pass
 * `expected-order`.
 */
export interface OrderAnnouncement {
  readonly source: string;
  /** Of the callback that is to come: `payment:11321`; see subjectOf. */
  readonly subject: string;
  /** The announced members, as comparable texts, by the names that an order claim uses; at least one. */
  readonly members: Readonly<Record<string, string>>;
  readonly expiresAtMs: number;
  readonly by: string;
}

export interface Order extends OrderAnnouncement {
  /**
   * `used` once an approval has used it up; `cancelled` orders are kept, to say so. `expired` is derived from
   * the time.
   */
  readonly state: 'expected' | 'used' | 'cancelled' | 'expired';
  readonly announcedAtMs: number;
  /** When it was used or cancelled; 0 before. */
  readonly endedAtMs: number;
}

/**
 * Orders belong to a source and are kept for as long as subjects, from their expiry on. Each change is one
 * atomic step with one journal entry of type `order`, whose detail is JSON: change (expect or cancel),
 * members, expiresAtMs, by.
 *
 * An order claim finds: no order `missing`; a cancelled one `cancelled`; one in use by another (its use is
 * not among the reservations of this subject) `used`; not used and now is at or past `expiresAtMs`:
 * `expired`; a member whose text is another or missing among the claim's: `differs`; else `agrees`, the only
 * one that holds. An approval uses up what agrees and, where the claim only observes, what differs; any other
 * order stays as it is.
 */
export interface Orders {
  /**
   * `expected`: the order is announced (also in place of a cancelled or expired one that was never used).
   * `unchanged`: the very same announcement stands, nothing is written. `conflict`: another one stands, or it
   * is used; nothing is written. Throws USAGE without a member, and for an expiry that is no whole number of
   * milliseconds since 1970.
   */
  expectOrder(
    announcement: OrderAnnouncement,
  ): Promise<{ readonly outcome: 'expected' | 'unchanged' | 'conflict'; readonly order: Order }>;
  order(source: string, subject: string): Promise<Order | undefined>;
  /**
   * `ended`: it was used, cancelled or expired before; nothing is written. Throws NOT_FOUND if there is none.
   */
  cancelOrder(cancel: {
    readonly source: string;
    readonly subject: string;
    readonly by: string;
  }): Promise<{ readonly outcome: 'cancelled' | 'ended'; readonly order: Order }>;
}

// ---- prices ----

export interface PriceChange {
  /** Each asset at most once; 1 to 1000. Prices above zero, in units of 10^-36. */
  readonly set: readonly { readonly asset: string; readonly price: Amount; readonly asOfMs: number }[];
  readonly remove: readonly string[];
  readonly by: string;
}

export interface PriceHistoryEntry extends PriceChange {
  /** The version that the change made. */
  readonly version: number;
  readonly atMs: number;
}

/**
 * One table for all sources. Each change is one atomic step with one entry in the history, kept as long as
 * the journal.
 */
export interface Prices {
  prices(): Promise<PriceTable>;
  /** When it resolves, no source settles with the prices before any more. */
  changePrices(change: PriceChange): Promise<PriceTable>;
  /** Oldest first, after a version; at most `limit` (1 to 1000). */
  priceHistory(query: {
    readonly after: number;
    readonly limit: number;
  }): Promise<readonly PriceHistoryEntry[]>;
}

// ---- the services that run ----

export interface Attendance {
  /** Of one run of a service. */
  readonly id: string;
  /** For people: where it runs. */
  readonly name: string;
  /** The sequence of what is in force that it follows. */
  readonly sequence: number;
  /** Why it is not ready; the empty text if it is. */
  readonly trouble: string;
  /** Writes as much as the largest decision would, where a store can be full. */
  readonly probe?: boolean;
}

/** A service as it last showed itself. */
export interface ServiceSeen extends Omit<Attendance, 'probe'> {
  /** The last call that it had seen by then. */
  readonly answered: number;
  readonly atMs: number;
}

/** Which services run on this store, and have seen what it holds. */
export interface Services {
  /**
   * To be repeated every few seconds, and after each call. It is a real write: where it fails, nothing can be
   * approved.
   */
  attend(attendance: Attendance): Promise<void>;
  /** The service ends. */
  leave(id: string): Promise<void>;
  /**
   * Asks all services to show themselves; resolves with the call's number, which they then give as
   * `answered`.
   */
  callServices(): Promise<number>;
  /** Those that have shown themselves within a day and have not left. */
  services(): Promise<{ readonly nowMs: number; readonly services: readonly ServiceSeen[] }>;
}

// ---- the journal ----

export const JOURNAL_TYPES = [
  /** A callback was decided. */
  'decision',
  /** The decision that `of` names was repeated. */
  'repeat',
  /** A `sign_success`. */
  'notice',
  /** An authenticated callback that was no question: a self-check, or one that could not be parsed. */
  'refused',
  'self-check',
  /**
   * The decision that `of` names was made, but FAILURE was answered, for it was late or the client had gone.
   */
  'late',
  'list',
  /** An order was announced or cancelled. */
  'order',
  /** The store's clock was accepted as it stood. Its detail is JSON: by, fromMs, toMs. */
  'clock',
  /** All was frozen, or freezes were lifted. */
  'freeze',
] as const;

export type JournalType = (typeof JOURNAL_TYPES)[number];

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
  /**
   * Deletes some of the source's oldest entries, up to and including `upTo`, in one bounded step. Resolves
   * with how many it deleted; 0 says that none is left, and so does an `upTo` that the journal does not have
   * (any more), for `upTo` goes last. The newest entry stays in any case, so that a journal never looks as if
   * it had been lost. Subjects, counters and all else stay.
   */
  dropEntries(drop: { readonly source: string; readonly upTo: string }): Promise<number>;
}
