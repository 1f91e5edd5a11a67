import { z } from 'zod';
import { type Amount, parseAmount } from '../values/amount.ts';

/** The members that a claim of any kind has. */
export const claimMembers = {
  /** Which of the proposal's results the claim belongs to: an index into `results`. */
  result: z.number(),
  /**
   * False for a rule in `mode: observe`: the claim is checked, reserved and reported, and refuses nothing.
   */
  decides: z.boolean().default(true),
  /**
   * True if a refusal by this claim depends on something that changes without a push, other than a list in
   * the store. After a refusal by such claims alone, a repeat is decided again. For lists, the store compares
   * versions instead.
   */
  retryable: z.boolean().default(false),
  /** True if the rule applies only because something failed: its refusal counts for no lock-out. */
  failed: z.boolean().optional(),
};

/** The members of what the store found for a claim of a kind. Their JSON has no type: see resultToJson. */
export const resultMembers = <Type extends string>(type: Type) => ({
  type: z.literal(type).default(type),
  holds: z.boolean(),
});

/**
 * Other texts that stand for each of a claim's values, in their order: other spellings of an address. A list
 * holds a value if it holds one of its texts. Absent if no value has another text.
 */
export const also = z.array(z.array(z.string()).readonly()).readonly().optional();

/** Reads an amount from its journal form, a decimal text. */
export const amountText = z
  .string()
  .refine((text) => parseAmount(text) !== undefined, 'not an amount')
  .transform((text): Amount => parseAmount(text) ?? 0n);

/** The data of the rule that made a claim, for its explanation. */
export interface ClaimOrigin {
  /** The rule's sentence about its claims. */
  readonly because: string;
  /** The values that the rule looked at. */
  readonly values: Readonly<Record<string, string>>;
  /** The address of this claim, if the rule makes a claim for each address of a withdrawal. */
  readonly address: string | undefined;
}

/** ` for the address ADDRESS`; empty for a claim that is not for one of several addresses. */
export const forAddress = (address: string | undefined): string =>
  address === undefined ? '' : ` for the address ${address}`;

const SHOWN_MAX = 3;

/** `a, b, c and 4 more`. */
export function formatValues(values: readonly string[]): string {
  return values.length > SHOWN_MAX
    ? `${values.slice(0, SHOWN_MAX).join(', ')} and ${values.length - SHOWN_MAX} more`
    : values.join(', ');
}

export const formatInstant = (ms: number): string => new Date(ms).toISOString();
