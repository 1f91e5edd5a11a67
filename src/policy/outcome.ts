import type { ClaimRequest } from '../claims/claims.ts';

/** What a rule says of a callback, before the store checks its claims. */
export interface RuleOutcome {
  readonly verdict: 'pass' | 'refuse' | 'claim';
  /** A sentence with the values; for a claim, what is claimed. */
  readonly because: string;
  readonly values: Readonly<Record<string, string>>;
  /** At least one if the verdict is `claim`, and only then. */
  readonly claims?: readonly ClaimRequest[];
  /**
   * True if a refusal depends on something that changes without a push, other than a list in the store: time,
   * prices, orders, answers. A repeat is then decided again.
   */
  readonly retryable?: boolean;
  /**
   * True if a refusal says nothing about the callback, because something that the rule needs failed: an
   * answer, a price, the rule itself. It counts for no lock-out.
   */
  readonly failed?: boolean;
  /** True if it looked up a price, found or not. */
  readonly usesPrices?: boolean;
  /** Without `valid`, the outcome is the same at every instant. */
  readonly valid?: Validity | undefined;
}

/** The instants [fromMs, untilMs) at which something is the same. */
export interface Validity {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The instants at which both are valid. */
export function bothValid(one: Validity, other: Validity | undefined): Validity {
  return {
    fromMs: Math.max(one.fromMs, other?.fromMs ?? one.fromMs),
    untilMs: Math.min(one.untilMs, other?.untilMs ?? one.untilMs),
  };
}

/**
 * The outcome of a rule that judges several parts, all of which must hold; undefined without parts.
 * Values of one name are joined with blanks.
 */
export function allOf(parts: readonly RuleOutcome[]): RuleOutcome | undefined {
  if (parts.length < 2) return parts[0];
  const usesPrices = parts.some((part) => part.usesPrices === true);
  const refused = parts.find(({ verdict }) => verdict === 'refuse');
  if (refused !== undefined) return { ...refused, usesPrices };
  const names = new Set(parts.flatMap(({ values }) => Object.keys(values)));
  const valid = parts.reduce<Validity | undefined>(
    (all, part) => (part.valid === undefined ? all : bothValid(part.valid, all)),
    undefined,
  );
  const claims = parts.flatMap((part) => part.claims ?? []);
  return {
    verdict: claims.length > 0 ? 'claim' : 'pass',
    because: parts.map(({ because }) => because).join('; '),
    values: Object.fromEntries(
      [...names].map((name) => [name, parts.flatMap(({ values }) => values[name] ?? []).join(' ')]),
    ),
    ...(claims.length > 0 ? { claims } : {}),
    retryable: parts.some((part) => part.retryable === true),
    usesPrices,
    valid,
  };
}

export function refuse(because: string, values: RuleOutcome['values'] = {}): RuleOutcome {
  return { verdict: 'refuse', because, values };
}

export function pass(because: string, values: RuleOutcome['values'] = {}): RuleOutcome {
  return { verdict: 'pass', because, values };
}
