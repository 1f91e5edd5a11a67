import type { Callback, Verdict } from '../callback/callback.ts';
import type { PriceTable } from '../policy/facts.ts';
import type { Proposal } from '../policy/proposal.ts';
import type { ClaimResult } from '../claims/claims.ts';
import type { Amount } from '../values/amount.ts';
import type { ClockState } from './clock-state.ts';

/**
 * Settles decisions and keeps them. There are two implementations, embedded (SQLite) and Redis, which pass
 * one conformance suite.
 *
 * Every verb rejects with a CountersignError STORE_UNREACHABLE if its effect is not certain. The caller then
 * answers FAILURE. Time is the store's own (Redis `TIME`, or the clock given to the embedded store) and never
 * runs backwards: after a step back it stands still until the clock has caught up. A clock that jumped ahead
 * is neither used nor written.
 */
export interface Store
  extends
    Decisions,
    Releases,
    Lists,
    Orders,
    ApprovalRequests,
    Lockouts,
    Counts,
    Prices,
    Journal,
    Services,
    Access {
  readonly name: 'embedded' | 'redis';
  /**
   * Registers the sources, so that the revision in force and the freezes hold for them. Prepares a store that
   * has no data yet. If a source was registered before and its data is lost, the store is frozen.
   */
  register(sources: readonly string[]): Promise<void>;
  health(): Promise<StoreHealth>;
  /**
   * Advances the store's time to its clock, unless the clock has jumped ahead. A service calls it every few
   * seconds.
   */
  clock(): Promise<ClockState>;
  /** Like `clock`, but writes nothing. */
  readClock(): Promise<ClockState>;
  /** Accepts the clock, even after a jump ahead. The journal of each source gets an entry of type `clock`. */
  acceptClock(accept: { readonly by: string }): Promise<ClockState>;
  /**
   * Rejects with STORE_UNSAFE if the store could lose a decision, for example because Redis may evict keys,
   * and with STORE_UNREACHABLE if that is unknown.
   */
  checkSafety(): Promise<void>;
  /**
   * Describes a data loss that this process found and for which it could not yet freeze the store; otherwise
   * undefined. Until the store is frozen, `settle` and `recordNotification` reject with STORE_LOST. The
   * embedded store never loses data behind a running process: it rejects with STORE_MOVED instead.
   */
  pendingLoss(): string | undefined;
  /**
   * Calls `changed` after a push, a freeze, an unfreeze, a change of prices or a call of `requestHeartbeats`,
   * by any process. Change messages can be lost, so poll too.
   */
  watch(changed: () => void): () => void;
  close(): Promise<void>;
}

export interface StoreHealth {
  readonly nowMs: number;
  /** Facts for an operator, such as the server's version. */
  readonly details: Readonly<Record<string, string | number>>;
}

// ---- decisions ----

export interface Decisions {
  settle(request: SettleRequest): Promise<SettleResult>;
  /**
   * What `settle` would return now, in one step that only reads: nothing is reserved, counted or journalled.
   * It makes no promise about a later `settle`. The detail of the request is not needed.
   */
  preview(request: SettleRequest): Promise<SettlePreview>;
  recordNotification(request: NotificationRequest): Promise<NotificationResult>;
  /** What the store keeps about a subject; undefined if nothing was decided about it. */
  subject(source: string, subject: string): Promise<SubjectState | undefined>;
  releaseApproval(release: ApprovalRelease): Promise<ApprovalReleased>;
}

/** The members of a callback that a store needs. */
export type SettledCallback = Pick<Callback, 'kind' | 'source' | 'id' | 'question' | 'terms'>;

export interface SettleRequest {
  readonly callback: SettledCallback;
  readonly proposal: Proposal;
  /**
   * The scheme of the callback's signature. The subject is then bound to it. With the empty text, the subject
   * is not bound.
   */
  readonly scheme: string;
  /**
   * JSON for the journal: the body, who was authenticated and how, and all that the evaluation depended on.
   * See kept-decision.ts.
   */
  readonly detail: string;
}

type RefusalCode =
  'RULE_REFUSED' | 'AWAITING_APPROVAL' | 'NO_POLICY' | 'NOTHING_IN_FORCE' | 'TOO_MANY_CLAIMS';
