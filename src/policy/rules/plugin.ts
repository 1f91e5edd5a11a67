import { z } from 'zod';
import { type PluginAnswer, type PluginQuestion, pluginQuestionKey } from '../facts.ts';
import { checkMember } from '../language/members.ts';
import { type RuleOutcome, pass, refuse } from '../outcome.ts';
import type { Check } from './rule.ts';

const NAME = 'the name that the settings give it: at most 32 of a-z, 0-9 and -, a letter first';

/** The name of a service or a module, as the settings have it. */
export const pluginName = z.string({ error: NAME }).regex(/^[a-z][a-z0-9-]{0,31}$/, { error: NAME });

const WITH_MAX = 32;
const WITH = `a mapping of at most ${WITH_MAX} names and texts, like { profile: withdrawals }`;
const WITH_TEXT = 'a text of at most 1000 characters';

/** Texts that are sent with the question, by name. */
export const withTexts = z
  .record(
    z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/),
    z.string({ error: WITH_TEXT }).max(1000, { error: WITH_TEXT }),
    { error: WITH },
  )
  .refine((texts) => Object.keys(texts).length <= WITH_MAX, { error: WITH })
  .optional();

/** A check that passes only if the plugin answers yes. */
export function compilePluginQuestion(question: Omit<PluginQuestion, 'movements'>): Check {
  const key = pluginQuestionKey(question);
  return {
    pluginQuestions: [question],
    evaluate: (callback, { answers }) => {
      const { movements } = callback;
      if (movements === undefined) return outcomeOf(question, answers.get(key));
      // It is not asked about a transaction whose movements can't be read.
      checkMember(callback, 'to');
      return outcomeOf(question, answers.get(pluginQuestionKey({ ...question, movements: movements.list })));
    },
  };
}

function outcomeOf({ type, name }: PluginQuestion, answer: PluginAnswer | undefined): RuleOutcome {
  const plugin = `${type} ${name}`;
  if (answer?.verdict === 'yes')
    return {
      ...pass(withReason(`${plugin} says yes`, answer), { [type]: name, answer: 'yes' }),
      retryable: true,
    };
  const because =
    answer === undefined
      ? `${plugin} was not asked`
      : withReason(answer.verdict === 'no' ? `${plugin} says no` : `${plugin} did not answer`, answer);
  const values = { [type]: name, answer: answer?.verdict === 'no' ? 'no' : 'failed' };
  return { ...refuse(because, values), retryable: true, failed: answer?.verdict !== 'no' };
}

const withReason = (said: string, { because }: PluginAnswer): string =>
  because === '' ? said : `${said}: ${because}`;
