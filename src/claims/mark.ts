import { z } from 'zod';
import { type ClaimOrigin, claimMembers, forAddress, formatInstant, resultMembers } from './kind.ts';

/**
 * A mark is the time of the first approval for a value, such as an address. The mark `key` must be at least
 * `ageMs` old, or `exempt` must be true. An approval makes the mark if it does not exist. The store keeps a
 * mark as long as a subject, counted from the last approval that claimed it.
 */
export const markClaim = z.strictObject({
  ...claimMembers,
  type: z.literal('mark'),
  /** 32 hexadecimal digits, like a counter's. */
  key: z.string(),
  ageMs: z.number(),
  /**
   * The claim holds without the mark, because the amount is within the limit for a first use. An approval
   * then makes the mark as well.
   */
  exempt: z.boolean(),
});
export type MarkClaim = Readonly<z.output<typeof markClaim>>;

export const markResult = z.strictObject({
  ...resultMembers('mark'),
  /** 0 if the mark was never made. */
  markedAtMs: z.int(),
});
export type MarkResult = Readonly<z.output<typeof markResult>>;

export function explainMark(
  { exempt, ageMs }: MarkClaim,
  { holds, markedAtMs }: MarkResult,
  { because, address }: ClaimOrigin,
): string {
  const first = markedAtMs === 0 ? 'never approved before' : `first approved at ${formatInstant(markedAtMs)}`;
  const whose = forAddress(address);
  if (holds) return exempt ? `within the limit for a first use${whose}` : `known${whose}: ${first}`;
  const until = markedAtMs === 0 ? '' : `, and is new until ${formatInstant(markedAtMs + ageMs)}`;
  const subject = address === undefined ? ': ' : `; the address ${address} was `;
  return `${because}${subject}${first}${until}`;
}
