import { z } from 'zod';
import { memberNamed } from '../members.ts';
import { amountsOf } from '../moved-amounts.ts';
import { ONE_SYMBOL_NOTE, compileCounter, countingNotes, countingParameters } from './counting.ts';
import {
  amountOrTable,
  approvalsOnly,
  boundLookup,
  byAsset,
  checkApprovals,
  checkByAsset,
  onlySymbol,
  warnOfUnusedSymbols,
} from './parameter.ts';
import { allOf, pass, refuse } from '../outcome.ts';
import type { RuleContext } from '../rule-context.ts';
import { defineRule } from './rule.ts';

export const windowLimit = defineRule({
  name: 'window-limit',
  summary: 'The sum of the amounts that are approved within a window of time must not exceed a maximum.',
  notes: [
    'The sum includes this callback.',
    'Amounts of different coins can’t be summed. Name exactly one symbol under `when`, add ' +
      '`symbol` to `per`, or use `by: asset`. For one limit over all coins, use value-limit.',
    'With `by: asset`, `max` is a table of amounts by symbol. Each asset has its own count. ' +
      'Symbols are case-sensitive.',
    'With `by: asset`, an asset that is not in the table is refused.',
    'An unlimited amount (`-1` in a web3 callback) is refused.',
    'In a policy with `movements`, the sum of each asset over the transaction counts. Otherwise, only the ' +
      'native coins of a web3 transaction count.',
    ...countingNotes,
    ONE_SYMBOL_NOTE,
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z
    .strictObject({
      ...countingParameters,
      max: amountOrTable.describe(
        'The greatest sum that passes. With `by: asset`, a table of amounts by symbol.',
      ),
      by: byAsset,
      approvals: approvalsOnly,
    })
    .superRefine(({ by, max }, context) => {
      checkByAsset(by, { max }, context);
    }),
  bounds: { max: 'maximum' },
  example: `policy: daily-payments
callback: payment
when: { source: shop }
rules:
  - window-limit: { by: asset, per: [userId], window: 24h, max: { USDT1742: 50000, BTC: 0.5 } }
  - window-limit: { by: asset, window: month, zone: Europe/Berlin, max: { USDT1742: 2000000, BTC: 20 } }
`,
  cases: `tests:
  - test: a user's payments of a day pass up to the maximum of their coin, inclusive
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '30000' }
        expect: SUCCESS
      - source: shop
        after: 1h
        payment: { appOrderId: '2', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '20000' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '3', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '0.01' }
        expect:
          { verdict: FAILURE, rule: window-limit#1, values: { asked: '0.01', max: '50000', window: 24h } }
      - source: shop
        payment: { appOrderId: '4', userId: '12345', payCoinSymbol: BTC, orderAmount: '0.5' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '5', userId: '777', payCoinSymbol: USDT1742, orderAmount: '50000' }
        expect: SUCCESS
  - test: an amount counts for a day
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '50000' }
        expect: SUCCESS
      - source: shop
        after: 23h
        payment: { appOrderId: '2', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '50000' }
        expect: { verdict: FAILURE, rule: window-limit#1 }
      - source: shop
        after: 2h
        payment: { appOrderId: '2', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '50000' }
        expect: SUCCESS
  - test: a coin without a maximum is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: ETH, orderAmount: '1' }
        expect: { verdict: FAILURE, rule: window-limit#1, because: ETH is not in the table }
`,
  compile: ({ per, window, zone, across, counter: name, max, by, approvals }, context) => {
    checkApprovals(approvals, context);
    if (by === undefined) checkOneCoin(per, context);
    warnOfUnusedSymbols({ max }, context);
    const maxFor = boundLookup(max);
    const of = approvals && 'approvals';
    const counting = { rule: 'window-limit', window, zone, of, across, counter: name };
    const counter = compileCounter(
      by === undefined
        ? { ...counting, per, symbol: onlySymbol(context) }
        : { ...counting, per: [...(per ?? []), 'symbol'], symbol: undefined },
      context,
    );
    return (
      counter && {
        ...counter.check,
        judgesAmounts: true,
        evaluate: (callback, facts) => {
          const claims = amountsOf(callback, approvals).map(({ symbol, amount, text, payouts }) => {
            const limit = maxFor(symbol);
            if (limit === undefined) return refuse(`${symbol} is not in the table`, { symbol });
            if (amount === 'unlimited') return refuse('the amount is unlimited');
            return counter.claim(callback, { total: amount, text, payouts, symbol }, limit, facts);
          });
          const because = `it ${approvals === undefined ? 'moves' : 'approves'} no amount`;
          return allOf(claims) ?? counter.lacking(callback, facts) ?? pass(because);
        },
      }
    );
  },
});

function checkOneCoin(per: readonly string[] | undefined, context: RuleContext): void {
  const bySymbol = per?.some((name) => memberNamed(context.callback, name) === 'symbol') === true;
  if (bySymbol || onlySymbol(context) !== undefined) return;
  context.fault(
    [],
    'it would sum amounts of different coins',
    'name exactly one symbol under when, or add symbol to per',
  );
}
