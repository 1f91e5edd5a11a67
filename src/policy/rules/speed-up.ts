import { z } from 'zod';
import { durationText, wholeNumberText } from './parameter.ts';
import { pass, refuse } from '../outcome.ts';
import { defineRule } from './rule.ts';

const NOT_ALLOWED = 'false; to allow speed-ups, give max and within instead';

export const speedUp = defineRule({
  name: 'speed-up',
  summary:
    'A speed-up (`pending_round: true`) must come soon after the approval of the original, and ' +
    'not too often.',
  notes: [
    'A callback that is not a speed-up passes.',
    'A speed-up is refused unless the original is approved: the same question (`sign_prepare` ' +
      'or `sign_start`) without `pending_round`, about the same withdrawal or transaction, with ' +
      'the same terms, at most `within` ago.',
    'Speed-ups are distinguished by the txids that `sign_success` reported. Without a new txid ' +
      'in between, a speed-up is a repeat of the one before, and counts once.',
    'Only approved speed-ups count. Those of `sign_prepare` and of `sign_start` count ' +
      'separately. Without this rule, their number is unlimited.',
    'In a limit over time, a speed-up counts in place of the original, from its own time on.',
    'A refusal is not final if the state that it depends on can change: each repeat is decided again.',
  ],
  callbacks: ['transfer', 'web3'],
  parameters: z
    .strictObject({
      max: wholeNumberText
        .optional()
        .describe('The greatest number of approved speed-ups of one withdrawal or transaction.'),
      within: durationText
        .optional()
        .describe('How long after the approval a speed-up may come, from 1s to 92d, like 90s, 10m or 24h.'),
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
  bounds: { max: 'maximum', within: 'maximum' },
  example: `policy: speed-ups
callback: transfer
when: { source: vault }
rules:
  - speed-up: { max: 1, within: 24h }
`,
  cases: `tests:
  - test: a withdrawal passes, and so does its speed-up
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { type: sign_start, request_id: r1, from: bc1qfrom, to: bc1qone, amount: '0.5', symbol: BTC }
        expect: SUCCESS
      - source: vault
        after: 24h
        transfer:
          { type: sign_start, request_id: r1, pending_round: true, from: bc1qfrom, to: bc1qone,
            amount: '0.5', symbol: BTC }
        expect: SUCCESS
  - test: a speed-up that comes too late is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { type: sign_start, request_id: r1, from: bc1qfrom, to: bc1qone, amount: '0.5', symbol: BTC }
        expect: SUCCESS
      - source: vault
        after: 86401s
        transfer:
          { type: sign_start, request_id: r1, pending_round: true, from: bc1qfrom, to: bc1qone,
            amount: '0.5', symbol: BTC }
        expect: { verdict: FAILURE, rule: speed-up#1, values: { max: '1', within: 24h } }
  - test: a speed-up of a withdrawal that was never approved is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: vault
        transfer:
          { type: sign_start, request_id: r1, pending_round: true, from: bc1qfrom, to: bc1qone,
            amount: '0.5', symbol: BTC }
        expect: { verdict: FAILURE, rule: speed-up#1 }
`,
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
