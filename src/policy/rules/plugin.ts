import { z } from 'zod';
import type { PluginAnswer, PluginQuestion } from '../facts.ts';
import { pluginQuestionKey } from '../plugins.ts';
import { type Check, type Outcome, pass, refuse } from './rule.ts';

const NAME = 'the name that the settings give it: at most 32 of a-z, 0-9 and -, a letter first';

/** The name of a service or a module, as the settings have it. */
export const pluginName = z.string({ error: NAME }).regex(/^[a-z][a-z0-9-]{0,31}$/, { error: NAME });

const WITH_MAX = 32;
const WITH = `a mapping of at most ${WITH_MAX} names and texts, like { profile: withdrawals }`;
const WITH_TEXT = 'a text of at most 1000 characters';

/** Texts that go along with the question, by name. */
export const withTexts = z
  .record(
    z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/),
    z.string({ error: WITH_TEXT }).max(1000, { error: WITH_TEXT }),
    { error: WITH },
  )
  .refine((texts) => Object.keys(texts).length <= WITH_MAX, { error: WITH })
  .optional();

/** What holds of every rule that needs somebody else's answer. */
export const pluginNotes: readonly string[] = [
  'It is asked for every callback that the policy applies to, each repeat of one included, before any rule is evaluated and whatever the other rules say; in `mode: observe` as well.',
  'All that a callback needs to be answered is asked at once, and the same question once, however many rules ask it.',
  'A refusal is afresh: the next repeat is asked anew, so that a change of mind counts, in both directions.',
  'Do not write `refusals: final` in the same policy: what was refused during an outage would be refused for good.',
  'The answer is in the journal with the decision, so that a backtest decides again without asking.',
];

/** A check that passes only if whoever is asked says yes. */
export function compilePluginQuestion(question: PluginQuestion): Check {
  const key = pluginQuestionKey(question);
  return { questions: [question], evaluate: (_callback, { answers }) => judged(question, answers.get(key)) };
}

function judged({ of, name }: PluginQuestion, answer: PluginAnswer | undefined): Outcome {
  const whom = `${of} ${name}`;
  if (answer?.verdict === 'yes')
    return pass(withReason(`${whom} says yes`, answer), { [of]: name, answer: 'yes' });
  const because =
    answer === undefined
      ? `${whom} was not asked`
      : withReason(answer.verdict === 'no' ? `${whom} says no` : `${whom} did not answer`, answer);
  const values = { [of]: name, answer: answer?.verdict === 'no' ? 'no' : 'failed' };
  return { ...refuse(because, values), afresh: true };
}

const withReason = (said: string, { because }: PluginAnswer): string =>
  because === '' ? said : `${said}: ${because}`;
