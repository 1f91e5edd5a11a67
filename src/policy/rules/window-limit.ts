import { z } from 'zod';
import { HIGHER, looserIf } from '../language/looser.ts';
import { memberNamed } from '../language/members.ts';
import { amountsOf } from '../language/moved-amounts.ts';
import { compileCounter, countingParameters } from './counting.ts';
import {
  amountOrTable,
  approvalsOnly,
  boundLookup,
  byAsset,
  checkApprovals,
  checkByAsset,
  onlySymbol,
  warnOfUnusedSymbols,
} from '../language/parameter.ts';
import { allOf, pass, refuse } from '../outcome.ts';
import type { RuleContext } from '../rule-context.ts';
import { defineRule } from './rule.ts';

export const windowLimit = defineRule({
  name: 'window-limit',
  summary: 'The sum of the amounts that are approved within a window of time must not exceed a maximum.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z
    .strictObject({
      ...countingParameters,
      max: amountOrTable
        .describe('The greatest sum that passes. With `by: asset`, a table of amounts by symbol.')
        .register(looserIf, HIGHER),
      by: byAsset,
      approvals: approvalsOnly,
    })
    .superRefine(({ by, max }, context) => {
      checkByAsset(by, { max }, context);
    }),
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
