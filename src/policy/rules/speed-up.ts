import { z } from 'zod';
import { HIGHER, looserIf } from '../language/looser.ts';
import { durationText, wholeNumberText } from '../language/parameter.ts';
import { pass, refuse } from '../outcome.ts';
import { defineRule } from './rule.ts';

const NOT_ALLOWED = 'false; to allow speed-ups, give max and within instead';

export const speedUp = defineRule({
  name: 'speed-up',
  summary:
    'A speed-up (`pending_round: true`) must come soon after the approval of the original, and ' +
    'not too often.',
  callbacks: ['transfer', 'web3'],
  parameters: z
    .strictObject({
      max: wholeNumberText
        .optional()
        .describe('The greatest number of approved speed-ups of one withdrawal or transaction.')
        .register(looserIf, HIGHER),
      within: durationText
        .optional()
        .describe('How long after the approval a speed-up may come, from 1s to 92d, like 90s, 10m or 24h.')
        .register(looserIf, HIGHER),
      allowed: z
        .string({ error: NOT_ALLOWED })
        .regex(/^false$/, { error: NOT_ALLOWED })
        .optional()
        .describe('`false`: no speed-up passes. Leave `max` and `within` out.'),
    })
    .superRefine(({ max, within, allowed }, context) => {
      const fault = (path: string[], message: string, fix: string): void => {
        context.addIssue({ code: 'custom', path, message, params: { fix } });
      };
      if (allowed !== undefined) {
        if (max === undefined && within === undefined) return;
        fault(
          [],
          'it allows no speed-up, but has a limit for speed-ups',
          'leave out allowed, or max and within',
        );
      } else if (max === undefined || within === undefined) {
        const missing = max === undefined ? 'max' : 'within';
        fault(
          [],
          `${missing} is missing`,
          'give max and within, like { max: 3, within: 24h }, or allowed: false',
        );
      }
    }),
  compile: ({ max, within }) => ({
    evaluate: ({ question }) => {
      if (!question.speedUp) return pass('it is not a speed-up');
      if (max === undefined || within === undefined) return refuse('speed-ups are not allowed');
      return {
        verdict: 'claim',
        because: `a speed-up within ${within.text} of the approval, one of at most ${max}`,
        values: { max: String(max), within: within.text },
        claims: [{ type: 'speed-up', max, withinMs: within.ms }],
        retryable: true,
      };
    },
  }),
});
