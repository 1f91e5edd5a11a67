import { z } from 'zod';
import type { Claim } from '../../policy/proposal.ts';
import type { ClaimResult } from '../store.ts';
import type { SourceKeys } from './keys.ts';
import { expectJson } from './reply.ts';

/** The key that a claim is checked against: its list, or its counter. */
export function claimKey(keys: SourceKeys, claim: Claim): string {
  return claim.type === 'list' ? keys.list(claim.list) : keys.counter(claim.key);
}

/** A claim as `settle.lua` reads it. Amounts go as decimal text. */
export function claimArguments(claim: Claim): string[] {
  const head = [claim.type, flag(claim.decides), flag(claim.final)];
  if (claim.type === 'list') {
    return [...head, claim.list, claim.must, String(claim.values.length), ...claim.values];
  }
  const { window } = claim;
  const [lengthMs, bucketMs, endMs] =
    window.type === 'rolling' ? [window.lengthMs, window.bucketMs, 0] : [0, 0, window.endMs];
  // None of these can hold the separator, and one argument costs less than eight.
  return [[...head, claim.key, claim.amount, claim.max, lengthMs, bucketMs, endMs].join(' ')];
}

export const flag = (value: boolean): string => (value ? '1' : '0');

const bit = z.enum(['0', '1']).transform((value) => value === '1');
const amount = z
  .string()
  .regex(/^\d+$/)
  .transform((digits) => BigInt(digits));

const results = z.array(
  z.union([
    z
      .tuple([z.literal('window'), bit, bit, amount])
      .transform(([, holds, reserved, used]): ClaimResult => ({ holds, reserved, used })),
    z
      .tuple([z.literal('list'), bit, bit], z.string())
      .transform(([, holds, missing, ...present]): ClaimResult => ({ holds, missing, present })),
  ]),
);

/** The results of claims, as scripts answer and journal them: JSON of texts. */
export function readClaims(json: string): readonly ClaimResult[] {
  return json === '[]' ? [] : expectJson(results, 'the results of claims', json);
}
