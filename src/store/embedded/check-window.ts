import type { WindowClaim } from '../../policy/proposal.ts';
import type { Amount } from '../../values/amount.ts';
import type { ClaimResult } from '../store.ts';
import type { Counters } from './counters.ts';
import { type SubjectRecord, hasReserved } from './subject.ts';

/**
 * How the window claims of one request fare, one after the other: those on one counter are counted together.
 */
export function createWindowCheck(
  counters: Counters,
  source: string,
  subject: SubjectRecord | undefined,
  nowMs: number,
): (claim: WindowClaim) => ClaimResult {
  const asked = new Map<string, Amount>();
  return (claim) => {
    const before = asked.get(claim.key) ?? 0n;
    const used = counters.used(source, claim, nowMs) + before;
    if (hasReserved(subject, claim.key, nowMs)) return { holds: true, reserved: true, used };
    asked.set(claim.key, before + claim.amount);
    return { holds: used + claim.amount <= claim.max, reserved: false, used };
  };
}
