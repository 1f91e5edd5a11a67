/**
 * How long an outcome stands: what it depends on beside the policies, the callback and the lists in the
 * store. An empty standing lasts: nothing but a push or a change of a list gives another outcome.
 */
export interface Standing {
  /** The instants at which the outcome is the same; undefined for all. */
  readonly valid?: Validity | undefined;
  /** True if it looked up a price, found or not. */
  readonly usesPrices?: boolean | undefined;
  /**
   * True if a refusal depends on something that changes without a push, other than a list in the store: time,
   * prices, orders, answers. A repeat is then decided again.
   */
  readonly retryable?: boolean | undefined;
  /**
   * True if a refusal says nothing about the callback, because something that the rule needs failed: an
   * answer, a price, the rule itself. It counts for no lock-out.
   */
  readonly failed?: boolean | undefined;
  /** True if a refusal is only for lack of people's approval. Only the store knows: see ApprovalClaim. */
  readonly awaits?: boolean | undefined;
}

/** The instants [fromMs, untilMs) at which something is the same. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * The standing of an outcome that several others determine. `all`: they refuse together, and each must change
 * before the outcome can. `one`: a change of one of them is enough. None of them: it lasts.
 */
export function combine(changing: 'all' | 'one', standings: readonly Standing[]): Standing {
  const isAll = changing === 'all' && standings.length > 0;
  let valid: Validity | undefined;
  let usesPrices = false;
  let retryable = isAll;
  let failed = isAll;
  let awaits = isAll;
  for (const each of standings) {
    valid = bothValid(valid, each.valid);
    usesPrices ||= each.usesPrices === true;
    retryable = isAll ? retryable && each.retryable === true : retryable || each.retryable === true;
    failed = isAll ? failed && each.failed === true : failed || each.failed === true;
    awaits = isAll ? awaits && each.awaits === true : awaits || each.awaits === true;
  }
  return { valid, usesPrices, retryable, failed, awaits };
}

/** The instants at which both are valid. */
function bothValid(one: Validity | undefined, other: Validity | undefined): Validity | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return { fromMs: Math.max(one.fromMs, other.fromMs), untilMs: Math.min(one.untilMs, other.untilMs) };
}
