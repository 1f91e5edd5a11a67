import type { Claim } from '../../policy/proposal.ts';
import type { ClaimResult, SettleRequest } from '../store.ts';
import { checkAged, checkList } from './check-list.ts';
import { checkMark } from './check-mark.ts';
import { checkOrder } from './check-order.ts';
import { checkSpeedUp } from './check-speed-up.ts';
import { createWindowCheck } from './check-window.ts';
import type { Counters } from './counters.ts';
import type { ListTables } from './lists.ts';
import type { Marks } from './marks.ts';
import type { OrderTables } from './orders.ts';
import type { Reservation, Reserved, SubjectRecord } from './subject.ts';

export interface ClaimTables {
  readonly lists: ListTables;
  readonly counters: Counters;
  readonly marks: Marks;
  readonly orders: OrderTables;
}

/** How each claim fares, in order; reserves nothing. */
export function checkClaims(
  { lists, counters, marks, orders }: ClaimTables,
  request: SettleRequest,
  subject: SubjectRecord | undefined,
  nowMs: number,
): readonly ClaimResult[] {
  const { source } = request;
  const checkWindow = createWindowCheck(counters, source, subject, nowMs);
  const check = (claim: Claim): ClaimResult => {
    if (claim.type === 'window') return checkWindow(claim);
    if (claim.type === 'list') return checkList(lists, source, claim);
    if (claim.type === 'aged') return checkAged(lists, source, claim, nowMs);
    if (claim.type === 'mark') return checkMark(marks, source, claim, nowMs);
    if (claim.type === 'speed-up') return checkSpeedUp(subject, request, claim, nowMs);
    return checkOrder(orders.find(source, request.subject, nowMs), claim, subject?.usesOrder === true);
  };
  return request.claims.map(check);
}

/**
 * Reserves what the subject has not reserved before, makes the marks, and uses its order up. To be done only
 * on approval; it is done for claims that only observe as well, if they hold or not.
 */
export function reserve(
  { counters, marks, orders }: ClaimTables,
  { source, subject, claims }: SettleRequest,
  known: { readonly results: readonly ClaimResult[]; readonly usesOrder: boolean },
  nowMs: number,
): Reserved {
  const reserved: Reservation[] = [];
  let order = false;
  for (const [index, claim] of claims.entries()) {
    const result = known.results[index];
    if (claim.type === 'window' && !(result !== undefined && 'reserved' in result && result.reserved)) {
      const isCounted = result !== undefined && 'used' in result;
      const held = isCounted ? result.used : counters.used(source, claim, nowMs);
      reserved.push([claim.key, counters.add(source, claim, nowMs, { held, added: claim.amount })]);
    }
    if (claim.type === 'mark') marks.make(source, claim.key, nowMs);
    if (claim.type === 'order' && result !== undefined && 'order' in result) order ||= isUsable(result.order);
  }
  if (order) orders.use(source, subject, nowMs);
  return { counters: reserved, order: order && !known.usesOrder };
}

/**
 * Whether an approval uses up what it found: not what is not there, was cancelled, has expired, or is in use
 * by another. One that had expired when it was used would hold from then on, once the rule is enforced.
 */
const isUsable = (found: Extract<ClaimResult, { readonly order: unknown }>['order']): boolean =>
  found === 'agrees' || found === 'differs';

/** Each list that the claims name, with its version. */
export function listVersions(
  { lists }: ClaimTables,
  { source, claims }: SettleRequest,
): readonly [string, number][] {
  const names = claims
    .filter((claim) => claim.type === 'list' || claim.type === 'aged')
    .map((claim) => claim.list);
  return [...new Set(names)].map((name) => [name, lists.version(source, name)]);
}
