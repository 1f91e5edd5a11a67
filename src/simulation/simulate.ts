import { type Callback, type Verdict, txidOf } from '../callback/callback.ts';
import { NOTIFICATION_REASONS } from '../pipeline/decide.ts';
import { evaluate } from '../policy/evaluate.ts';
import { type Explanation, type Refusing, explain, explainEntry } from '../policy/explain.ts';
import { type PluginAnswer, type PriceTable, factsAt } from '../policy/facts.ts';
import { type Proposal, proposalToJson } from '../policy/proposal.ts';
import type { Release } from '../policy/release.ts';
import type { SimulationStore } from '../store/embedded/simulation.ts';
import type { NotificationResult, SettleResult } from '../store/store.ts';

/** What a callback is decided with, beside its own members. */
export interface EvaluationContext {
  readonly atMs: number;
  readonly scheme: string | undefined;
  readonly prices: PriceTable;
  /** By pluginQuestionKey. One that is missing counts as failed. */
  readonly answers: ReadonlyMap<string, PluginAnswer>;
}

/** How a callback came out: a question with what the policies proposed, a notice without. */
export type Simulated =
  | {
      readonly verdict: Verdict;
      readonly code: string;
      readonly proposal: Proposal;
      readonly result: SettleResult;
      /** Of a refusal that is repeated: the rule that made it first. */
      readonly first: Refusing | undefined;
    }
  | { readonly verdict: Verdict; readonly code: NotificationResult['code']; readonly proposal: undefined };

/**
 * Decides a callback as the pipeline does: evaluate, then settle. The release must be in force in the store.
 * A proposal that the store takes for stale or for another instant is refused, as the pipeline refuses it
 * after a few attempts. No subject is bound to a scheme here: whether it is, is up to the settings.
 */
export function simulate(
  { store, release }: { readonly store: SimulationStore; readonly release: Release },
  callback: Callback,
  { atMs, scheme, prices, answers }: EvaluationContext,
): Simulated {
  if (callback.question.type === 'sign_success') {
    const { verdict, code } = store.notice({ callback, txid: txidOf(callback), detail: '' }, atMs);
    return { verdict, code, proposal: undefined };
  }
  const proposal = evaluate(release, callback, factsAt(atMs, { scheme, prices, answers }));
  // Only a refusal that is final is ever repeated without a rule that refuses.
  const isFinal = proposal.final || proposal.claims.some((claim) => claim.final);
  const detail = isFinal ? JSON.stringify({ proposal: proposalToJson(proposal) }) : '';
  const result = store.settle({ callback, proposal, scheme: '', detail }, atMs);
  if (result.outcome === 'stale' || result.outcome === 'expired' || result.outcome === 'jumped') {
    return { verdict: 'FAILURE', code: 'STALE_POLICIES', proposal, result, first: undefined };
  }
  const refusal = result.outcome === 'repeated' ? store.refusal(result.of) : undefined;
  const first = refusal && explainEntry(refusal)?.deciding;
  return { verdict: result.verdict, code: result.code, proposal, result, first };
}

/** Why a callback came out as it did. */
export function explainSimulated(simulated: Simulated): Explanation {
  if (simulated.proposal === undefined) {
    return { deciding: undefined, next: undefined, because: NOTIFICATION_REASONS[simulated.code], rules: [] };
  }
  const { proposal, result, code, first } = simulated;
  return explain(proposal, { code, claims: 'claims' in result ? result.claims : [], first });
}
