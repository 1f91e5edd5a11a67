import type { Claim, ClaimResult } from '../../claims/claims.ts';
import type { SettleRequest } from '../store.ts';
import type { ListTables } from './lists.ts';
import type { StandingDecision } from './subject.ts';

/** A claim that only observes passes whatever it found. One without a result does not. */
export function passes(claim: Claim, result: ClaimResult | undefined): boolean {
  return !claim.decides || result?.holds === true;
}

/** Whether a decision about the same question is to be repeated. */
export function stands(
  lists: ListTables,
  { source, revision }: SettleRequest,
  standing: StandingDecision,
  approves: boolean,
): boolean {
  if (standing.verdict === 'SUCCESS') return approves;
  if (standing.final) return true;
  if (standing.afresh || standing.revision !== revision) return false;
  return standing.lists.every(([list, version]) => lists.version(source, list) === version);
}

/**
 * Whether a refusal is never decided afresh, or each time; neither if a push or a change of a list is waited
 * for.
 */
export function lastingOf(
  request: SettleRequest,
  claims: readonly ClaimResult[],
): Pick<StandingDecision, 'final' | 'afresh'> {
  const failed = request.claims.filter((claim, index) => !passes(claim, claims[index]));
  const refusers = request.approves ? failed : [request, ...failed];
  const final = refusers.some((refuser) => refuser.final);
  return { final, afresh: !final && refusers.length > 0 && refusers.every((refuser) => refuser.afresh) };
}
