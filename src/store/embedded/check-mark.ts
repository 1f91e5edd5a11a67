import type { MarkClaim } from '../../policy/proposal.ts';
import type { ClaimResult } from '../store.ts';
import type { Marks } from './marks.ts';

export function checkMark(
  marks: Marks,
  source: string,
  { key, ageMs, exempt }: MarkClaim,
  nowMs: number,
): ClaimResult {
  const markedAtMs = marks.madeAtMs(source, key);
  const known = markedAtMs !== 0 && markedAtMs + ageMs <= nowMs;
  return { holds: exempt || known, markedAtMs };
}