export type DecisionCode =
  'APPROVED' | RefusalCode | 'FROZEN' | 'TERMS_CHANGED' | 'SCHEME_CHANGED' | 'RELEASED';

/**
 * One atomic step:
 *
 * 1. If a freeze is in effect that excepts nothing, `decided` FROZEN is journalled, and the subject stays as
 *    it is. If the clock has jumped ahead, the result is `jumped`, and nothing is written (see clock-state.ts).
 * 2. If the proposal's `revision` is not in force, its `prices` are neither 0 nor the version in force, or
 *    `onlyApproved` does not say whether a freeze is in effect, the result is `stale`. If the time is outside
 *    the proposal's validity, the result is `expired`. Nothing is written for either.
 * 3. If the subject has other terms, `decided` TERMS_CHANGED is journalled, and the subject stays as it is.
 *    The subject is bound to the scheme of its first signed decision. With another scheme, SCHEME_CHANGED is
 *    journalled in the same way. So is RELEASED, with the entry of the release as `of`, once the approval was
 *    released.
 * 4. All claims are checked, in order, so that each can be reported. A limit is always compared, also if the
 *    subject has reserved in its counter before: what others have reserved and what is asked for now must be within
 *    it. The claims of alternatives are checked only until one alternative holds. The settlement approves if the
 *    proposal approves, every deciding claim holds, and so does an alternative of each deciding choice. Marks,
 *    orders, approval requests and speed-ups are described with their claims. Only an approval makes a mark, or
 *    uses an order or an approval request.
 * 5. If the same question was decided before, that decision may be repeated. An approval is repeated if the
 *    settlement approves now. A refusal is repeated if its revision and the versions of its lists are
 *    still the same. It is decided again if everything that refused (the proposal, deciding
 *    claims, deciding choices) is marked `retryable`: such a refusal may change without a push. A repeat is
 *    journalled as `repeat`, and names the first decision. A repeated approval reserves like a new one.
 *    A refusal that is decided anew counts for the lock-outs of its claims: see RefusalsClaim.
 *    The code of a refusal is AWAITING_APPROVAL if everything that refused lacks only people's approval: an
 *    approval claim unless its request was used, and a choice of which an alternative fails by nothing else.
 *    Such a refusal counts for no lock-out.
 * 6. Otherwise the step writes the decision, the reservations of an approval (also those of claims that only
 *    observe, whether they hold or not) and a journal entry of type `decision`: `decided`.
 *
 * Every approval counts in the windows in which it is given, and a subject counts once in a window: its
 * latest approval moves to now what the subject has reserved in the counters of its claims, and replaces the
 * amounts. The counters that it does not claim stay as they are, such as those of an alternative that is not
 * taken any more, or of a calendar period that has ended.
 *
 * Each speed-up is a question of its own. Its name ends with the number of txids that the subject has then.
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
      /** One for each claim of the request, in order; empty for the codes of steps 1 and 3. */
      readonly claims: readonly ClaimResult[];
    }
  | {
      readonly outcome: 'repeated';
      readonly id: string;
      readonly atMs: number;
      readonly verdict: Verdict;
      readonly code: DecisionCode;
      /** The journal entry of the decision that is repeated. */
      readonly of: string;
      readonly claims: readonly ClaimResult[];
    };

type WithoutEntry<R> = R extends { readonly id: string } ? Omit<R, 'id'> : R;

/** A {@link SettleResult} without the journal entry that it would have. */
export type SettlePreview = WithoutEntry<SettleResult>;

export interface NotificationRequest {
  readonly callback: SettledCallback;
  /** The empty text if the notification has no txid. */
  readonly txid: string;
  readonly detail: string;
}

/**
 * The most txids of one subject. Without this bound, each notification would cost more than the one before.
 */
export const TXIDS_MAX = 100;

/** What each code of a notification says. */
export const NOTIFICATION_REASONS = {
  NOTED: 'signed as approved',
  SIGNED_WITHOUT_APPROVAL: 'signed, but no sign_start with these terms is approved',
  SIGNED_AFTER_RELEASE: 'signed, but its approval was released, so that no limit counts it',
  TXID_UNEXPECTED: 'signed once more under another txid, without an approved speed-up',
  FROZEN: 'signed as approved, but approvals are frozen',
} as const;

export type NotificationCode = keyof typeof NOTIFICATION_REASONS;

