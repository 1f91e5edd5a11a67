import { z } from 'zod';
import { pass } from '../outcome.ts';
import { defineRule } from './rule.ts';

const BECAUSE = 'a reason of 1 to 500 characters';

export const passAlways = defineRule({
  name: 'pass',
  summary: 'Every callback that the policy applies to passes, for the reason that you give.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    because: z
      .string({ error: BECAUSE })
      .min(1, { error: BECAUSE })
      .max(500, { error: BECAUSE })
      .describe('Why everything else passes. Decisions state it.'),
  }),
  compile: ({ because }) => ({ alwaysPasses: true, evaluate: () => pass(because) }),
});
