import { z } from 'zod';
import type { Claim, WindowClaim } from '../../policy/proposal.ts';
import type { ClaimResult } from '../store.ts';
import type { SourceKeys } from './keys.ts';
import { digits, expectJson } from './reply.ts';

/** The key that a claim of the subject is checked against; it lies in the source's slot. */
export function claimKey(keys: SourceKeys, subject: string, claim: Claim): string {
  if (claim.type === 'window') return keys.counter(claim.key);
  if (claim.type === 'mark') return keys.mark(claim.key);
  if (claim.type === 'order') return keys.order(subject);
  if (claim.type === 'speed-up') return keys.subject(subject);
  return keys.list(claim.list);
}

/** A claim as `settle.lua` reads it: its head in one argument, which costs less than many, then its texts. */
export function claimArguments(claim: Claim): string[] {
  if (claim.type === 'window') return [windowHead(claim)];
  if (claim.type === 'mark') return [head(claim, flag(claim.exempt), claim.ageMs)];
  if (claim.type === 'speed-up') return [head(claim, claim.max, claim.withinMs)];
  if (claim.type === 'order') {
    const members = Object.entries(claim.members);
    return [head(claim, members.length), ...members.flat()];
  }
  const condition = claim.type === 'list' ? claim.must : claim.ageMs;
  return [head(claim, condition, claim.values.length), claim.list, ...claim.values];
}

function windowHead(claim: WindowClaim): string {
  const { window } = claim;
  const [lengthMs, bucketMs, endMs] =
    window.type === 'rolling' ? [window.lengthMs, window.bucketMs, 0] : [0, 0, window.endMs];
  return head(claim, claim.key, claim.amount, claim.max, lengthMs, bucketMs, endMs);
}

/** None of these can hold a blank. */
function head(claim: Claim, ...rest: readonly (string | number | bigint)[]): string {
  return [claim.type, flag(claim.decides), standing(claim), ...rest].join(' ');
}

export const flag = (value: boolean): string => (value ? '1' : '0');

/** How a refusal stands: for good, until it is asked again, or until the revision or a list changes. */
export function standing(of: { readonly final: boolean; readonly afresh: boolean }): string {
  return of.final ? '1' : of.afresh ? '2' : '0';
}

const bit = z.enum(['0', '1']).transform((value) => value === '1');
const amount = z
  .string()
  .regex(/^\d+$/)
  .transform((decimal) => BigInt(decimal));
const found = z.enum(['agrees', 'missing', 'cancelled', 'expired', 'used', 'differs']);

const results = z.array(
  z.union([
    z
      .tuple([z.literal('window'), bit, bit, amount])
      .transform(([, holds, reserved, used]): ClaimResult => ({ holds, reserved, used })),
    z
      .tuple([z.literal('list'), bit, bit], z.string())
      .transform(([, holds, missing, ...present]): ClaimResult => ({ holds, missing, present })),
    z
      .tuple([z.literal('aged'), bit, bit], z.tuple([z.string(), digits]))
      .transform(([, holds, missing, ...added]): ClaimResult => ({ holds, missing, added })),
    z
      .tuple([z.literal('mark'), bit, digits])
      .transform(([, holds, markedAtMs]): ClaimResult => ({ holds, markedAtMs })),
    // Sorted here, for Lua sorts by the server's locale.
    z
      .tuple([z.literal('order'), bit, found], z.string())
      .transform(([, holds, order, ...differs]): ClaimResult => ({ holds, order, differs: differs.sort() })),
    z
      .tuple([z.literal('speed-up'), bit, digits, digits])
      .transform(([, holds, approvedAtMs, speedUps]): ClaimResult => ({ holds, approvedAtMs, speedUps })),
  ]),
);

/** The results of claims, as scripts answer and journal them: JSON of texts. */
export function readClaims(json: string): readonly ClaimResult[] {
  return json === '[]' ? [] : expectJson(results, 'the results of claims', json);
}
