import { z } from 'zod';
import { formatAmount } from '../../values/amount.ts';
import { HIGHER, looserIf } from '../language/looser.ts';
import { payoutsOf } from '../language/members.ts';
import {
  type Bound,
  amountOrTable,
  boundLookup,
  byAsset,
  checkByAsset,
  formatMember,
  warnOfUnusedSymbols,
  wholeNumberText,
} from '../language/parameter.ts';
import { type RuleOutcome, pass, refuse } from '../outcome.ts';
import { defineRule } from './rule.ts';
import type { Payout } from '../../callback/callback.ts';

export const outputs = defineRule({
  name: 'outputs',
  summary: 'A withdrawal must not pay too many addresses, or too much to one of them.',
  callbacks: ['transfer'],
  parameters: z
    .strictObject({
      max: wholeNumberText
        .describe('The greatest number of addresses that passes.')
        .register(looserIf, HIGHER),
      maxEach: amountOrTable
        .optional()
        .describe('The greatest amount for one address. With `by: asset`, a table of amounts by symbol.')
        .register(looserIf, HIGHER),
      by: byAsset,
    })
    .superRefine(({ maxEach, by }, context) => {
      checkByAsset(by, { maxEach }, context);
    }),
  compile: ({ max, maxEach }, context) => {
    warnOfUnusedSymbols({ maxEach }, context);
    const eachFor = maxEach === undefined ? undefined : boundLookup(maxEach);
    return {
      compared: { members: ['to'], ...(maxEach !== undefined && { effect: 'can be paid as much again' }) },
      evaluate: (callback) => judge(payoutsOf(callback), callback.symbol, max, eachFor),
    };
  },
});

function judge(
  payouts: readonly Payout[],
  symbol: string,
  max: number,
  eachFor: ((symbol: string) => Bound | undefined) | undefined,
): RuleOutcome {
  const values = { addresses: String(payouts.length), max: String(max) };
  if (payouts.length === 0) return refuse('it pays no address', values);
  const paid = `it pays ${payouts.length === 1 ? '1 address' : `${payouts.length} addresses`}`;
  if (payouts.length > max) return refuse(`${paid}, more than ${max}`, values);
  if (eachFor === undefined) return pass(`${paid}, of at most ${max}`, values);
  const limit = eachFor(symbol);
  if (limit === undefined) return refuse(`${symbol} is not in the table`, { ...values, symbol });
  const each = { ...values, maxEach: limit.text };
  const above = payouts.filter(({ amount }) => amount > limit.amount);
  const [first] = above;
  if (first === undefined) return pass(`${paid}, of at most ${max}, none more than ${each.maxEach}`, each);
  const amount = formatAmount(first.amount);
  const exceeding = formatMember(
    'to',
    above.map(({ to }) => to),
  );
  return refuse(`${exceeding}: ${amount} is above the maximum ${each.maxEach} for one address`, {
    ...each,
    to: first.to,
    amount,
  });
}
