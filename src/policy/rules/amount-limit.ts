import { z } from 'zod';
import { HIGHER, LOWER, looserIf } from '../language/looser.ts';
import { type MovedAmount, amountsOf } from '../language/moved-amounts.ts';
import {
  type AmountBound,
  type AmountTable,
  type Bound,
  amountOrTable,
  amountFor,
  approvalsOnly,
  boundLookup,
  byAsset,
  checkApprovals,
  checkByAsset,
  checkMovedAssets,
  isTable,
  warnOfUnusedSymbols,
} from '../language/parameter.ts';
import { type RuleOutcome, allOf, pass, refuse } from '../outcome.ts';
import { defineRule } from './rule.ts';

export const amountLimit = defineRule({
  name: 'amount-limit',
  summary: 'The amount of one callback must be between a minimum and a maximum, both included.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z
    .strictObject({
      min: amountOrTable
        .optional()
        .describe('The smallest amount that passes. With `by: asset`, also a table of amounts by symbol.')
        .register(looserIf, LOWER),
      max: amountOrTable
        .optional()
        .describe('The greatest amount that passes. With `by: asset`, also a table of amounts by symbol.')
        .register(looserIf, HIGHER),
      by: byAsset,
      approvals: approvalsOnly,
    })
    .superRefine(({ by, min, max }, context) => {
      if (min === undefined && max === undefined) {
        context.addIssue({
          code: 'custom',
          message: 'it has neither min nor max, so it limits nothing',
          params: { fix: 'give at least one of them' },
        });
        return;
      }
      checkByAsset(by, { max, min }, context);
      // A bound with a fault has not become an amount, nor a table.
      if (context.issues.length === 0) checkOrder(min, max, context);
    }),
  compile: ({ min, max, by, approvals }, context) => {
    checkMovedAssets(by !== undefined, context);
    checkApprovals(approvals, context);
    warnOfUnusedSymbols({ min, max }, context);
    const none = () => undefined;
    const bounds = {
      min: min === undefined ? none : boundLookup(min),
      max: max === undefined ? none : boundLookup(max),
      tables: [min, max].filter(isTable),
    };
    return {
      judgesAmounts: true,
      evaluate: (callback) => {
        const judged = allOf(amountsOf(callback, approvals).map((moved) => judge(moved, bounds)));
        if (judged !== undefined) return judged;
        return min === undefined || approvals !== undefined
          ? pass(`it ${approvals === undefined ? 'moves' : 'approves'} no amount`)
          : refuse('it moves no amount, and the rule has a minimum');
      },
    };
  },
});

interface Bounds {
  readonly min: (symbol: string) => Bound | undefined;
  readonly max: (symbol: string) => Bound | undefined;
  /** The bounds that are tables. */
  readonly tables: readonly AmountTable[];
}

function judge({ amount, symbol, text }: MovedAmount, bounds: Bounds): RuleOutcome {
  const { tables } = bounds;
  const min = bounds.min(symbol);
  const max = bounds.max(symbol);
  const values: Record<string, string> = { amount: text };
  if (tables.length > 0) values['symbol'] = symbol;
  if (min !== undefined) values['min'] = min.text;
  if (max !== undefined) values['max'] = max.text;
  const known =
    tables.length > 0 ? tables.some((table) => table.has(symbol)) : min !== undefined || max !== undefined;
  if (!known) return refuse(`${symbol} is not in the table`, values);
  if (amount === 'unlimited') return refuse('the amount is unlimited', values);
  const written = tables.length === 0 ? text : `${text} ${symbol}`;
  if (min !== undefined && amount < min.amount) {
    return refuse(`the amount ${written} is below the minimum ${min.text}`, values);
  }
  if (max !== undefined && amount > max.amount) {
    return refuse(`the amount ${written} is above the maximum ${max.text}`, values);
  }
  return pass(`the amount ${written} is within the limit`, values);
}

/**
 * Reports a fault for each asset of which no amount passes, or that has a minimum in a table and no maximum.
 */
function checkOrder(
  min: AmountBound | undefined,
  max: AmountBound | undefined,
  context: z.RefinementCtx,
): void {
  if (min === undefined || max === undefined) return;
  const symbols = new Set([min, max].filter(isTable).flatMap((table) => [...table.keys()]));
  for (const symbol of symbols.size > 0 ? symbols : [undefined]) {
    const [least, greatest] = [amountFor(min, symbol ?? ''), amountFor(max, symbol ?? '')];
    if (greatest === undefined) {
      context.addIssue({
        code: 'custom',
        path: ['min', symbol ?? ''],
        message: `${symbol} has a min and no max, so any amount of it above that would pass`,
        params: { fix: `add ${symbol} to max, or leave it out of min` },
      });
    }
    if (least === undefined || greatest === undefined || least <= greatest) continue;
    context.addIssue({
      code: 'custom',
      path: symbol === undefined ? [] : [isTable(max) ? 'max' : 'min', symbol],
      message: `min is above max${symbol === undefined ? '' : ` for ${symbol}`}, so nothing could pass`,
      params: { fix: 'exchange the two' },
    });
  }
}
