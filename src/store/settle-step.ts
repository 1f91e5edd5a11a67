import { subjectOf, termsOf } from '../callback/callback.ts';
import type { Choice } from '../policy/proposal.ts';
import type { NotificationRequest, SettleRequest } from './store.ts';

/** A settle request as a store's atomic step needs it: short plain data, which can be sent to a thread. */
export type SettleStep = Readonly<ReturnType<typeof settleStepOf>>;

export function settleStepOf({ callback, proposal, scheme, detail }: SettleRequest) {
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
    /** If the proposal itself refuses: the code of the decision, and how long that stands. */
    refusalCode: proposal.refusal ?? ('RULE_REFUSED' as const),
    retryable: proposal.retryable,
    /** Only refusals by rules count for lock-outs: see RefusalsClaim. */
    failed: proposal.failed === true || proposal.refusal !== undefined,
    prices: proposal.prices,
    onlyApproved: proposal.onlyApproved === true,
    claims: proposal.claims,
    choices: proposal.choices ?? NO_CHOICES,
    detail,
  };
}

const NO_CHOICES: readonly Choice[] = [];

/** A notification as a store's atomic step needs it. */
export type NotificationStep = Readonly<ReturnType<typeof notificationStepOf>>;

export function notificationStepOf({ callback, txid, detail }: NotificationRequest) {
  return { source: callback.source, subject: subjectOf(callback), terms: termsOf(callback), txid, detail };
}
