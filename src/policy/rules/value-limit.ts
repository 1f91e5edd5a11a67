import { z } from 'zod';
import type { Callback, Payout } from '../../callback/callback.ts';
import { type Amount, AMOUNT_SCALE, formatAmount } from '../../values/amount.ts';
import type { Facts } from '../facts.ts';
import { HIGHER, looserIf } from '../language/looser.ts';
import { type MovedAmount, amountsOf } from '../language/moved-amounts.ts';
import { type Counter, compileCounter, countingParameters } from './counting.ts';
import {
  type Bound,
  type Duration,
  amountText,
  approvalsOnly,
  checkApprovals,
  toBound,
  durationText,
} from '../language/parameter.ts';
import { type Priced, priceOf, valueAt } from '../language/price.ts';
import { type RuleOutcome, allOf, pass, refuse } from '../outcome.ts';
import { type Standing, combine } from '../standing.ts';
import { defineRule } from './rule.ts';

/** Like an amount, a value has at most 36 digits before the point. */
const TOO_GREAT = 10n ** BigInt(36 + AMOUNT_SCALE);

export const valueLimit = defineRule({
  name: 'value-limit',
  summary:
    'The value of a callback, at the current prices, must not exceed a maximum: of one callback ' +
    'or, with `window`, in sum.',
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z
    .strictObject({
      max: amountText
        .describe('The greatest value that passes, in the currency of the prices.')
        .register(looserIf, HIGHER),
      maxAge: durationText
        .describe('How old a price may be, from 1s to 92d, like 90s, 10m or 24h.')
        .register(looserIf, HIGHER),
      per: countingParameters.per,
      window: countingParameters.window
        .optional()
        .describe('Sums the values within a window, like window-limit: 24h, 365d, day, year.'),
      zone: countingParameters.zone,
      approvals: approvalsOnly,
      across: countingParameters.across,
      counter: countingParameters.counter,
    })
    .superRefine(({ per, window, zone, across, counter }, context) => {
      if (window !== undefined) return;
      for (const [name, given] of Object.entries({ per, zone, across, counter })) {
        if (given === undefined) continue;
        context.addIssue({
          code: 'custom',
          path: [name],
          message: `${name} is only for counting in a window, and there is no window`,
          params: { fix: `add a window, like 24h, or leave ${name} out` },
        });
      }
    }),
  compile: ({ max: greatest, maxAge, per, window, zone, across, counter: name, approvals }, context) => {
    checkApprovals(approvals, context);
    const limit = { max: toBound(greatest), maxAge, approvals, isPerAsset: per?.includes('symbol') === true };
    const declared = {
      maxPriceAge: maxAge,
      judgesAmounts: true as const,
    };
    if (window === undefined) {
      return {
        ...declared,
        evaluate: (callback, facts) => judge(callback, facts, { ...limit, counter: undefined }),
      };
    }
    const of = approvals && 'approvals';
    const counting = { rule: 'value-limit', per, window, zone, symbol: undefined, of, across, counter: name };
    const counter = compileCounter(counting, context);
    return (
      counter && {
        ...counter.check,
        ...declared,
        evaluate: (callback, facts) => judge(callback, facts, { ...limit, counter }),
      }
    );
  },
});

interface Limit {
  readonly max: Bound;
  readonly maxAge: Duration;
  readonly counter: Counter | undefined;
  readonly approvals: 'only' | undefined;
  /** Whether each asset has a count of its own. */
  readonly isPerAsset: boolean;
}

/** An amount with its price. */
interface Valued extends MovedAmount, Standing {
  readonly price: Amount;
  readonly value: Amount;
  readonly found: Priced['values'];
}

function judge(callback: Callback, facts: Facts, limit: Limit): RuleOutcome {
  const valued: Valued[] = [];
  for (const moved of amountsOf(callback, limit.approvals)) {
    const { amount, symbol } = moved;
    if (amount === 'unlimited') return refuse('the amount is unlimited', { asset: symbol });
    const priced = priceOf(symbol, facts, limit.maxAge);
    if ('verdict' in priced) return priced;
    const { values: found, ...at } = priced;
    valued.push({ ...moved, ...at, found, value: valueAt(amount, at.price) });
  }
  const groups = limit.isPerAsset || valued.length === 0 ? valued.map((each) => [each]) : [valued];
  const because = `it ${limit.approvals === undefined ? 'moves' : 'approves'} no amount`;
  return (
    allOf(groups.map((group) => judgeSum(callback, facts, group, limit))) ??
    limit.counter?.lacking(callback, facts) ??
    pass(because)
  );
}

/** Judges the sum of values. */
function judgeSum(
  callback: Callback,
  facts: Facts,
  valued: readonly Valued[],
  { max, counter, isPerAsset }: Limit,
): RuleOutcome {
  const value = valued.reduce((sum, each) => sum + each.value, 0n);
  const joined = (text: (each: Valued) => string): string => valued.map(text).join(' ');
  const values = {
    asset: joined(({ found }) => found.asset),
    price: joined(({ found }) => found.price),
    asOf: joined(({ found }) => found.asOf),
    amount: joined(({ text }) => text),
    value: formatAmount(value),
    max: max.text,
  };
  const standing = combine('one', valued);
  const atPrice = valued
    .map(({ text, symbol, found }) => `${text} ${symbol} at ${found.price} (as of ${found.asOf})`)
    .join(' and ');
  if (value >= TOO_GREAT) {
    const because = `the value of ${atPrice} has more than 36 digits before the point`;
    return { ...refuse(because, values), ...standing };
  }
  if (counter === undefined) {
    return value > max.amount
      ? {
          ...refuse(`the value ${values.value} of ${atPrice} is above the maximum ${values.max}`, values),
          ...standing,
        }
      : { ...pass(`the value ${values.value} of ${atPrice} is within the limit`, values), ...standing };
  }
  const counted = {
    total: value,
    text: values.value,
    payouts: payoutsOf(valued),
    ...(isPerAsset && valued[0] !== undefined ? { symbol: valued[0].symbol } : {}),
  };
  const outcome = counter.claim(callback, counted, max, facts);
  // The callback lacks a member in `per`, and another price does not change that.
  if (outcome.verdict !== 'claim') return { ...outcome, usesPrices: true };
  return {
    ...outcome,
    ...combine('one', [standing, outcome]),
    because: `${atPrice}: ${outcome.because}`,
    values: { ...outcome.values, ...values },
  };
}

/** The value for each address, over all assets. */
function payoutsOf(valued: readonly Valued[]): readonly Payout[] {
  const paid = new Map<string, Amount>();
  for (const { payouts, price } of valued) {
    for (const { to, amount } of payouts) paid.set(to, (paid.get(to) ?? 0n) + valueAt(amount, price));
  }
  return [...paid].map(([to, amount]) => ({ to, amount }));
}
