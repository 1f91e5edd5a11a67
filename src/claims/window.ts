import { z } from 'zod';
import { type Amount, formatAmount } from '../values/amount.ts';
import { type ClaimOrigin, amountText, claimMembers, forAddress, resultMembers } from './kind.ts';

/**
 * A rolling window is counted in buckets of `bucketMs`: bucket b holds [b*bucketMs, (b+1)*bucketMs) and
 * counts as long as any instant of it lies within the last `lengthMs`. So a sum may include up to one bucket
 * too much, but never too little. A calendar window is [startMs, endMs), the calendar period at evaluation;
 * the proposal is valid only within it.
 */
export const windowSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('rolling'), lengthMs: z.number(), bucketMs: z.number() }).readonly(),
  z.strictObject({ type: z.literal('calendar'), startMs: z.number(), endMs: z.number() }).readonly(),
]);
export type Window = z.output<typeof windowSchema>;

/**
 * The key of a counter, or of a mark, that the sources of a group share. Names of groups and other keys have
 * no `@`, so it never is the key of another one. Without a group, the key of one source.
 */
export const groupedKey = (group: string | undefined, key: string): string =>
  group === undefined ? key : `${group}@${key}`;

/** The group whose sources share what the key names; undefined if it belongs to one source. */
export function groupOfKey(key: string): string | undefined {
  const end = key.indexOf('@');
  return end === -1 ? undefined : key.slice(0, end);
}

/**
 * A counter must have room for `amount` below or at `max` in its window, beside what other subjects have
 * reserved there. An approval moves what its subject has reserved in the counter to now, and makes it
 * `amount`. So a subject counts once in a window, at its latest approval.
 */
export const windowClaim = z.strictObject({
  ...claimMembers,
  type: z.literal('window'),
  /**
   * The counter: 32 hexadecimal digits, from the rule and the members it counts by; unique within the source.
   * A {@link groupedKey} is unique in the store.
   */
  key: z.string(),
  /** In units of 10^-36. A velocity limit counts a callback as 10^36 units. */
  amount: amountText,
  max: amountText,
  window: windowSchema,
});
export type WindowClaim = Readonly<z.output<typeof windowClaim>>;

/** `amount` reads an amount: stores and exports write it in different ways. */
export const windowResult = (amount: z.ZodType<Amount>) =>
  z.strictObject({
    ...resultMembers('window'),
    /**
     * What the subject had reserved in the counter before, as the window counts it. 0 if it counts nothing of
     * it.
     */
    reserved: amount,
    /** What the window counts without it, with what earlier claims of the request ask for. */
    used: amount,
  });
export type WindowResult = Readonly<z.output<ReturnType<typeof windowResult>>>;

export function explainWindow(
  { amount, max }: WindowClaim,
  { holds, reserved, used }: WindowResult,
  { because, values, address }: ClaimOrigin,
): string {
  const others = reserved === 0n ? 'used' : 'used by others';
  const sums = `${formatAmount(used)} ${others} and ${formatAmount(amount)} requested${forAddress(address)}`;
  const limit = `the limit of ${formatAmount(max)} in ${values['window'] ?? 'the window'}`;
  const before = reserved === 0n ? '' : `; it had reserved ${formatAmount(reserved)} before`;
  return holds ? `${sums} are within ${limit}${before}` : `${sums} are above ${limit}${before} (${because})`;
}
