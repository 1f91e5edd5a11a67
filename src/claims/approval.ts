import { z } from 'zod';
import { type ClaimOrigin, claimMembers, resultMembers } from './kind.ts';

/**
 * The source's approval request `id` must still be at `version`, at which the service has read and verified
 * it. An approval uses the request. After that it still holds for repeats and later stages of the same
 * operation, at the version that it has then, until the store deletes the record of the operation or of the
 * request (see ApprovalRequests in src/store/store.ts).
 */
export const approvalClaim = z.strictObject({
  ...claimMembers,
  type: z.literal('approval'),
  id: z.string(),
  /**
   * Absent: too few people have approved it, so the claim never holds. The store then says whether they still
   * can, and whether that is all that is missing.
   */
  version: z.number().optional(),
});
export type ApprovalClaim = Readonly<z.output<typeof approvalClaim>>;

/** The state of an approval request for a callback. Only `current` holds. */
export const approvalFound = z.enum(['current', 'missing', 'used', 'changed']);
export type ApprovalFound = z.output<typeof approvalFound>;

/**
 * Whether people can still approve what such a request would approve. They can't once another operation has
 * used it.
 */
export const canBeApproved = (found: ApprovalFound): boolean => found === 'missing' || found === 'changed';

export const approvalResult = z.strictObject({
  ...resultMembers('approval'),
  approval: approvalFound,
});
export type ApprovalResult = Readonly<z.output<typeof approvalResult>>;

const SENTENCES: Readonly<Record<Exclude<ApprovalFound, 'current'>, string>> = {
  missing: 'no longer exists; have the callback sent again, and people asked',
  used:
    'was used before, for another operation or by an approval that is no longer kept; send the operation under a ' +
    'new id',
  changed: 'was changed while the callback was decided; a repeat is decided by what it says now',
};

export const explainApproval = (
  { id, version }: ApprovalClaim,
  { approval }: ApprovalResult,
  { because }: Pick<ClaimOrigin, 'because'>,
): string =>
  approval === 'current' || (version === undefined && canBeApproved(approval))
    ? because
    : `the approval request ${id} ${SENTENCES[approval]}`;
