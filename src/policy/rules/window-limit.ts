import { z } from 'zod';
import { memberNamed } from '../members.ts';
import { compileCounting, countingNotes, countingParameters } from './counting.ts';
import { amountText, pinnedSymbol } from './parameter.ts';
import { defineRule } from './rule.ts';

export const windowLimit = defineRule({
  name: 'window-limit',
  summary:
    'The amounts approved within a window of time, this one included, must not sum to more than a maximum.',
  notes: [
    'Amounts of different coins make no sum: name exactly one symbol under `when`, or count by `symbol`.',
    'An unlimited amount (`-1` in a web3 callback) is refused.',
    ...countingNotes,
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    ...countingParameters,
    max: amountText.describe('The greatest sum that passes.'),
  }),
  example: `policy: daily-payments
callback: payment
when: { source: shop, symbol: USDT1742 }
rules:
  - window-limit: { per: [userId], window: 24h, max: 50000 }
  - window-limit: { window: month, zone: Europe/Berlin, max: 2000000 }
`,
  compile: ({ per, window, zone, max }, context) => {
    const oneCoin =
      pinnedSymbol(context) !== undefined ||
      per?.some((name) => memberNamed(context.callback, name) === 'symbol') === true;
    if (!oneCoin) {
      context.fault(
        [],
        'it would sum amounts of different coins',
        'name exactly one symbol under when, or add symbol to per',
      );
    }
    return compileCounting(
      {
        rule: 'window-limit',
        per,
        window,
        zone,
        max,
        count: ({ amount, payouts }) =>
          amount === 'unlimited' ? 'the amount is unlimited' : { total: amount, payouts },
      },
      context,
    );
  },
});
