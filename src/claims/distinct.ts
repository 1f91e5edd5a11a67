import { z } from 'zod';
import { type ClaimOrigin, claimMembers, forAddress, resultMembers } from './kind.ts';
import { windowSchema } from './window.ts';

/** The most values that one counter can keep, and so the greatest `max`. */
export const DISTINCT_MAX = 1000;

/**
 * With the claim's values, a counter must count at most `max` different values. An approval counts them from
 * now on: a value counts until the window no longer has an approval of it. Rolling windows are exact to the
 * millisecond.
 *
 * With `onlyNew`, an approval also makes the mark of each value, and only values without a mark count: those
 * that were never approved before. For the subject whose approval made the mark, the value stays new: each of
 * its approvals counts it again. A claim without a value that counts holds. Marks are kept like those of mark
 * claims.
 *
 * A counter keeps the {@link DISTINCT_MAX} + 1 values that count longest. Only claims that observe can add
 * more values than `max`.
 */
export const distinctClaim = z.strictObject({
  ...claimMembers,
  type: z.literal('distinct'),
  /** Like that of a window: 32 hexadecimal digits, with its group before them if it is shared. */
  key: z.string(),
  /**
   * At least one, each once: 32 hexadecimal digits, made of what is counted. Also the keys of their marks.
   */
  values: z.array(z.string()).readonly(),
  /** From 1 to {@link DISTINCT_MAX}. */
  max: z.number(),
  window: windowSchema,
  onlyNew: z.boolean(),
});
export type DistinctClaim = Readonly<z.output<typeof distinctClaim>>;

export const distinctResult = z.strictObject({
  ...resultMembers('distinct'),
  /** How many different values the window counted before. */
  counted: z.int(),
  /** How many of the values that count it did not count yet. */
  further: z.int(),
});
export type DistinctResult = Readonly<z.output<typeof distinctResult>>;

export function explainDistinct(
  { max, onlyNew }: DistinctClaim,
  { holds, counted, further }: DistinctResult,
  { because, values, address }: ClaimOrigin,
): string {
  const member = values['member'] ?? 'a member';
  const what = `${onlyNew ? 'new' : 'different'} values of ${member}`;
  const whose = forAddress(address);
  const limit = `the limit of ${max} ${what} in ${values['window'] ?? 'the window'}`;
  if (onlyNew && further === 0 && holds) return `every value of ${member} was approved before${whose}`;
  const sums = `${counted} counted and ${further} more${whose}`;
  return holds ? `${sums} are within ${limit}` : `${sums} are above ${limit} (${because})`;
}