/**
 * `sign_success`, in one atomic step. The code is SIGNED_WITHOUT_APPROVAL unless the subject is known with
 * the same terms and a `sign_start` about it is approved. It is SIGNED_AFTER_RELEASE if that approval was
 * released. It is TXID_UNEXPECTED if the txid is new and the
 * subject already has a txid for its `sign_start` and one for each approved speed-up, or has TXIDS_MAX
 * txids. Otherwise the code is NOTED with SUCCESS, or FROZEN with FAILURE while a freeze excepts nothing. In
 * every case a new txid of a known subject with the same terms is recorded, up to TXIDS_MAX. The journal gets
 * an entry of type `notice`.
 */
export interface NotificationResult {
  readonly id: string;
  readonly atMs: number;
  readonly verdict: Verdict;
  readonly code: NotificationCode;
}

// ---- released approvals ----

/** A subject, as far as a release needs it. */
export interface SubjectState {
  readonly nowMs: number;
  /** Another text after each entry about the subject. */
  readonly version: string;
  /** The journal entries of the approvals that stand. */
  readonly approvals: readonly string[];
  /** Whether a txid of it was recorded. */
  readonly hasTxid: boolean;
  /** What it has reserved, also what no longer counts: at most one reservation for each counter. */
  readonly reserved: readonly Reservation[];
  readonly released: Released | undefined;
}

/** Who released an approval, and why. */
export interface Released {
  /** The journal entry. */
  readonly id: string;
  readonly atMs: number;
  readonly by: string;
  readonly message: string;
}

/** What a subject has reserved in a counter, at its latest approval that claimed something there. */
export interface Reservation {
  /** The counter's. */
  readonly key: string;
  /** From this instant it no longer counts. */
  readonly untilMs: number;
  /** Undefined for a counter of values, which other approvals may count as well. */
  readonly amount: Amount | undefined;
}

export interface ApprovalRelease {
  readonly source: string;
  readonly subject: string;
  /** That of the {@link SubjectState} from which the caller knows that the subject may be released. */
  readonly version: string;
  /** The journal entry of the approval. */
  readonly of: string;
  readonly by: string;
  readonly message: string;
  /** The counters of amounts in which the subject's reservation is given back. */
  readonly keys: readonly string[];
  /** JSON for the journal: see ReleaseDetail in approval-release.ts. */
  readonly detail: string;
}

/**
 * One atomic step, also while the store is frozen:
 *
 * - `unknown`: nothing was decided about the subject. `before`: it was released before. `changed`: the subject
 *   has another version, or one of the reservations no longer counts. `short`: these counters hold less than the
 *   amount in the bucket. Nothing is written for any of them.
 * - `released`: the amounts are taken out of their counters, the subject forgets all its reservations, and
 *   `settle` refuses it from now on. The journal gets an entry of type `release`.
 *
 * Marks, orders and approval requests stay as they are.
 */
export type ApprovalReleased =
  | { readonly outcome: 'released' | 'before'; readonly released: Released }
  | { readonly outcome: 'unknown' | 'changed' }
  | { readonly outcome: 'short'; readonly keys: readonly string[] };

// ---- what is in force ----

/** The state that all sources share. It changes as a whole, and each change increments its sequence. */
export interface Control {
  readonly sequence: number;
  /** The revision in force; the empty text if there is no such revision. */
  readonly revision: string;
  /** The freezes in effect, oldest first. While there are some, `kind` says what may still be approved. */
  readonly frozen: readonly Freeze[];
  /** The last twenty freezes that were lifted, oldest first, so that followers can report who lifted them. */
  readonly lifted: readonly LiftedFreeze[];
  /** The version of the price table; 0 before the first change of prices. */
  readonly prices: number;
}

export interface Freeze {
  /** `f7`: unique in the store, and never reused. */
  readonly id: string;
  /**
   * `operator`: nothing is approved. `except-approved`, also of an operator: only what people approve.
   * `loss`: nothing is approved, because data was lost. The strictest freeze in effect counts.
   */
  readonly kind: 'operator' | 'except-approved' | 'loss';
  readonly reason: string;
  readonly by: string;
  readonly atMs: number;
}

export interface LiftedFreeze {
  readonly id: string;
  readonly by: string;
  readonly atMs: number;
}

