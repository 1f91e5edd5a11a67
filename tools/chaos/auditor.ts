import { type Findings, type Invariant, caseOf } from './case.ts';
import type { History } from './history.ts';
import { inTime, noBrokenConnection, twoAnswers } from './invariants/answers.ts';
import { authentic, decidedOnce, lawful, oneSetOfTerms, signedAsApproved } from './invariants/approvals.ts';
import { noOldRevision, noneListed, noneWhileFrozen } from './invariants/in-force.ts';
import { inOrder, journalledBefore, nothingMadeUp } from './invariants/journal.ts';
import { withinLimits } from './invariants/limits.ts';
import { calmIsApproved, recovers } from './invariants/recovery.ts';

/** What must hold of every run, whatever happened in it. */
export const INVARIANTS: readonly Invariant[] = [
  twoAnswers,
  noBrokenConnection,
  inTime,
  authentic,
  lawful,
  oneSetOfTerms,
  decidedOnce,
  signedAsApproved,
  journalledBefore,
  nothingMadeUp,
  inOrder,
  withinLimits,
  noneWhileFrozen,
  noOldRevision,
  noneListed,
  recovers,
  calmIsApproved,
];

export interface Audited extends Findings {
  readonly name: string;
}

/**
 * Judges a run by what was sent, what came back, and what the journal says; it trusts nothing that the
 * service worked out.
 */
export function audit(history: History): readonly Audited[] {
  const looked = caseOf(history);
  return INVARIANTS.map(({ name, check }) => ({ name, ...check(looked) }));
}

export const isBroken = (audited: readonly Audited[]): boolean =>
  audited.some(({ broken }) => broken.length > 0);
