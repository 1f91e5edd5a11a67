import type { Callback } from '../callback/callback.ts';
import { canonicalJson } from '../values/canonical.ts';
import type { PluginQuestion } from './facts.ts';
import type { Release } from './release.ts';
import { appliesTo } from './when.ts';

/** The key of a question's answer. The same question to the same plugin is asked once. */
export function pluginQuestionKey({ of, name, parameters }: PluginQuestion): string {
  return `${of}:${name}:${canonicalJson(parameters)}`;
}

/**
 * All that must be asked before a callback can be evaluated: by the rules of the policies that apply, each
 * once.
 */
export function pluginQuestionsOf(
  release: Release | undefined,
  callback: Callback,
): ReadonlyMap<string, PluginQuestion> {
  const questions = new Map<string, PluginQuestion>();
  for (const policy of release?.policiesFor(callback) ?? []) {
    if (!policy.rules.some(({ questions: asked }) => asked !== undefined)) continue;
    if (!appliesTo(policy.when, callback).applies) continue;
    for (const question of policy.rules.flatMap((rule) => rule.questions ?? [])) {
      questions.set(pluginQuestionKey(question), question);
    }
  }
  return questions;
}
