import { z } from 'zod';
import type { Claim, ClaimResult } from '../../claims/claims.ts';
import type { DistinctClaim } from '../../claims/distinct.ts';
import { readResults } from '../../claims/stored.ts';
import type { WindowClaim } from '../../claims/window.ts';
import type { Amount } from '../../values/amount.ts';
import type { SourceKeys } from './keys.ts';
import { parseReply } from './reply.ts';

/**
 * The keys that a claim of the subject is checked against, in the slot of the source. Most claims have one.
 */
export function claimKeys(keys: SourceKeys, subject: string, claim: Claim): readonly string[] {
  if (claim.type === 'distinct') {
    return [keys.distinct(claim.key), ...(claim.onlyNew ? claim.values.map(keys.mark) : [])];
  }
  if (claim.type === 'refusals') return [keys.refusals(claim.key), keys.lockouts];
  if (claim.type === 'window') return [keys.counter(claim.key)];
  if (claim.type === 'mark') return [keys.mark(claim.key)];
  if (claim.type === 'order') return [keys.order(subject)];
  if (claim.type === 'speed-up') return [keys.subject(subject)];
  if (claim.type === 'approval') return [keys.request(claim.id), keys.requests];
  return [keys.list(claim.list)];
}

/**
 * A claim as `settle.lua` reads it: one argument with its header, then its texts. No part of a header
 * contains a blank.
 */
export function claimArguments(claim: Claim): string[] {
  if (claim.type === 'window') return [windowHeader(claim)];
  if (claim.type === 'distinct') return [distinctHeader(claim), ...claim.values];
  if (claim.type === 'refusals') {
    const { key, after, withinMs, forMs, policy, whose } = claim;
    return [header(claim, `${key} ${after} ${withinMs} ${forMs}`), policy, whose];
  }
  if (claim.type === 'mark') return [header(claim, `${flag(claim.exempt)} ${claim.ageMs}`)];
  if (claim.type === 'speed-up') return [header(claim, `${claim.max} ${claim.withinMs}`)];
  if (claim.type === 'approval') return [header(claim, String(claim.version ?? '-')), claim.id];
  if (claim.type === 'order') {
    const members = Object.entries(claim.members);
    const also = Object.entries(claim.also ?? {}).flatMap(([name, texts]) =>
      texts.map((text) => [name, text]),
    );
    return [header(claim, `${members.length} ${also.length}`), ...members.flat(), ...also.flat()];
  }
  const condition = claim.type === 'list' ? claim.must : claim.ageMs;
  const { list, values, also = [] } = claim;
  const others = values.flatMap((_, index) => (also[index] ?? []).map((text) => [String(index + 1), text]));
  return [header(claim, `${condition} ${values.length} ${others.length}`), list, ...values, ...others.flat()];
}

function windowHeader(claim: WindowClaim): string {
  const { key, window } = claim;
  const span = window.type === 'rolling' ? `${window.lengthMs} ${window.bucketMs} 0` : `0 0 ${window.endMs}`;
  return header(
    claim,
    `${reservedField(key)} ${formatUnits(claim.amount)} ${formatUnits(claim.max)} ${span}`,
  );
}

function distinctHeader(claim: DistinctClaim): string {
  const { key, max, window, onlyNew, values } = claim;
  const span = window.type === 'rolling' ? `${window.lengthMs} 0` : `0 ${window.endMs}`;
  return header(claim, `${reservedField(key)} ${max} ${span} ${flag(onlyNew)} ${values.length}`);
}

/** The field of a subject that has until when its reservation in a counter counts. */
export const reservedField = (key: string): string => `r:${key}`;

const TAIL = '0'.repeat(28);

/** An amount as scripts read it. The exponent keeps most amounts short. */
function formatUnits(amount: Amount): string {
  const written = String(amount);
  return written.endsWith(TAIL) ? `${written.slice(0, -TAIL.length)}e28` : written;
}

function header(claim: Claim, rest: string): string {
  return `${claim.type} ${flag(claim.decides)} ${flag(claim.retryable)} ${flag(claim.failed === true)} ${rest}`;
}

export const flag = (value: boolean): string => (value ? '1' : '0');

/** The results of claims, as scripts answer and journal them. Throws STORE_CORRUPT for anything else. */
export function readClaims(json: string): readonly ClaimResult[] {
  return readResults(json) ?? parseReply(z.never(), 'the results of claims', json);
}
