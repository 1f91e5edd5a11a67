import { z } from 'zod';
import { type Amount, formatAmount } from '../../values/amount.ts';
import { type AmountBound, amountOrTable, boundFor, byAsset, checkByAsset, isTable } from './parameter.ts';
import { type Outcome, defineRule, pass, refuse } from './rule.ts';

export const amountLimit = defineRule({
  name: 'amount-limit',
  summary: 'The amount of this one callback must lie between two bounds, both included.',
  notes: [
    'Amounts are exact decimals, compared to the last digit.',
    'An unlimited amount (`-1` in a web3 callback) is above every maximum, and has no place under a minimum either: it is refused.',
    'A bound that is one amount is in the coin of the callback, whichever that is: name the symbols under `when`, or give each its own with `by: asset`.',
    'With `by: asset`, a bound is a table of amounts by symbol, and symbols compare exactly, with regard to case. An asset that is missing from every table is refused.',
    'Where `min` and `max` are both tables, every asset with a minimum needs a maximum; one that only `max` names has no minimum.',
    'A web3 callback is counted in the coin of its chain (`main_chain_symbol`); tokens that its call data moves are not in the amount.',
    'A withdrawal to several addresses is judged by its total.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z
    .strictObject({
      min: amountOrTable
        .optional()
        .describe('The least amount that passes; with `by: asset`, also a table of amounts by symbol.'),
      max: amountOrTable
        .optional()
        .describe('The greatest amount that passes; with `by: asset`, also a table of amounts by symbol.'),
      by: byAsset,
    })
    .superRefine(({ by, min, max }, context) => {
      if (min === undefined && max === undefined) {
        context.addIssue({
          code: 'custom',
          message: 'it has neither min nor max, so it limits nothing',
          params: { cure: 'give at least one of them' },
        });
        return;
      }
      checkByAsset(by, { max, min }, context);
      checkOrder(min, max, context);
    }),
  example: `policy: payment-sizes
callback: payment
when: { source: shop }
rules:
  - amount-limit: { by: asset, min: 0.0001, max: { USDT1742: 5000, BTC: 0.1 } }
`,
  cases: `tests:
  - test: each asset passes up to its own maximum, that included
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '5000' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '2', userId: '12345', payCoinSymbol: BTC, orderAmount: '0.1' }
        expect: SUCCESS
  - test: above the maximum, however little, is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: BTC, orderAmount: '0.10000001' }
        expect: { verdict: FAILURE, rule: amount-limit#1, values: { amount: '0.10000001', max: '0.1' } }
  - test: below the minimum is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '0.00009' }
        expect: { verdict: FAILURE, rule: amount-limit#1, values: { amount: '0.00009', min: '0.0001' } }
  - test: an asset without a maximum is refused, whatever the amount
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT9, orderAmount: '1' }
        expect: { verdict: FAILURE, rule: amount-limit#1, because: USDT9 is not in the table }
`,
  compile: ({ min, max }) => ({
    evaluate: ({ amount, symbol }) => judge(amount, symbol, { min, max }),
  }),
});

interface Bounds {
  readonly min: AmountBound | undefined;
  readonly max: AmountBound | undefined;
}

function judge(amount: Amount | 'unlimited', symbol: string, bounds: Bounds): Outcome {
  const min = bounds.min === undefined ? undefined : boundFor(bounds.min, symbol);
  const max = bounds.max === undefined ? undefined : boundFor(bounds.max, symbol);
  const tables = [bounds.min, bounds.max].filter(isTable);
  const values = {
    amount: amount === 'unlimited' ? amount : formatAmount(amount),
    ...(tables.length === 0 ? {} : { symbol }),
    ...(min === undefined ? {} : { min: formatAmount(min) }),
    ...(max === undefined ? {} : { max: formatAmount(max) }),
  };
  const known =
    tables.length > 0 ? tables.some((table) => table.has(symbol)) : min !== undefined || max !== undefined;
  if (!known) return refuse(`${symbol} is not in the table`, values);
  if (amount === 'unlimited') return refuse('the amount is unlimited', values);
  const told = tables.length === 0 ? values.amount : `${values.amount} ${symbol}`;
  if (min !== undefined && amount < min) {
    return refuse(`the amount ${told} is below the minimum ${formatAmount(min)}`, values);
  }
  if (max !== undefined && amount > max) {
    return refuse(`the amount ${told} is above the maximum ${formatAmount(max)}`, values);
  }
  return pass(`the amount ${told} is within the limit`, values);
}

/** A fault for each asset of which nothing could pass, or, where others have a maximum, any amount. */
function checkOrder(min: Bounds['min'], max: Bounds['max'], context: z.RefinementCtx): void {
  if (min === undefined || max === undefined) return;
  const symbols = new Set([min, max].filter(isTable).flatMap((table) => [...table.keys()]));
  for (const symbol of symbols.size > 0 ? symbols : [undefined]) {
    const [least, greatest] = [boundFor(min, symbol ?? ''), boundFor(max, symbol ?? '')];
    if (greatest === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['min', symbol ?? ''],
        message: `${symbol} has a min and no max, so any amount of it above that would pass`,
        params: { cure: `add ${symbol} to max, or leave it out of min` },
      });
    }
    if (least === undefined || greatest === undefined || least <= greatest) continue;
    context.addIssue({
      code: 'custom',
      path: symbol === undefined ? [] : [isTable(max) ? 'max' : 'min', symbol],
      message: `min is above max${symbol === undefined ? '' : ` for ${symbol}`}, so nothing could pass`,
      params: { cure: 'exchange the two' },
    });
  }
}
