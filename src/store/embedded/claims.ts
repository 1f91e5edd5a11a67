import type { ListClaim, WindowClaim } from '../../policy/proposal.ts';
import type { Amount } from '../../values/amount.ts';
import type { ClaimResult, SettleRequest } from '../store.ts';
import type { Counters } from './counters.ts';
import type { ListTables } from './lists.ts';
import { type Reservation, type SubjectRecord, hasReserved } from './subject.ts';

export interface ClaimTables {
  readonly lists: ListTables;
  readonly counters: Counters;
}

/** How each claim fares, in order; reserves nothing. Claims on one counter are counted together. */
export function checkClaims(
  tables: ClaimTables,
  { source, claims }: SettleRequest,
  subject: SubjectRecord | undefined,
  nowMs: number,
): readonly ClaimResult[] {
  const asked = new Map<string, Amount>();
  const checkWindow = (claim: WindowClaim): ClaimResult => {
    const before = asked.get(claim.key) ?? 0n;
    const used = tables.counters.used(source, claim, nowMs) + before;
    if (hasReserved(subject, claim.key, nowMs)) return { holds: true, reserved: true, used };
    asked.set(claim.key, before + claim.amount);
    return { holds: used + claim.amount <= claim.max, reserved: false, used };
  };
  const checkList = ({ list, values, must }: ListClaim): ClaimResult => {
    const present = tables.lists.present(source, list, values);
    if (present === undefined) return { holds: false, missing: true, present: [] };
    const wanted = must === 'hold-all' ? values.length : 0;
    return { holds: present.length === wanted, missing: false, present };
  };
  return claims.map((claim) => (claim.type === 'window' ? checkWindow(claim) : checkList(claim)));
}

/** Reserves the window claims that the subject has not reserved before, and returns the reservations. */
export function reserve(
  { counters }: ClaimTables,
  { source, claims }: SettleRequest,
  results: readonly ClaimResult[],
  nowMs: number,
): readonly Reservation[] {
  const reserved: Reservation[] = [];
  for (const [index, claim] of claims.entries()) {
    const result = results[index];
    if (claim.type !== 'window' || (result !== undefined && 'reserved' in result && result.reserved))
      continue;
    reserved.push([claim.key, counters.add(source, claim, nowMs, claim.amount)]);
  }
  return reserved;
}

/** Each list that the claims name, with its version. */
export function listVersions(
  { lists }: ClaimTables,
  { source, claims }: SettleRequest,
): readonly [string, number][] {
  const names = claims.filter((claim) => claim.type === 'list').map((claim) => claim.list);
  return [...new Set(names)].map((name) => [name, lists.version(source, name)]);
}
