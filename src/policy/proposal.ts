import type { Amount } from '../values/amount.ts';

/** What must hold in the store for an approval to stand, and what is then reserved there. Checked only inside settle. */
export type Claim = ListClaim | WindowClaim;

interface ClaimBase {
  /** Which of the proposal's results this claim belongs to: an index into `results`. */
  readonly result: number;
  /** False for a rule in `mode: observe`: the claim is checked, reserved and reported, and refuses nothing. */
  readonly decides: boolean;
  /** True if the policy says `refusals: final`: a refusal by this claim is never decided afresh. */
  readonly final: boolean;
}

/** That a list of the source holds all of the values, or none of them. A list that does not exist fails either way. */
export interface ListClaim extends ClaimBase {
  readonly type: 'list';
  readonly list: string;
  /** Comparable texts, at least one. */
  readonly values: readonly string[];
  readonly must: 'hold-all' | 'hold-none';
}

/** That a counter has room for `amount` below or at `max` in its window. Approving adds the amount to the counter. */
export interface WindowClaim extends ClaimBase {
  readonly type: 'window';
  /** The counter: 32 hexadecimal digits, from the rule and the members it counts by; unique within the source. */
  readonly key: string;
  /** Units of 10^-36; a velocity limit counts whole ones. */
  readonly amount: Amount;
  readonly max: Amount;
  readonly window: Window;
}

/**
 * A rolling window is counted in buckets of `bucketMs`: bucket b holds [b*bucketMs, (b+1)*bucketMs) and counts as long as any
 * instant of it lies within the last `lengthMs`. So a sum may err by one bucket, to the safe side. A calendar window is
 * the period [startMs, endMs) that holds the proposal's whole validity.
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

/** The outcome of evaluate. It approves only if no enforcing result refuses and, in the store, every claim holds. */
export interface Proposal {
  /** The revision that evaluated; the empty text where none is in force. */
  readonly revision: string;
  readonly approves: boolean;
  /** Why it refuses before any rule: nothing is in force, or no policy applies. */
  readonly refusal: 'NO_POLICY' | 'NOTHING_IN_FORCE' | undefined;
  readonly results: readonly RuleResult[];
  readonly claims: readonly Claim[];
  /** True if the first refusing result is of a policy with `refusals: final`. */
  readonly final: boolean;
  /** The instants [validFromMs, validUntilMs) at which the evaluation would come out the same. */
  readonly validFromMs: number;
  readonly validUntilMs: number;
}
