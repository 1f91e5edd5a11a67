import { z } from 'zod';
import { type Callback, subjectOf } from '../callback/callback.ts';
import type { PluginQuestion } from '../policy/facts.ts';
import { formatAmount } from '../values/amount.ts';
import type { AskedCallback } from './module-interface.ts';

const texts = z.record(z.string(), z.string());

/** What is told of a callback to whoever is asked about it. Throws if the policy gives anything but texts. */
export function questionOf({ parameters }: PluginQuestion, callback: Callback, nowMs: number): AskedCallback {
  const { source, kind, id, question, values, payouts } = callback;
  const members = [...values].flatMap(([name, held]): [string, string | readonly string[]][] => {
    const [only, ...others] = held;
    if (only === undefined) return [];
    return [[name, others.length === 0 ? only : held]];
  });
  return {
    version: 1,
    at: new Date(nowMs).toISOString(),
    source,
    kind,
    id,
    subject: subjectOf(callback),
    question: { type: question.type, speedUp: question.speedUp },
    members: Object.fromEntries(members),
    payouts: payouts.map(({ to, amount }) => ({ to, amount: formatAmount(amount) })),
    with: texts.parse(parameters),
  };
}
