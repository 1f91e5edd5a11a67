import { type Question, subjectOf, termsOf } from '../callback/callback.ts';
import type { Proposal } from '../policy/proposal.ts';
import type { NotificationRequest, RefusalCode, SettleRequest } from './store.ts';

/**
 * A settle request in the form that a store's atomic step needs: short plain data, which can go to a thread.
 */
export interface SettleStep extends Omit<Proposal, 'results' | 'refusal'> {
  readonly source: string;
  /** `payment:11321`; see subjectOf. */
  readonly subject: string;
  /** See termsOf. */
  readonly terms: string;
  readonly scheme: string;
  readonly question: Question['type'];
  readonly speedUp: boolean;
  /** The code of the decision if the proposal itself refuses. */
  readonly refusalCode: RefusalCode;
  readonly detail: string;
}

export function settleStepOf({ callback, proposal, scheme, detail }: SettleRequest): SettleStep {
  return {
    source: callback.source,
    subject: subjectOf(callback),
    terms: termsOf(callback),
    scheme,
    question: callback.question.type,
    speedUp: callback.question.speedUp,
    revision: proposal.revision,
    validFromMs: proposal.validFromMs,
    validUntilMs: proposal.validUntilMs,
    approves: proposal.approves,
    refusalCode: proposal.refusal ?? 'RULE_REFUSED',
    final: proposal.final,
    afresh: proposal.afresh,
    prices: proposal.prices,
    claims: proposal.claims,
    detail,
  };
}

/** A notification in the form that a store's atomic step needs. */
export interface NotificationStep {
  readonly source: string;
  readonly subject: string;
  readonly terms: string;
  readonly txid: string;
  readonly detail: string;
}

export function notificationStepOf({ callback, txid, detail }: NotificationRequest): NotificationStep {
  return { source: callback.source, subject: subjectOf(callback), terms: termsOf(callback), txid, detail };
}
