import type { SpeedUpClaim } from '../../policy/proposal.ts';
import type { ClaimResult, SettleRequest } from '../store.ts';
import { type SubjectRecord, questionOf } from './subject.ts';

/** How a speed-up stands to what was approved about its subject; a decision without a time counts as none. */
export function checkSpeedUp(
  subject: SubjectRecord | undefined,
  request: Pick<SettleRequest, 'question' | 'speedUp'>,
  { max, withinMs }: SpeedUpClaim,
  nowMs: number,
): ClaimResult {
  const { question } = request;
  const itself = questionOf(subject, request);
  const approved = subject?.decisions.filter(({ verdict }) => verdict === 'SUCCESS') ?? [];
  const approvedAtMs = approved.find((each) => each.question === question)?.atMs ?? 0;
  const speedUps = approved.filter(
    (each) => each.question.startsWith(`${question}+`) && each.question !== itself,
  ).length;
  const holds = approvedAtMs !== 0 && nowMs - approvedAtMs <= withinMs && speedUps < max;
  return { holds, approvedAtMs, speedUps };
}
