import { z } from 'zod';
import { type ClaimOrigin, also, claimMembers, formatValues, resultMembers } from './kind.ts';

/**
 * A list of the source must hold all of the values, or none of them. The claim fails if the list does not
 * exist.
 */
export const listClaim = z.strictObject({
  ...claimMembers,
  type: z.literal('list'),
  list: z.string(),
  /** Comparable texts, at least one. */
  values: z.array(z.string()).readonly(),
  also,
  must: z.enum(['hold-all', 'hold-none']),
});
export type ListClaim = Readonly<z.output<typeof listClaim>>;

export const listResult = z.strictObject({
  ...resultMembers('list'),
  missing: z.boolean(),
  /** The values that the list holds, in the claim's order. */
  present: z.array(z.string()).readonly(),
});
export type ListResult = Readonly<z.output<typeof listResult>>;

export function explainList(
  { list, must, values: wanted }: ListClaim,
  { holds, missing, present }: ListResult,
  { values }: ClaimOrigin,
): string {
  if (missing) return explainMissingList(list);
  const member = values['member'] ?? 'a value';
  const found = new Set(present);
  const wrong = wanted.filter((value) => found.has(value) === (must === 'hold-none'));
  const listed = holds === (must === 'hold-all') ? 'is on' : 'is not on';
  return `${member} ${formatValues(holds ? wanted : wrong)} ${listed} the list ${list}`;
}

export function explainMissingList(list: string): string {
  const fix = '`countersign list show` shows the lists, `countersign list add` creates one';
  return `there is no list ${list}; ${fix}`;
}
