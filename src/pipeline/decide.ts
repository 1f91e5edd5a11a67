import type { Callback } from '../callback/callback.ts';
import { subjectOf } from '../callback/callback.ts';
import { failure } from '../errors.ts';
import { toDetail } from '../policy/detail.ts';
import { evaluate } from '../policy/evaluate.ts';
import { explain } from '../policy/explain.ts';
import type { Proposal } from '../policy/proposal.ts';
import type { Release } from '../policy/release.ts';
import type { Authenticated } from '../signature/authenticate.ts';
import type { SettleRequest, SettleResult, Store } from '../store/store.ts';
import { canonicalJson, sha256Hex } from '../values/canonical.ts';
import type { Clock } from '../values/clock.ts';
import type { Outcome, Track } from './outcome.ts';

/** The policies as they are followed from the store. */
export interface Following {
  current(): Release | undefined;
  /** Reads what is in force now; resolves when `current` is that, or when it can't be. */
  refresh(): Promise<void>;
}

export interface DecideParts {
  readonly store: Store;
  readonly following: Following;
  readonly clock: Clock;
  readonly answerTimeoutMs: number;
}

/** A parsed callback with what the journal keeps of its arrival. */
export interface Question {
  readonly callback: Callback;
  readonly body: string;
  readonly sender: Authenticated;
  readonly address: string;
}

/** How often a proposal is made anew because the policies, or the period it was made for, changed in between. */
const ATTEMPTS = 3;

/** Evaluate and settle: the last two steps. What the store says is the decision; nothing here can make a yes of a no. */
export async function decide(parts: DecideParts, run: Track, question: Question): Promise<Outcome> {
  const { callback } = question;
  const terms = sha256Hex(canonicalJson(callback.terms));
  if (callback.question.type === 'sign_success') return notice(parts, run, question, terms);

  let nowMs = parts.clock();
  for (let attempt = 0; attempt < ATTEMPTS && run.elapsedMs() < parts.answerTimeoutMs; attempt++) {
    const at = nowMs;
    const proposal = run.timed('evaluate', () => evaluate(parts.following.current(), callback, at));
    const request = settleRequest(question, terms, proposal, run);
    const result = await run.timedAsync('settle', () => parts.store.settle(request));
    if (result.outcome === 'stale') await parts.following.refresh();
    else if (result.outcome !== 'elsewhen') return settled(run, proposal, result);
    nowMs = result.nowMs;
  }
  return run.failed(
    failure(
      'STALE_POLICIES',
      `the policies in force could not be followed in ${ATTEMPTS} attempts; see /readyz`,
    ),
  );
}

function settleRequest(question: Question, terms: string, proposal: Proposal, run: Track): SettleRequest {
  const { callback } = question;
  return {
    source: callback.source,
    subject: subjectOf(callback),
    terms,
    question: callback.question.type,
    speedUp: callback.question.speedUp,
    revision: proposal.revision,
    validFromMs: proposal.validFromMs,
    validUntilMs: proposal.validUntilMs,
    approves: proposal.approves,
    refusalCode: proposal.refusal ?? 'RULE_REFUSED',
    final: proposal.final,
    claims: proposal.claims,
    detail: detailOf(question, run, { proposal: toDetail(proposal) }),
  };
}

function settled(
  run: Track,
  proposal: Proposal,
  result: Exclude<SettleResult, { outcome: 'stale' | 'elsewhen' }>,
): Outcome {
  const { deciding, because } = explain(proposal, result);
  return run.end({
    verdict: result.verdict,
    outcome: result.outcome,
    code: result.code,
    because: result.outcome === 'repeated' ? `${because} (decided before, as ${result.of})` : because,
    rule: deciding === undefined ? undefined : `${deciding.policy}/${deciding.rule}`,
    revision: proposal.revision,
    decision: result.id,
    alarm: result.code === 'TERMS_CHANGED',
  });
}

export const NOTICE_REASONS = {
  NOTED: 'signed as approved',
  SIGNED_WITHOUT_APPROVAL: 'signed, but no sign_start with these terms stands approved',
  TXID_UNEXPECTED: 'signed once more under another txid, without an approved speed-up',
  FROZEN: 'signed as approved, but all is frozen',
} as const;

/** `sign_success`: it tells, and asks nothing of the policies. */
async function notice(parts: DecideParts, run: Track, question: Question, terms: string): Promise<Outcome> {
  const { callback } = question;
  const txid = callback.kind === 'payment' ? '' : (callback.txid ?? '');
  const { source } = callback;
  const detail = detailOf(question, run, { txid });
  const result = await run.timedAsync('settle', () =>
    parts.store.notice({ source, subject: subjectOf(callback), terms, txid, detail }),
  );
  return run.end({
    verdict: result.verdict,
    outcome: 'notice',
    code: result.code,
    because: NOTICE_REASONS[result.code],
    decision: result.id,
    alarm: result.code === 'SIGNED_WITHOUT_APPROVAL' || result.code === 'TXID_UNEXPECTED',
    data: { txid },
  });
}

function detailOf(
  { callback, body, sender, address }: Question,
  run: Track,
  more: Readonly<Record<string, unknown>>,
): string {
  return JSON.stringify({
    requestId: run.requestId,
    address,
    by: sender.by,
    kind: callback.kind,
    question: callback.question,
    terms: callback.terms,
    unknown: callback.unknown,
    body,
    plaintext: sender.plaintext,
    ...more,
  });
}
