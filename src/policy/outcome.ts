import type { ClaimRequest } from '../claims/claims.ts';
import { type Standing, combine } from './standing.ts';

/** What a rule says of a callback, before the store checks its claims, and how long that stands. */
export interface RuleOutcome extends Standing {
  readonly verdict: 'pass' | 'refuse' | 'claim';
  /** A sentence with the values; for a claim, what is claimed. */
  readonly because: string;
  readonly values: Readonly<Record<string, string>>;
  /** At least one if the verdict is `claim`, and only then. */
  readonly claims?: readonly ClaimRequest[];
}

/**
 * The outcome of a rule that judges several parts, all of which must hold; undefined without parts.
 * Values of one name are joined with blanks.
 */
export function allOf(parts: readonly RuleOutcome[]): RuleOutcome | undefined {
  if (parts.length < 2) return parts[0];
  const standing = combine('one', parts);
  const refused = parts.find(({ verdict }) => verdict === 'refuse');
  if (refused !== undefined) return { ...refused, usesPrices: standing.usesPrices };
  const names = new Set(parts.flatMap(({ values }) => Object.keys(values)));
  const claims = parts.flatMap((part) => part.claims ?? []);
  return {
    verdict: claims.length > 0 ? 'claim' : 'pass',
    because: parts.map(({ because }) => because).join('; '),
    values: Object.fromEntries(
      [...names].map((name) => [name, parts.flatMap(({ values }) => values[name] ?? []).join(' ')]),
    ),
    ...(claims.length > 0 ? { claims } : {}),
    ...standing,
  };
}

export function refuse(because: string, values: RuleOutcome['values'] = {}): RuleOutcome {
  return { verdict: 'refuse', because, values };
}

export function pass(because: string, values: RuleOutcome['values'] = {}): RuleOutcome {
  return { verdict: 'pass', because, values };
}
