import { z } from 'zod';
import { AMOUNT_SCALE } from '../../values/amount.ts';
import { valuesOf } from '../members.ts';
import { movedTo } from '../moved-amounts.ts';
import { ONE_SYMBOL_NOTE, compileCounter, countingNotes, countingParameters } from './counting.ts';
import { toBound, countText, onlySymbol } from './parameter.ts';
import { type RuleOutcome, allOf, pass } from '../outcome.ts';
import { defineRule } from './rule.ts';

const ONE = 10n ** BigInt(AMOUNT_SCALE);

export const velocityLimit = defineRule({
  name: 'velocity-limit',
  summary: 'The number of callbacks that are approved within a window of time must not exceed a maximum.',
  notes: [
    'The number includes this callback.',
    'In a policy with `movements`, a transaction counts once, or with `to` or `symbol` in `per` once for each ' +
      'recipient and spender, or each asset.',
    ...countingNotes,
    ONE_SYMBOL_NOTE,
    'With `counter`, callbacks of all symbols count together.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({
    ...countingParameters,
    max: countText.describe('The greatest number of approvals that passes.'),
  }),
  bounds: { max: 'maximum' },
  example: `policy: unhurried-payments
callback: payment
when: { source: shop }
rules:
  - velocity-limit: { per: [userId], window: 1m, max: 10 }
`,
  cases: `tests:
  - test: ten payments of a user within a minute pass, and the eleventh passes a minute later
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '2', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '3', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '4', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '5', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '6', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '7', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '8', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '9', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '10', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '11', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: { verdict: FAILURE, rule: velocity-limit#1, values: { asked: '1', max: '10', window: 1m } }
      - source: shop
        payment: { appOrderId: '12', userId: '777', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
      - source: shop
        after: 62s
        payment: { appOrderId: '11', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '1' }
        expect: SUCCESS
`,
  compile: ({ per, window, zone, across, counter: name, max }, context) => {
    const most = toBound(max);
    const [bySymbol, byAddress] = ['symbol', 'to'].map((member) => per?.includes(member) === true);
    const one = name === undefined ? onlySymbol(context) : undefined;
    const counting = { rule: 'velocity-limit', per, window, zone, symbol: one, across, counter: name };
    const counter = compileCounter(counting, context);
    return (
      counter && {
        ...counter.check,
        evaluate: (callback, facts) => {
          const claim = (recipients: readonly string[], asset: { readonly symbol?: string }): RuleOutcome => {
            const payouts = [...new Set(recipients)].map((to) => ({ to, amount: ONE }));
            return counter.claim(callback, { total: ONE, text: '1', payouts, ...asset }, most, facts);
          };
          if (callback.movements === undefined) {
            // The counter checks the addresses if it counts by them.
            return claim(callback.values.get('to') ?? [], {});
          }
          if (!bySymbol) return claim(byAddress ? valuesOf(callback, 'to') : [], {});
          const moved = Map.groupBy(movedTo(callback), ({ symbol }) => symbol);
          const claims = [...moved].map(([symbol, movements]) =>
            claim(
              movements.map(({ to }) => to),
              { symbol },
            ),
          );
          return allOf(claims) ?? counter.lacking(callback, facts) ?? pass('it moves no asset');
        },
      }
    );
  },
});
