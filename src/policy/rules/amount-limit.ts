import { z } from 'zod';
import { formatAmount } from '../../values/amount.ts';
import { amountText } from './parameter.ts';
import { defineRule, pass, refuse } from './rule.ts';

export const amountLimit = defineRule({
  name: 'amount-limit',
  summary: 'The amount of this one callback must lie between two bounds, both included.',
  notes: [
    'Amounts are exact decimals, compared to the last digit.',
    'An unlimited amount (`-1` in a web3 callback) is above every maximum, and has no place under a minimum either: it is refused.',
    'The bounds are in the coin of the callback, whichever that is: name the symbols under `when`.',
    'A withdrawal to several addresses is judged by its total.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z
    .strictObject({
      min: amountText.optional().describe('The least amount that passes.'),
      max: amountText.optional().describe('The greatest amount that passes.'),
    })
    .superRefine(({ min, max }, context) => {
      if (min === undefined && max === undefined) {
        context.addIssue({
          code: 'custom',
          message: 'it has neither min nor max, so it limits nothing',
          params: { cure: 'give at least one of them' },
        });
      }
      if (min !== undefined && max !== undefined && min > max) {
        context.addIssue({
          code: 'custom',
          message: 'min is above max, so nothing could pass',
          params: { cure: 'exchange the two' },
        });
      }
    }),
  example: `policy: small-payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - amount-limit: { min: 0.5, max: 10000 }
`,
  compile: ({ min, max }) => {
    const limits = {
      ...(min === undefined ? {} : { min: formatAmount(min) }),
      ...(max === undefined ? {} : { max: formatAmount(max) }),
    };
    return {
      evaluate: ({ amount }) => {
        if (amount === 'unlimited') return refuse('the amount is unlimited', { amount, ...limits });
        const values = { amount: formatAmount(amount), ...limits };
        if (min !== undefined && amount < min) {
          return refuse(`the amount ${values.amount} is below the minimum ${formatAmount(min)}`, values);
        }
        if (max !== undefined && amount > max) {
          return refuse(`the amount ${values.amount} is above the maximum ${formatAmount(max)}`, values);
        }
        return pass(`the amount ${values.amount} is within the limit`, values);
      },
    };
  },
});
