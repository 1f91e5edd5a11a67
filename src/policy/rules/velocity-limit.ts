import { z } from 'zod';
import { AMOUNT_SCALE } from '../../values/amount.ts';
import { valuesOf } from '../members.ts';
import { compileCounting, countingNotes, countingParameters } from './counting.ts';
import { countText } from './parameter.ts';
import { defineRule } from './rule.ts';

const ONE = 10n ** BigInt(AMOUNT_SCALE);

export const velocityLimit = defineRule({
  name: 'velocity-limit',
  summary: 'No more than so many callbacks are approved within a window of time, this one included.',
  notes: countingNotes,
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    ...countingParameters,
    max: countText.describe('The greatest number of approvals that passes.'),
  }),
  example: `policy: unhurried-payments
callback: payment
when: { source: shop }
rules:
  - velocity-limit: { per: [userId], window: 1m, max: 10 }
`,
  compile: ({ per, window, zone, max }, context) =>
    compileCounting(
      {
        rule: 'velocity-limit',
        per,
        window,
        zone,
        max,
        count: (callback) => ({
          total: ONE,
          payouts: valuesOf(callback, 'to').map((to) => ({ to, amount: ONE })),
        }),
      },
      context,
    ),
});
