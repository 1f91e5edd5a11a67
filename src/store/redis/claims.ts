import { z } from 'zod';
import type { Claim, ClaimResult } from '../../claims/claims.ts';
import { orderFound } from '../../claims/order.ts';
import type { WindowClaim } from '../../claims/window.ts';
import type { Amount } from '../../values/amount.ts';
import type { SourceKeys } from './keys.ts';
import { digits, expectJson, expectReply, text } from './reply.ts';

/** The key that a claim of the subject is checked against, in the slot of the source. */
export function claimKey(keys: SourceKeys, subject: string, claim: Claim): string {
  if (claim.type === 'window') return keys.counter(claim.key);
  if (claim.type === 'mark') return keys.mark(claim.key);
  if (claim.type === 'order') return keys.order(subject);
  if (claim.type === 'speed-up') return keys.subject(subject);
  return keys.list(claim.list);
}

/**
 * A claim as `settle.lua` reads it: one argument with its head, then its texts. No part of a head contains a
 * blank.
 */
export function claimArguments(claim: Claim): string[] {
  if (claim.type === 'window') return [windowHead(claim)];
  if (claim.type === 'mark') return [head(claim, `${flag(claim.exempt)} ${claim.ageMs}`)];
  if (claim.type === 'speed-up') return [head(claim, `${claim.max} ${claim.withinMs}`)];
  if (claim.type === 'order') {
    const members = Object.entries(claim.members);
    return [head(claim, String(members.length)), ...members.flat()];
  }
  const condition = claim.type === 'list' ? claim.must : claim.ageMs;
  return [head(claim, `${condition} ${claim.values.length}`), claim.list, ...claim.values];
}

function windowHead(claim: WindowClaim): string {
  const { key, window } = claim;
  const span = window.type === 'rolling' ? `${window.lengthMs} ${window.bucketMs} 0` : `0 0 ${window.endMs}`;
  return head(claim, `r:${key} ${amountText(claim.amount)} ${amountText(claim.max)} ${span}`);
}

const TAIL = '0'.repeat(28);

/** An amount as scripts read it. The exponent keeps most amounts short. */
function amountText(amount: Amount): string {
  const written = String(amount);
  return written.endsWith(TAIL) ? `${written.slice(0, -TAIL.length)}e28` : written;
}

function head(claim: Claim, rest: string): string {
  return `${claim.type} ${flag(claim.decides)} ${standing(claim)} ${rest}`;
}

export const flag = (value: boolean): string => (value ? '1' : '0');

/**
 * How long a refusal stands: 1 for good, 2 until the next question, 0 until the revision or a list changes.
 */
export function standing(of: { readonly final: boolean; readonly afresh: boolean }): string {
  return of.final ? '1' : of.afresh ? '2' : '0';
}

const flagText = z.enum(['0', '1']).transform((flagged) => flagged === '1');
const units = z
  .string()
  .regex(/^\d+$/)
  .transform((all): Amount => BigInt(all));

/** By kind: the first text of a result. */
const RESULTS: ReadonlyMap<unknown, z.ZodType<ClaimResult>> = new Map<Claim['type'], z.ZodType<ClaimResult>>([
  [
    'window',
    z
      .tuple([text, flagText, flagText, units])
      .transform(([, holds, reserved, used]) => ({ holds, reserved, used })),
  ],
  [
    'list',
    z
      .tuple([text, flagText, flagText], text)
      .transform(([, holds, missing, ...present]) => ({ holds, missing, present })),
  ],
  [
    'aged',
    z
      .tuple([text, flagText, flagText], z.tuple([text, digits]))
      .transform(([, holds, missing, ...added]) => ({ holds, missing, added })),
  ],
  ['mark', z.tuple([text, flagText, digits]).transform(([, holds, markedAtMs]) => ({ holds, markedAtMs }))],
  [
    'order',
    z
      .tuple([text, flagText, orderFound], text)
      // Sorted here, because Lua sorts by the server's locale.
      .transform(([, holds, order, ...differs]) => ({ holds, order, differs: differs.toSorted() })),
  ],
  [
    'speed-up',
    z
      .tuple([text, flagText, digits, digits])
      .transform(([, holds, approvedAtMs, speedUps]) => ({ holds, approvedAtMs, speedUps })),
  ],
]);
const lists = z.array(z.array(z.unknown()));

/**
 * The results of claims, as scripts answer and journal them: JSON of texts. Throws STORE_CORRUPT for anything
 * else.
 */
export function readClaims(json: string): readonly ClaimResult[] {
  if (json === '[]') return [];
  return expectJson(lists, 'the results of claims', json).map((result) =>
    expectReply(RESULTS.get(result[0]) ?? z.never(), 'the result of a claim', result),
  );
}
