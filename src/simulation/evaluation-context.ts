import { evaluate } from '../policy/evaluate.ts';
import { type PluginAnswer, type PriceTable, factsAt } from '../policy/facts.ts';
import { pluginQuestionsOf } from '../policy/plugins.ts';
import type { Release } from '../policy/release.ts';
import type { RecordedCallback, RecordedEntry } from './record.ts';
import type { EvaluationContext } from './simulate.ts';

const VERDICTS = ['yes', 'no', 'failed'] as const;

/**
 * What a recorded callback is decided with. If the candidate asks what was not asked then, the answer is
 * taken that leads to what was decided then, so that at least the state goes on as it did; `unasked` says so,
 * unless no answer would matter.
 */
export function evaluationContextOf(
  release: Release,
  { atMs, verdict }: RecordedEntry,
  { callback, scheme, answers }: RecordedCallback,
  prices: PriceTable,
): { readonly context: EvaluationContext; readonly unasked: string | undefined } {
  const known: EvaluationContext = { atMs, scheme, prices, answers };
  const missing = [...pluginQuestionsOf(release, callback)].filter(([key]) => !answers.has(key));
  if (missing.length === 0) return { context: known, unasked: undefined };
  const supposed = VERDICTS.map(
    (each): { readonly context: EvaluationContext; readonly approves: boolean } => {
      const answer: PluginAnswer = { verdict: each, because: `${each}, supposed by the backtest` };
      const all = new Map([...answers, ...missing.map(([key]) => [key, answer] as const)]);
      const { approves } = evaluate(release, callback, factsAt(atMs, { scheme, prices, answers: all }));
      return { context: { ...known, answers: all }, approves };
    },
  );
  const alike = supposed.every(({ approves }) => approves === supposed[0]?.approves);
  const chosen = supposed.find(({ approves }) => approves === (verdict === 'SUCCESS')) ?? supposed.at(-1);
  const names = [...new Set(missing.map(([, { of, name }]) => `${of} ${name}`))].join(', ');
  return {
    context: chosen?.context ?? known,
    unasked: alike ? undefined : `it depends on what ${names} would answer, and was not asked then`,
  };
}
