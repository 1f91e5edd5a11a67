import { z } from 'zod';
import { type ClaimOrigin, claimMembers, formatInstant, resultMembers } from './kind.ts';

/**
 * The original question about this subject (the one without a speed-up) must have been approved at most
 * `withinMs` ago. Fewer than `max` other speed-ups of it may be approved. The claim reserves nothing, because
 * the decision itself counts.
 */
export const speedUpClaim = z.strictObject({
  ...claimMembers,
  type: z.literal('speed-up'),
  max: z.number(),
  withinMs: z.number(),
});
export type SpeedUpClaim = Readonly<z.output<typeof speedUpClaim>>;

export const speedUpResult = z.strictObject({
  ...resultMembers('speed-up'),
  /** When the original question was approved; 0 if there is no such approval. */
  approvedAtMs: z.int(),
  /** How many other speed-ups of the original question are approved. */
  speedUps: z.int(),
});
export type SpeedUpResult = Readonly<z.output<typeof speedUpResult>>;

export function explainSpeedUp(
  { max, withinMs }: SpeedUpClaim,
  { holds, approvedAtMs, speedUps }: SpeedUpResult,
  { values }: ClaimOrigin,
): string {
  const within = values['within'] ?? `${withinMs / 1000}s`;
  if (approvedAtMs === 0) return 'there is no approval of what it speeds up';
  const approved = `what it speeds up was approved at ${formatInstant(approvedAtMs)}`;
  if (holds) return `${approved}, within ${within}; speed-up ${speedUps + 1} of at most ${max}`;
  return speedUps < max
    ? `${approved}, more than ${within} ago`
    : `${approved}; ${speedUps} speed-ups of it are approved, of at most ${max}`;
}