export interface Unfreeze {
  readonly by: string;
  /** For the journals. */
  readonly reason?: string;
  /** The freezes to lift. Ids that are not in effect are ignored. */
  readonly ids: readonly string[];
  /** Needed to lift freezes for lost data. Without it they stay in effect, even if `ids` names them. */
  readonly acknowledgeLoss?: boolean;
}

export interface Push {
  readonly revision: string;
  /** The release in its canonical JSON, whose SHA-256 is the revision. */
  readonly document: string;
  /**
   * Further documents, by the names under which `document` returns them: the files that it was compiled from,
   * with comments and tests ({@link filesOf}), and who signed it (see src/release/signed.ts). They replace
   * those of the same names.
   */
  readonly beside?: Readonly<Record<string, string>>;
  /** The serial of the statement that was signed; absent without signatures. */
  readonly serial?: number;
  /** The revision that the push was compared with. The push fails if another one is in force by then. */
  readonly expected: string;
  readonly by: string;
  readonly message: string;
}

/**
 * The name under which `document` returns the files of a revision; those of its latest push that had some.
 */
export const filesOf = (revision: string): string => `${revision}:files`;

export interface HistoryEntry {
  readonly sequence: number;
  readonly revision: string;
  readonly by: string;
  readonly message: string;
  readonly atMs: number;
  /** The serial of the statement that was signed; 0 without signatures. */
  readonly serial: number;
}

/**
 * Freezes hold for all sources. Each freeze and each unfreeze is an entry of type `freeze` in the journal of
 * every source that is registered then (see FreezeDetail in freezes.ts). So each source's journal explains by
 * itself, even in an archive, why its callbacks were refused as FROZEN, and who lifted the freezes. The
 * author of the store's own freezes is `countersign`.
 */
export interface Releases {
  control(): Promise<Control>;
  /** Once it resolves, no source settles under another revision any more. */
  push(push: Push): Promise<{ readonly outcome: 'in-force' | 'conflict'; readonly control: Control }>;
  /** The document of a revision that was ever pushed, or one beside it: see {@link Push}. */
  document(revision: string): Promise<string | undefined>;
  /** Newest first. */
  history(limit: number): Promise<readonly HistoryEntry[]>;
  /**
   * Once it resolves, no source approves any more, except what its kind excepts. Several freezes can be in
   * effect, and each is lifted by its id. From a hundred on, a further one joins the newest freeze of its own
   * kind, if there is one, and gets its id. Throws USAGE for a reason of more than 1000 characters, or an
   * author of more than 200.
   */
  freeze(freeze: {
    readonly reason: string;
    readonly by: string;
    /** By default `operator`. */
    readonly kind?: 'operator' | 'except-approved' | undefined;
  }): Promise<{ readonly freeze: Freeze; readonly control: Control }>;
  /**
   * Lifts the freezes in `ids`. With `acknowledgeLoss` this includes those for lost data; repeats and limits
   * then continue from the data that the store still has. Throws STORE_LOST if more data is found lost
   * meanwhile. Everything then stays frozen. Throws USAGE for a reason of more than 1000 characters.
   */
  unfreeze(unfreeze: Unfreeze): Promise<{ readonly lifted: readonly Freeze[]; readonly control: Control }>;
}

// ---- lists ----

