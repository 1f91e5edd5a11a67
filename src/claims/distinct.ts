import { z } from 'zod';
import { type ClaimOrigin, claimMembers, forAddress } from './kind.ts';
import { windowSchema } from './window.ts';

/** The most values that one counter can keep, and so the greatest `max`. */
export const DISTINCT_MAX = 1000;

/**
 * A counter must have room for values that it does not count yet: with them, it counts at most `max` different
 * values. An approval adds them. A value counts until the window no longer has an approval of it; rolling windows
 * are exact to the millisecond.
 *
 * With `onlyNew`, an approval also makes the mark of each value, and counts only values that had none: those that
 * were never approved before. Marks are kept like those of mark claims.
 *
 * A counter keeps the {@link DISTINCT_MAX} + 1 values that count longest. Only claims that observe can add more
 * values than `max`.
 */
export const distinctClaim = z.strictObject({
  ...claimMembers,
  type: z.literal('distinct'),
  /** Like that of a window: 32 hexadecimal digits, with its group before them if it is shared. */
  key: z.string(),
  /** At least one, each once: 32 hexadecimal digits, made of what is counted. Also the keys of their marks. */
  values: z.array(z.string()).readonly(),
  /** From 1 to {@link DISTINCT_MAX}. */
  max: z.number(),
  window: windowSchema,
  onlyNew: z.boolean(),
});
export type DistinctClaim = Readonly<z.output<typeof distinctClaim>>;

export const distinctResult = z.strictObject({
  holds: z.boolean(),
  /** True if the subject reserved the values before, and the window still counts them. */
  reserved: z.boolean(),
  /** How many different values the window counted before. */
  counted: z.int(),
  /** How many of the values it did not count; with `onlyNew`, those without a mark. */
  further: z.int(),
});
export type DistinctResult = Readonly<z.output<typeof distinctResult>>;

export function explainDistinct(
  { max, onlyNew }: DistinctClaim,
  { holds, reserved, counted, further }: DistinctResult,
  { because, values, address }: ClaimOrigin,
): string {
  const member = values['member'] ?? 'a member';
  const what = `${onlyNew ? 'new' : 'different'} values of ${member}`;
  const whose = forAddress(address);
  const limit = `the limit of ${max} ${what} in ${values['window'] ?? 'the window'}`;
  if (onlyNew && further === 0 && holds) return `every value of ${member} was approved before${whose}`;
  if (holds && reserved) return `already reserved${whose} under ${limit}`;
  const sums = `${counted} counted and ${further} more${whose}`;
  return holds ? `${sums} are within ${limit}` : `${sums} are above ${limit} (${because})`;
}
