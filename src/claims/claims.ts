import { z } from 'zod';
import { type Amount, formatAmount } from '../values/amount.ts';
import { type AgedClaim, type AgedResult, agedClaim, agedResult, explainAged } from './aged.ts';
import {
  type ApprovalClaim,
  type ApprovalResult,
  approvalClaim,
  approvalResult,
  explainApproval,
} from './approval.ts';
import {
  type DistinctClaim,
  type DistinctResult,
  distinctClaim,
  distinctResult,
  explainDistinct,
} from './distinct.ts';
import { type ClaimOrigin, resultMembers } from './kind.ts';
import { type ListClaim, type ListResult, explainList, listClaim, listResult } from './list.ts';
import { type MarkClaim, type MarkResult, explainMark, markClaim, markResult } from './mark.ts';
import { type OrderClaim, type OrderResult, explainOrder, orderClaim, orderResult } from './order.ts';
import {
  type RefusalsClaim,
  type RefusalsResult,
  explainRefusals,
  refusalsClaim,
  refusalsResult,
} from './refusals.ts';
import {
  type SpeedUpClaim,
  type SpeedUpResult,
  explainSpeedUp,
  speedUpClaim,
  speedUpResult,
} from './speed-up.ts';
import { type WindowClaim, type WindowResult, explainWindow, windowClaim, windowResult } from './window.ts';

/**
 * A condition that only the store can check, as part of settle. An approval requires that every claim with
 * `decides` holds, and one alternative of each choice. It makes the reservations of window, distinct, mark,
 * order and approval claims, also of those that only observe, and in choices those of the alternative that is
 * taken; the other kinds reserve nothing. A refusal makes those of refusals claims.
 */
export type Claim =
  | ListClaim
  | AgedClaim
  | WindowClaim
  | DistinctClaim
  | MarkClaim
  | OrderClaim
  | ApprovalClaim
  | SpeedUpClaim
  | RefusalsClaim;

/** What the store found for a claim of its type. */
export type ClaimResult =
  | ListResult
  | AgedResult
  | WindowResult
  | DistinctResult
  | MarkResult
  | OrderResult
  | ApprovalResult
  | SpeedUpResult
  | RefusalsResult
  | NotChecked;

const notChecked = z.strictObject({
  ...resultMembers('not-checked'),
  holds: z.literal(false),
  notChecked: z.literal(true),
});
/** The claim of an alternative that was not needed, or that failed by another claim before. */
export type NotChecked = Readonly<z.output<typeof notChecked>>;

export const NOT_CHECKED: NotChecked = { type: 'not-checked', holds: false, notChecked: true };

export const isChecked = (result: ClaimResult | undefined): result is Exclude<ClaimResult, NotChecked> =>
  result !== undefined && result.type !== 'not-checked';

type Requested<C> = C extends unknown ? Omit<C, 'result' | 'decides' | 'retryable'> : never;
/** A claim as a rule makes it. Evaluation adds the members that depend on the policy. */
export type ClaimRequest = Requested<Claim>;

/** Whether the list does not exist. */
export const isMissing = (result: ClaimResult | undefined): boolean =>
  (result?.type === 'list' || result?.type === 'aged') && result.missing;

/**
 * The most claims, and the most values that they look up, of one decision. Settle is one atomic step that
 * blocks the store. At these bounds it takes Redis about 30 ms (docs/sizing.md).
 */
export const BOUNDS = { claims: 1000, values: 4000 } as const;

/** Reads a claim from its journal form. */
export const claimSchema = z.discriminatedUnion('type', [
  listClaim,
  agedClaim,
  markClaim,
  orderClaim,
  approvalClaim,
  speedUpClaim,
  windowClaim,
  distinctClaim,
  refusalsClaim,
]);

/** The journal form of a claim: amounts are decimal text, and flags with their default are left out. */
export function claimToJson(claim: Claim): object {
  const flags = {
    decides: claim.decides ? undefined : false,
    retryable: claim.retryable ? true : undefined,
    failed: claim.failed === true ? true : undefined,
  };
  if (claim.type !== 'window') return { ...claim, ...flags };
  return { ...claim, ...flags, amount: formatAmount(claim.amount), max: formatAmount(claim.max) };
}

/** The results of claims from JSON. `amount` reads the amounts of a window. */
export function claimResults(amount: z.ZodType<Amount>): z.ZodType<readonly ClaimResult[]> {
  return z.array(
    z.union([
      windowResult(amount),
      distinctResult,
      listResult,
      agedResult,
      markResult,
      orderResult,
      approvalResult,
      speedUpResult,
      refusalsResult,
      notChecked,
    ]),
  );
}

/**
 * The form of a claim's result in exports and archives: amounts are decimal text. It has no type, because
 * each has a member that no other has, by which {@link claimResults} knows it.
 */
export function resultToJson(result: ClaimResult): Readonly<Record<string, unknown>> {
  const { type: _unused, ...found } = result;
  if (result.type !== 'window') return found;
  return { ...found, reserved: formatAmount(result.reserved), used: formatAmount(result.used) };
}

/** Why a claim holds or fails, as a sentence. */
export function explainClaim(claim: Claim, result: ClaimResult, origin: ClaimOrigin): string {
  if (claim.type === 'window' && result.type === 'window') return explainWindow(claim, result, origin);
  if (claim.type === 'distinct' && result.type === 'distinct') return explainDistinct(claim, result, origin);
  if (claim.type === 'list' && result.type === 'list') return explainList(claim, result, origin);
  if (claim.type === 'aged' && result.type === 'aged') return explainAged(claim, result, origin);
  if (claim.type === 'mark' && result.type === 'mark') return explainMark(claim, result, origin);
  if (claim.type === 'order' && result.type === 'order') return explainOrder(claim, result);
  if (claim.type === 'approval' && result.type === 'approval') return explainApproval(claim, result, origin);
  if (claim.type === 'speed-up' && result.type === 'speed-up') return explainSpeedUp(claim, result, origin);
  if (claim.type === 'refusals' && result.type === 'refusals') return explainRefusals(claim, result, origin);
  return `the store’s answer does not fit the claim: ${origin.because}`;
}
