import type { Callback, Verdict } from '../callback/callback.ts';
import { usageError } from '../errors.ts';
import { type DecideParts, settleProposals } from '../pipeline/decide.ts';
import { type Explanation, explain, standingRefusal } from '../policy/explain.ts';
import type { Proposal } from '../policy/proposal.ts';
import { type PolicyMovementTexts, movementTexts } from '../policy/transaction-text.ts';
import { formatSpan } from '../store/clock-state.ts';
import type { SettlePreview, Store } from '../store/store.ts';

export interface SimulationParts extends Omit<DecideParts, 'store'> {
  readonly store: Pick<Store, 'preview' | 'entry'>;
}

/** The decision that a callback would get now. */
export interface LiveSimulation extends Explanation {
  readonly verdict: Verdict;
  readonly code: string;
  /** The revision in force; the empty text if there is none. */
  readonly revision: string;
  /** What a web3 transaction moves, for each policy with `movements` that may apply. */
  readonly movements: readonly PolicyMovementTexts[];
  /** The journal entry of the decision that would be repeated; the empty text if none would be. */
  readonly of: string;
}

/**
 * Says what the callback would be answered now, from live policies, prices, lists, limits and orders, in one
 * step of the store that only reads. Plugins are asked by
 * `parts.ask`. Throws USAGE for a notification, which
 * no policy decides, and STORE_… if the store can't be read.
 */
export async function simulateLive(
  parts: SimulationParts,
  callback: Callback,
  scheme: string | undefined,
): Promise<LiveSimulation> {
  if (callback.question.type === 'sign_success') {
    throw usageError(
      'sign_success is a notification, which no policy decides. Simulate sign_start or sign_prepare',
    );
  }
  const startedMs = parts.clock();
  const trace = {
    elapsedMs: () => parts.clock() - startedMs,
    measure: <T>(_step: string, work: () => T) => work(),
    measureAsync: <T>(_step: string, work: () => Promise<T>) => work(),
  };
  const settled = await settleProposals(parts, trace, { callback, scheme }, (proposed) =>
    parts.store.preview({ callback, proposal: proposed.proposal, scheme: proposed.scheme, detail: '' }),
  );
  if (!settled.ok) return undecided(settled.code, settled.because);
  const { proposal, result } = settled;
  if (result.outcome !== 'jumped') return explained(parts, callback, proposal, result);
  const ahead = formatSpan(result.aheadMs);
  return undecided(
    'CLOCK_JUMPED',
    `the store's clock is ${ahead} ahead of its time; see \`countersign clock show\``,
  );
}

const undecided = (code: string, because: string): LiveSimulation => ({
  verdict: 'FAILURE',
  code,
  because,
  deciding: undefined,
  next: undefined,
  rules: [],
  revision: '',
  movements: [],
  of: '',
});

type Decided = Extract<SettlePreview, { readonly verdict: Verdict }>;

async function explained(
  { store, policies }: SimulationParts,
  callback: Callback,
  proposal: Proposal,
  decided: Decided,
): Promise<LiveSimulation> {
  const of = decided.outcome === 'repeated' ? decided.of : '';
  const release = policies.current();
  const { verdict, code, claims } = decided;
  let explanation = explain(proposal, { code, claims, of });
  if (of !== '' && code === 'RULE_REFUSED' && explanation.deciding === undefined) {
    const entry = await store.entry(callback.source, of);
    explanation = explain(proposal, { code, claims, of, first: entry && standingRefusal(entry) });
  }
  return {
    ...explanation,
    verdict,
    code,
    revision: proposal.revision,
    // None if other policies have come into force since: the next simulation has those.
    movements: release?.revision === proposal.revision ? movementTexts(release, callback) : [],
    of,
  };
}
