import { z } from 'zod';
import { counted } from '../values/text.ts';
import { claimMembers, formatInstant, resultMembers } from './kind.ts';

/** The most refusals after which a key can be locked out. The store keeps as many operations for each key. */
export const REFUSALS_MAX = 100;

/**
 * The key must not be locked out. A refusal counts the operation for `withinMs`, once, however often it is refused.
 * The refusal of the last of `after` operations locks the key out, for `forMs` or until somebody lifts it. While it
 * is locked out, nothing is counted; after that, the count starts at zero.
 *
 * A refusal counts if it is decided anew, by a rule, for a reason other than a lock-out and other than a failure: a
 * plugin without an answer, a missing price, a missing list. A choice of which an alternative has such a reason does
 * not count. Claims that were not checked count nothing.
 *
 * Several claims with one key, of different alternatives, count an operation for the longest of their times, and lock
 * out for the longest of those that lock out.
 */
export const refusalsClaim = z.strictObject({
  ...claimMembers,
  type: z.literal('refusals'),
  /** 32 hexadecimal digits, like a counter's. It is also the id of the lock-out. */
  key: z.string(),
  /** From 1 to {@link REFUSALS_MAX}. */
  after: z.number(),
  withinMs: z.number(),
  /** 0: until somebody lifts it. */
  forMs: z.number(),
  /** For people: the policy of the rule, and who is locked out (`userId 12345`). */
  policy: z.string(),
  whose: z.string(),
});
export type RefusalsClaim = Readonly<z.output<typeof refusalsClaim>>;

export const refusalsResult = z.strictObject({
  ...resultMembers('refusals'),
  /**
   * How many operations were refused within the time, with this one if it counted; if the key is locked out, how
   * many had been.
   */
  refusals: z.int(),
  /** 0 if it is not locked out. If it holds nevertheless, this refusal locked it out. */
  lockedAtMs: z.int(),
  /** 0 if it is not locked out, or until somebody lifts it. */
  lockedUntilMs: z.int(),
});
export type RefusalsResult = Readonly<z.output<typeof refusalsResult>>;

export function explainRefusals(
  { key, after, whose, withinMs }: RefusalsClaim,
  { holds, refusals, lockedAtMs, lockedUntilMs }: RefusalsResult,
  { values }: { readonly values: Readonly<Record<string, string>> },
): string {
  const within = values['within'] ?? `${withinMs / 1000}s`;
  const until = lockedUntilMs === 0 ? 'until somebody lifts it' : `until ${formatInstant(lockedUntilMs)}`;
  if (!holds) {
    return (
      `${whose} is locked out since ${formatInstant(lockedAtMs)}, after ${counted(refusals, 'refusal')} within ${within}, ` +
      `${until}; \`countersign lockout lift ${key}\` lifts it`
    );
  }
  if (lockedAtMs !== 0) return `refusal ${refusals} within ${within}: ${whose} is locked out ${until}`;
  return `${refusals} of ${after} refusals within ${within} for ${whose}`;
}
