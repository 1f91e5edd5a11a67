import type { Amount } from '../values/amount.ts';

/**
 * What must hold in the store for an approval to stand, and what is then reserved there. Checked only inside
 * settle.
 */
export type Claim = ListClaim | AgedClaim | WindowClaim | MarkClaim | OrderClaim | SpeedUpClaim;

/**
 * How much one decision may ask of the store. Settle is one step, and the store does nothing else meanwhile:
 * at these bounds that takes Redis some 30 ms (docs/sizing.md).
 */
export const BOUNDS = { claims: 1000, values: 4000 } as const;

interface ClaimBase {
  /** Which of the proposal's results this claim belongs to: an index into `results`. */
  readonly result: number;
  /**
   * False for a rule in `mode: observe`: the claim is checked, reserved and reported, and refuses nothing.
   */
  readonly decides: boolean;
  /** True if the policy says `refusals: final`: a refusal by this claim is never decided afresh. */
  readonly final: boolean;
  /** True if a refusal by this claim alone does not stand: what it depends on changes without a push. */
  readonly afresh: boolean;
}

/**
 * That a list of the source holds all of the values, or none of them. A list that does not exist fails either
 * way.
 */
export interface ListClaim extends ClaimBase {
  readonly type: 'list';
  readonly list: string;
  /** Comparable texts, at least one. */
  readonly values: readonly string[];
  readonly must: 'hold-all' | 'hold-none';
}

/**
 * That a list of the source holds all of the values, each added at least `ageMs` ago. A list that does not
 * exist fails.
 */
export interface AgedClaim extends ClaimBase {
  readonly type: 'aged';
  readonly list: string;
  /** Comparable texts, at least one. */
  readonly values: readonly string[];
  readonly ageMs: number;
}

/**
 * That something was approved before: the mark `key` was made at least `ageMs` ago, or `exempt` is true.
 * Approving makes the mark, if it is not there, with the time; a mark lives as long as a subject, counted
 * from the last approval that claimed it.
 */
export interface MarkClaim extends ClaimBase {
  readonly type: 'mark';
  /** 32 hexadecimal digits, like a counter's. */
  readonly key: string;
  readonly ageMs: number;
  /**
   * The claim holds without the mark (the amount is within the limit for a first use), and makes it all the
   * same.
   */
  readonly exempt: boolean;
}

/**
 * That an order was announced for this subject, and agrees: every member that the announcement names has the
 * same text in `members`. Approving uses the order up: from then on it holds for this subject alone, also
 * after it has expired or the subject was forgotten and came again (then it fails: see Orders in
 * src/store/store.ts).
 */
export interface OrderClaim extends ClaimBase {
  readonly type: 'order';
  /** What the callback has, as comparable texts, by the names that announcements use; `scheme` among them. */
  readonly members: Readonly<Record<string, string>>;
}

/** How an announced order stood to a callback. Only `agrees` holds. */
export type OrderFound = 'agrees' | 'missing' | 'cancelled' | 'expired' | 'used' | 'differs';

/**
 * For a speed-up: that the same question without a speed-up was approved about this subject, at most
 * `withinMs` ago, and that fewer than `max` other speed-ups of it are approved. Reserves nothing: the
 * decision itself counts.
 */
export interface SpeedUpClaim extends ClaimBase {
  readonly type: 'speed-up';
  readonly max: number;
  readonly withinMs: number;
}

/**
 * That a counter has room for `amount` below or at `max` in its window. Approving adds the amount to the
 * counter.
 */
export interface WindowClaim extends ClaimBase {
  readonly type: 'window';
  /**
   * The counter: 32 hexadecimal digits, from the rule and the members it counts by; unique within the source.
   */
  readonly key: string;
  /** Units of 10^-36; a velocity limit counts whole ones. */
  readonly amount: Amount;
  readonly max: Amount;
  readonly window: Window;
}

/**
 * A rolling window is counted in buckets of `bucketMs`: bucket b holds [b*bucketMs, (b+1)*bucketMs) and
 * counts as long as any instant of it lies within the last `lengthMs`. So a sum may err by one bucket, to the
 * safe side. A calendar window is the period [startMs, endMs) that holds the proposal's whole validity.
 */
export type Window =
  | { readonly type: 'rolling'; readonly lengthMs: number; readonly bucketMs: number }
  | { readonly type: 'calendar'; readonly startMs: number; readonly endMs: number };

/** What one rule said, before the store was asked. */
export interface RuleResult {
  readonly policy: string;
  /** `name` of the rule's kind, and its place in the policy counted from 1: `amount-limit#1`. */
  readonly rule: string;
  readonly mode: 'enforce' | 'observe';
  /** `claim`: the verdict is the store's, by the claims that carry this result's index. */
  readonly verdict: 'pass' | 'refuse' | 'claim';
  /** A sentence with the values; for a claim what was asked for. */
  readonly because: string;
  readonly values: Readonly<Record<string, string>>;
}

/**
 * The outcome of evaluate. It approves only if no enforcing result refuses and, in the store, every claim
 * holds.
 */
export interface Proposal {
  /** The revision that evaluated; the empty text where none is in force. */
  readonly revision: string;
  readonly approves: boolean;
  /**
   * Why it refuses whatever the rules say: nothing is in force, no policy applies, or the claims are more
   * than {@link BOUNDS} allow.
   */
  readonly refusal: 'NO_POLICY' | 'NOTHING_IN_FORCE' | 'TOO_MANY_CLAIMS' | undefined;
  readonly results: readonly RuleResult[];
  readonly claims: readonly Claim[];
  /** True if any enforcing result that refuses is of a policy with `refusals: final`. */
  readonly final: boolean;
  /** True if it refuses, and every enforcing result that does depends on what changes without a push. */
  readonly afresh: boolean;
  /**
   * The version of the price table that it was evaluated with; 0 if no rule looked into it. Settle checks
   * that it is current.
   */
  readonly prices: number;
  /** The instants [validFromMs, validUntilMs) at which the evaluation would come out the same. */
  readonly validFromMs: number;
  readonly validUntilMs: number;
}
