import { z } from 'zod';
import { knownAssets, wrongText } from '../language/asset-texts.ts';
import { compileExpression } from '../expression/compile.ts';
import { BOUNDS } from '../expression/language.ts';
import { pass, refuse } from '../outcome.ts';
import { defineRule } from './rule.ts';

const REQUIRE_EXAMPLE = `"amount <= 1000 && userId != '666'"`;
const REQUIRE = `an expression of at most ${BOUNDS.characters} characters, like ${REQUIRE_EXAMPLE}`;
const BECAUSE = 'a sentence of at most 500 characters';
const SHOWN_MAX = 120;

/** Members that are not terms: a repeat of the same callback may have other values for them. */
const CHANGING = ['scheme', 'txid'];

export const expression = defineRule({
  name: 'expression',
  summary: 'An expression in CEL over the members of the callback must be true.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    require: z
      .string({ error: REQUIRE })
      .regex(/\S/, { error: REQUIRE })
      .max(BOUNDS.characters, { error: REQUIRE })
      .describe('A condition in CEL. A callback passes if it is true, and is refused otherwise.'),
    because: z
      .string({ error: BECAUSE })
      .regex(/\S/, { error: BECAUSE })
      .max(500, { error: BECAUSE })
      .optional()
      .describe('The reason of a refusal. The default is the expression.'),
  }),
  compile: ({ require: text, because }, context) => {
    const assets = context.isStored ? undefined : knownAssets(context);
    const compiled = compileExpression(
      text,
      { kind: context.callback, hasMovements: context.movements !== undefined },
      (member, each) => assets && wrongText(member, each, assets),
    );
    if (!compiled.ok) return context.fault(['require'], compiled.message, compiled.fix);
    const shown = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 1)}…` : text;
    const passes = `it is true that ${shown}`;
    return {
      compared: { members: compiled.expression.members, effect: 'is another text' },
      evaluate: (callback, facts) => {
        const { holds, error, values } = compiled.expression.evaluate(callback, facts);
        if (holds) return pass(passes, values);
        const reason = because ?? `it is required that ${shown}`;
        const refusal = refuse(error === undefined ? reason : `${reason} (${error})`, values);
        return CHANGING.some((name) => name in values) ? { ...refusal, retryable: true } : refusal;
      },
    };
  },
});