export interface ListChange {
  readonly source: string;
  readonly list: string;
  /** Comparable texts. A change without any value creates the list if it does not exist. */
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
 * Lists belong to a source. A change is one atomic step with one journal entry of type `list`. A change that
 * only removes, from a list that does not exist, throws NOT_FOUND.
 */
export interface Lists {
  changeList(
    change: ListChange,
  ): Promise<{ readonly added: number; readonly removed: number; readonly summary: ListSummary }>;
  lists(source: string): Promise<readonly ListSummary[]>;
  /** In any order, with bounded memory. Throws NOT_FOUND if there is no such list. */
  listEntries(source: string, list: string): AsyncIterable<ListEntry>;
}

// ---- orders ----

/**
 * A merchant's announcement of a callback. `expected-order` passes only callbacks that agree with it in every
 * member.
 */
export interface OrderAnnouncement {
  readonly source: string;
  /** The subject of the expected callback: `payment:11321`; see subjectOf. */
  readonly subject: string;
  /** At least one member, as comparable texts under the names that an order claim uses. */
  readonly members: Readonly<Record<string, string>>;
  readonly expiresAtMs: number;
  readonly by: string;
}

export interface Order extends OrderAnnouncement {
  /**
   * `used`: by an approval. `cancelled` orders are kept to explain refusals. `expired` is derived from the
   * time.
   */
  readonly state: 'expected' | 'used' | 'cancelled' | 'expired';
  readonly announcedAtMs: number;
  /** When it was used or cancelled; 0 before. */
  readonly endedAtMs: number;
}

/**
 * Orders belong to a source and are kept as long as subjects, counted from their expiry. Each change is one
 * atomic step with one journal entry of type `order`, whose detail is JSON: change (expect or cancel),
 * members, expiresAtMs, by.
 *
 * The check of an order claim finds the first of these states that is true:
 * - `missing`: there is no order.
 * - `cancelled`: it was cancelled.
 * - `used`: it was used by an approval that this subject does not remember.
 * - `expired`: it is not used, and the time is at or past `expiresAtMs`.
 * - `differs`: the claim lacks one of the announced members, or has another text for it.
 * - `agrees`: only then the claim holds.
 *
 * An approval uses up an order that agrees and, if the claim only observes, one that differs. Other orders
 * stay as they are.
 */
export interface Orders {
  /**
   * `expected`: the order is announced, possibly in place of one that was cancelled or that expired unused.
   * `unchanged`: the same announcement is already there. `conflict`: another one is there, or it is used.
   * Only `expected` writes. Throws USAGE without a member, and for an expiry that is not a whole number of
   * milliseconds since 1970.
   */
  expectOrder(
    announcement: OrderAnnouncement,
  ): Promise<{ readonly outcome: 'expected' | 'unchanged' | 'conflict'; readonly order: Order }>;
  order(source: string, subject: string): Promise<Order | undefined>;
  /**
   * `ended`: the order was used, cancelled or expired before, so nothing is written. Throws NOT_FOUND for an
   * unknown order.
   */
  cancelOrder(cancel: {
    readonly source: string;
    readonly subject: string;
    readonly by: string;
  }): Promise<{ readonly outcome: 'cancelled' | 'ended'; readonly order: Order }>;
}

// ---- approval requests ----

/** The most requests of a scope that are open at once. */
export const APPROVAL_REQUESTS_MAX = 1000;

/** What waits for people, or was decided by them. */
export interface ApprovalRequestRecord {
  /** 1 when it was written first. Each change increments it. Its use by an approval is no change. */
  readonly version: number;
  /** JSON, which the store does not read. */
  readonly value: string;
  /** Whether it waits for people. One that was used never does. */
  readonly isOpen: boolean;
  /** The journal entry of the approval that used it; the empty text if none did. */
  readonly usedBy: string;
}

export interface ApprovalRequestChange {
  /** A source, or the empty text for what holds for all sources. */
  readonly scope: string;
  /** Of a request about a callback, the callback's subject: `transfer:REQ-1`; see subjectOf. */
  readonly id: string;
  /** The version that the caller has read; 0: there is no request with this id. */
  readonly expected: number;
  readonly value: string;
  readonly isOpen: boolean;
  /** How long the request is kept from now on: 1 ms to ten years. */
  readonly keepMs: number;
}

/**
 * Requests belong to a scope. Past the time that its latest change gave it, a request no longer exists, and its
 * id can be written again, from version 1. So a proposal must not be valid for longer than the request that it
 * claims is kept. A request that was used is kept as long as a subject, counted from that time, or from the
 * latest approval that claimed it if that is later.
 *
 * The check of an approval claim finds the first of these states that is true:
 * - `missing`: there is no request.
 * - `used`: it was used by an approval that this subject does not remember.
 * - `changed`: it has another version than the claim.
 * - `current`: only then the claim holds.
 *
 * An approval uses a request that is current. Other requests stay as they are.
 */
export interface ApprovalRequests {
  /** The open requests, or the `newest` of them, in the order in which they were opened. */
  openApprovalRequests(
    scope: string,
    newest?: number,
  ): Promise<readonly { readonly id: string; readonly record: ApprovalRequestRecord }[]>;
  approvalRequest(scope: string, id: string): Promise<ApprovalRequestRecord | undefined>;
  /**
   * Writes the request if it is still at the version `expected`. Otherwise `done` is false, and nothing is
   * written. If the scope has APPROVAL_REQUESTS_MAX other open requests, and the change opens one more, the
   * one that was opened first is no longer open: `ended` is its id, and its version is incremented. Throws
   * USAGE for another `keepMs`.
   */
  changeApprovalRequest(
    change: ApprovalRequestChange,
  ): Promise<{ readonly done: boolean; readonly ended?: string }>;
}

// ---- lock-outs ----

/** A key that is locked out: see RefusalsClaim. */
export interface Lockout {
  readonly source: string;
  /** The key of its claims: 32 hexadecimal digits. */
  readonly id: string;
  /** The policy of the rule that locked it out. */
  readonly policy: string;
  /** Who is locked out: `userId 12345`. */
  readonly whose: string;
  /** After how many refusals. */
  readonly refusals: number;
  readonly sinceMs: number;
  /** 0: until it is lifted. */
  readonly untilMs: number;
}

export interface Lockouts {
  /** Those that stand, in any order, with bounded memory. */
  lockouts(source: string): AsyncIterable<Lockout>;
  /**
   * Lifts a lock-out, in one atomic step with one journal entry of type `lockout`, whose detail is JSON:
   * change (`lift`), by, message, lockout. Its refusals no longer count. Throws NOT_FOUND if the key is not
   * locked out.
   */
  liftLockout(lift: {
    readonly source: string;
    readonly id: string;
    readonly by: string;
    readonly message: string;
  }): Promise<Lockout>;
}

// ---- counts ----

/** A part of a window whose amounts stop counting at the same time. */
export interface CountedBucket {
  /** The end of the bucket; of a calendar period, the end of the period. */
  readonly endMs: number;
  /** In units of 10^-36. */
  readonly amount: Amount;
}

export interface Counts {
  /**
   * The buckets of each counter, oldest first, for people: settle reads counters by itself. They include
   * those that no longer count and are not deleted yet. A counter that was never used has none. `keys`: those
   * of window claims.
   */
  buckets(source: string, keys: readonly string[]): Promise<readonly (readonly CountedBucket[])[]>;
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
 * At most `limit` changes, 1 to 1000: with `after`, those after a version, oldest first; with `before`, those
 * before a version, newest first. Versions increase, but not always by one.
 */
export type PriceHistoryQuery = { readonly limit: number } & (
  | { readonly after: number; readonly before?: undefined }
  | { readonly before: number; readonly after?: undefined }
);

/**
 * One table for all sources. Each change is one atomic step with one entry in the history, which is kept like
 * the journal.
 */
export interface Prices {
  prices(): Promise<PriceTable>;
  /** Once it resolves, no source settles with the old prices any more. */
  changePrices(change: PriceChange): Promise<PriceTable>;
  priceHistory(query: PriceHistoryQuery): Promise<readonly PriceHistoryEntry[]>;
}

// ---- the services that run ----

export interface Heartbeat {
  /** Unique to one run of a service. */
  readonly id: string;
  /** For people: where it runs. Empty for a test write of `doctor`, which `services` does not list. */
  readonly name: string;
  /** The sequence of the Control that it follows. */
  readonly sequence: number;
  /** Why it is not ready; the empty text if it is ready. */
  readonly trouble: string;
  /**
   * Writes more than an ordinary decision, to find out whether the store is full. Only the embedded store
   * does so: a full Redis rejects the heartbeat itself.
   */
  readonly probe?: boolean;
}

/** The latest `heartbeat` of a service. */
export interface ServiceStatus extends Omit<Heartbeat, 'probe'> {
  /** The latest number of `requestHeartbeats` that the service had read by then. */
  readonly answered: number;
  readonly atMs: number;
}

/** The running services of this store, and the latest state that each has read. */
export interface Services {
  /**
   * Reports that a service runs. Services call it every few seconds, and after each `requestHeartbeats`. It
   * is a real write: if it fails, approvals would fail too.
   */
  heartbeat(heartbeat: Heartbeat): Promise<void>;
  /** To be called when a service ends. */
  removeService(id: string): Promise<void>;
  /**
   * Asks all services to call `heartbeat`. Resolves with the number of this request, which they then have as
   * `answered`.
   */
  requestHeartbeats(): Promise<number>;
  /** The services that called `heartbeat` within the last day and have not left. */
  services(): Promise<{ readonly nowMs: number; readonly services: readonly ServiceStatus[] }>;
}

// ---- access to the console ----

export interface AccessRecord {
  /** 1 when it was written first. Each change increments it. */
  readonly version: number;
  /** Not empty. */
  readonly value: string;
}

/** Small records of who may enter the console, which all replicas share: see src/console/sign-in. */
export interface Access {
  access(id: string): Promise<AccessRecord | undefined>;
  /**
   * Writes the record, or deletes it without `value`, if it is still at the version `expected` (0: there is
   * no record). Resolves with whether it was; otherwise nothing is written. `keepMs`: how long it is kept; 0:
   * for ever.
   */
  changeAccess(change: {
    readonly id: string;
    readonly expected: number;
    readonly value?: string;
    readonly keepMs: number;
  }): Promise<boolean>;
}

// ---- the journal ----

export const JOURNAL_TYPES = [
  /** A callback was decided. */
  'decision',
  /** The decision `of` was repeated. */
  'repeat',
  /** A `sign_success`. */
  'notice',
  /**
   * An authenticated callback that was not decided: it could not be parsed, or came while the clock was
   * wrong. Not a policy refusal: those are `decision` entries with verdict FAILURE.
   */
  'refused',
  'self-check',
  /**
   * The SUCCESS `of` was decided, but not delivered: it came late, too few replicas had it, or the client had
   * gone.
   */
  'late',
  'list',
  /** An order was announced or cancelled. */
  'order',
  /** An operator accepted the store's clock. The detail is JSON: by, fromMs, toMs. */
  'clock',
  /** The store was frozen, or freezes were lifted. */
  'freeze',
  /** An approval was released. The detail is JSON: see approval-release.ts. */
  'release',
  /** A lock-out was lifted: see Lockouts. */
  'lockout',
  /** A person closed an exception of a reconciliation. The detail is JSON: see src/reconcile/close.ts. */
  'reconciliation',
  /** A person approved or rejected a callback. The detail is JSON: see src/act/approvals.ts. */
  'approval',
  /**
   * Old entries were moved to the archive, or it was verified. The detail is JSON: see
   * src/archive/records.ts.
   */
  'archive',
] as const;

export type JournalType = (typeof JOURNAL_TYPES)[number];

export interface JournalEntry {
  /** Unique within the source, ascending; opaque. */
  readonly id: string;
  readonly source: string;
  readonly atMs: number;
  readonly type: JournalType;
  /** The empty text if the entry has no subject; the same for the members below. */
  readonly subject: string;
  readonly verdict: Verdict | '';
  readonly code: string;
  readonly revision: string;
  readonly of: string;
  readonly claims: readonly ClaimResult[];
  /** The text that was given, byte for byte; that of a kept decision with its proposal: see kept-decision.ts. */
  readonly detail: string;
}

export interface JournalRecord {
  readonly source: string;
  readonly type: 'refused' | 'self-check' | 'late' | 'reconciliation' | 'approval' | 'archive';
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
  /** Only entries about this subject. This is fast, because each store has an index by subject. */
  readonly subject?: string;
  readonly newestFirst?: boolean;
  /**
   * Whether entries come with the results of their claims, and decisions with their explanation, which is
   * computed from what was kept. Default true.
   */
  readonly explained?: boolean;
  /** The most entries to return: 1 to 1000. */
  readonly limit: number;
}

export interface Journal {
  /** Writes an entry that decides nothing. Resolves with its id once it is as durable as a decision. */
  record(record: JournalRecord): Promise<string>;
  entry(source: string, id: string): Promise<JournalEntry | undefined>;
  entries(query: JournalQuery): Promise<readonly JournalEntry[]>;
  /** How many entries the source's journal holds. */
  journalSize(source: string): Promise<number>;
  /**
   * Deletes some of the source's oldest entries, up to and including `upTo`, in one bounded step. Resolves
   * with the number of deleted entries; 0 if no entry is left. `upTo` is deleted last. So if it is not found,
   * everything up to it is deleted, and the result is 0. The newest entry of a journal is never deleted, so
   * that the journal doesn't look lost. Subjects, counters and all other data stay.
   */
  dropEntries(drop: { readonly source: string; readonly upTo: string }): Promise<number>;
}
