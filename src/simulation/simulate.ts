import { type Callback, type Verdict, txidOf } from '../callback/callback.ts';
import { evaluate } from '../policy/evaluate.ts';
import { type Explanation, type RefusingRule, explain, standingRefusal } from '../policy/explain.ts';
import { type PeoplesApproval, type PluginAnswer, type PriceTable, factsAt } from '../policy/facts.ts';
import { type Proposal, proposalToJson } from '../policy/proposal.ts';
import type { Release } from '../policy/release.ts';
import type { SimulationStore } from '../store/embedded/simulation.ts';
import { NOTIFICATION_REASONS, type NotificationResult, type SettleResult } from '../store/store.ts';

/** The data that a decision depends on, besides the callback, the policies and the store. */
export interface EvaluationContext {
  readonly atMs: number;
  readonly scheme: string | undefined;
  readonly group: string | undefined;
  readonly prices: PriceTable;
  /** By pluginQuestionKey. A missing answer counts as failed. */
  readonly answers: ReadonlyMap<string, PluginAnswer>;
  /** What people had said. */
  readonly approval?: PeoplesApproval | undefined;
  /** Whether a freeze excepted only what people approve; by default not. */
  readonly onlyApproved?: boolean;
}

/** The outcome of a callback. Notifications have no proposal. */
export type Simulated =
  | {
      readonly verdict: Verdict;
      readonly code: string;
      readonly proposal: Proposal;
      readonly result: SettleResult;
      /** For a repeated refusal, the rule by which it stands. */
      readonly first: RefusingRule | undefined;
    }
  | { readonly verdict: Verdict; readonly code: NotificationResult['code']; readonly proposal: undefined };

/**
 * Decides a callback as the pipeline does: evaluate, then settle. The release must be in force in the store.
 * If the store finds the proposal stale or expired, the callback is refused, as in the pipeline after a few
 * attempts. Subjects are not bound to a scheme here, since the settings decide about that.
 */
export function simulate(
  { store, release }: { readonly store: SimulationStore; readonly release: Release },
  callback: Callback,
  { atMs, ...facts }: EvaluationContext,
): Simulated {
  if (callback.question.type === 'sign_success') {
    const { verdict, code } = store.recordNotification(
      { callback, txid: txidOf(callback), detail: '' },
      atMs,
    );
    return { verdict, code, proposal: undefined };
  }
  if (facts.approval !== undefined) store.haveRequest(callback.source, facts.approval, atMs);
  const proposal = evaluate(release, callback, factsAt(atMs, facts));
  // A repeat of a refusal with alternatives is explained by this detail, because perhaps another rule of an
  // alternative fails first now.
  const mayChange = proposal.choices !== undefined;
  const detail = mayChange ? JSON.stringify({ proposal: proposalToJson(proposal) }) : '';
  const result = store.settle({ callback, proposal, scheme: '', detail }, atMs);
  if (result.outcome === 'stale' || result.outcome === 'expired' || result.outcome === 'jumped') {
    return { verdict: 'FAILURE', code: 'STALE_POLICIES', proposal, result, first: undefined };
  }
  const refusal = result.outcome === 'repeated' ? store.refusal(result.of) : undefined;
  const first = refusal && standingRefusal(refusal);
  return { verdict: result.verdict, code: result.code, proposal, result, first };
}

/** Why a callback got its verdict. */
export function explainSimulated(simulated: Simulated): Explanation {
  if (simulated.proposal === undefined) {
    return { deciding: undefined, next: undefined, because: NOTIFICATION_REASONS[simulated.code], rules: [] };
  }
  const { proposal, result, code, first } = simulated;
  const of = result.outcome === 'repeated' ? result.of : '';
  return explain(proposal, { code, claims: 'claims' in result ? result.claims : [], of, first });
}
