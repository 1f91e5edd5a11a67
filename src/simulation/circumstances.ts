import { evaluate } from '../policy/evaluate.ts';
import { type Answer, type PriceTable, factsAt } from '../policy/facts.ts';
import { inquiriesOf } from '../policy/plugins.ts';
import type { Release } from '../policy/release.ts';
import type { RecordedCallback, RecordedEntry } from './record.ts';
import type { Circumstances } from './rehearse.ts';

const VERDICTS = ['yes', 'no', 'failed'] as const;

/**
 * What a recorded callback is decided with. If the candidate asks what was not asked then, the answer is taken that leads to
 * what was decided then, so that at least the state goes on as it did; `unasked` says so, unless no answer would matter.
 */
export function circumstancesOf(
  release: Release,
  { atMs, verdict }: RecordedEntry,
  { callback, scheme, answers }: RecordedCallback,
  prices: PriceTable,
): { readonly circumstances: Circumstances; readonly unasked: string | undefined } {
  const known: Circumstances = { atMs, scheme, prices, answers };
  const missing = [...inquiriesOf(release, callback)].filter(([key]) => !answers.has(key));
  if (missing.length === 0) return { circumstances: known, unasked: undefined };
  const supposed = VERDICTS.map(
    (each): { readonly circumstances: Circumstances; readonly approves: boolean } => {
      const answer: Answer = { verdict: each, because: `${each}, supposed by the backtest` };
      const all = new Map([...answers, ...missing.map(([key]) => [key, answer] as const)]);
      const { approves } = evaluate(release, callback, factsAt(atMs, { scheme, prices, answers: all }));
      return { circumstances: { ...known, answers: all }, approves };
    },
  );
  const alike = supposed.every(({ approves }) => approves === supposed[0]?.approves);
  const chosen = supposed.find(({ approves }) => approves === (verdict === 'SUCCESS')) ?? supposed.at(-1);
  const names = [...new Set(missing.map(([, { of, name }]) => `${of} ${name}`))].join(', ');
  return {
    circumstances: chosen?.circumstances ?? known,
    unasked: alike ? undefined : `it depends on what ${names} would answer, and was not asked then`,
  };
}
