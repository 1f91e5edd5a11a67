import type { Callback } from '../../../src/callback/callback.ts';
import { evaluate, pluginQuestionsOf } from '../../../src/policy/evaluate.ts';
import { type PluginAnswer, factsAt, pluginQuestionKey } from '../../../src/policy/facts.ts';
import type { Proposal } from '../../../src/policy/proposal.ts';
import { NOON, onePolicy, release } from '../callbacks.ts';

/**
 * What a policy with this one rule says once everybody it asks has answered so, or has not answered at all.
 */
export function answered(rule: string, callback: Callback, answer: PluginAnswer | undefined): Proposal {
  const inForce = release(onePolicy(rule, callback.kind));
  const asked = [...pluginQuestionsOf(inForce, callback).keys()];
  const answers = new Map(answer === undefined ? [] : asked.map((key) => [key, answer]));
  return evaluate(inForce, callback, factsAt(NOON, { answers }));
}

/** The same, where this is the only answer that is there. */
export function answeredFor(
  rule: string,
  callback: Callback,
  question: Parameters<typeof pluginQuestionKey>[0],
): Proposal {
  const answers = new Map([[pluginQuestionKey(question), { verdict: 'yes', because: '' } as const]]);
  return evaluate(release(onePolicy(rule, callback.kind)), callback, factsAt(NOON, { answers }));
}
