import { z } from 'zod';
import { type ClaimOrigin, also, claimMembers, formatInstant, formatValues, resultMembers } from './kind.ts';
import { explainMissingList } from './list.ts';

/**
 * A list of the source must hold all of the values, each for at least `ageMs`. The claim fails if the list
 * does not exist.
 */
export const agedClaim = z.strictObject({
  ...claimMembers,
  type: z.literal('aged'),
  list: z.string(),
  /** Comparable texts, at least one. */
  values: z.array(z.string()).readonly(),
  also,
  ageMs: z.number(),
});
export type AgedClaim = Readonly<z.output<typeof agedClaim>>;

export const agedResult = z.strictObject({
  ...resultMembers('aged'),
  missing: z.boolean(),
  /** The values that the list holds, in the claim's order, each with the time at which it was added. */
  added: z.array(z.tuple([z.string(), z.int()]).readonly()).readonly(),
});
export type AgedResult = Readonly<z.output<typeof agedResult>>;

export function explainAged(
  { list, values: wanted, ageMs }: AgedClaim,
  { holds, missing, added }: AgedResult,
  { values }: ClaimOrigin,
): string {
  if (missing) return explainMissingList(list);
  const member = values['member'] ?? 'a value';
  if (holds) {
    const least = values['for'] ?? `${ageMs / 1000}s`;
    return `${member} ${formatValues(wanted)} is on the list ${list} for at least ${least}`;
  }
  const times = new Map(added);
  const absent = wanted.filter((value) => !times.has(value));
  if (absent.length > 0) return `${member} ${formatValues(absent)} is not on the list ${list}`;
  const [youngest = '', addedAtMs = 0] = added.toSorted(([, a], [, b]) => b - a)[0] ?? [];
  const [since, from] = [formatInstant(addedAtMs), formatInstant(addedAtMs + ageMs)];
  return `${member} ${youngest} is on the list ${list} only since ${since}, and counts from ${from} on`;
}
