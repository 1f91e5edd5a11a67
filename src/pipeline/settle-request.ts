import { type Callback, subjectOf } from '../callback/callback.ts';
import type { Proposal } from '../policy/proposal.ts';
import type { NotificationRequest, SettleRequest } from '../store/store.ts';
import { canonicalJson, sha256Hex } from '../values/canonical.ts';

/** What two callbacks about one subject must agree in, as the store compares it. */
export function termsOf(callback: Callback): string {
  return sha256Hex(canonicalJson(callback.terms));
}

/**
 * What the store is asked to settle, from what evaluate proposed; `scheme` as SettleRequest has it, `detail`
 * is for the journal.
 */
export function settleRequestOf(
  callback: Callback,
  { terms, scheme, detail }: Pick<SettleRequest, 'terms' | 'scheme' | 'detail'>,
  proposal: Proposal,
): SettleRequest {
  return {
    source: callback.source,
    subject: subjectOf(callback),
    terms,
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

/** What the store is told of a `sign_success`. */
export function notificationRequestOf(
  callback: Callback,
  terms: string,
  detail: string,
): NotificationRequest {
  const txid = callback.kind === 'payment' ? '' : (callback.txid ?? '');
  return { source: callback.source, subject: subjectOf(callback), terms, txid, detail };
}
