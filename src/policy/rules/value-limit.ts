import { z } from 'zod';
import type { Callback, Payout } from '../../callback/callback.ts';
import { type Amount, AMOUNT_SCALE, formatAmount } from '../../values/amount.ts';
import type { Facts } from '../facts.ts';
import { type MovedAmount, amountsOf } from '../moved-amounts.ts';
import { type Counter, compileCounter, countingNotes, countingParameters } from './counting.ts';
import {
  type Bound,
  type Duration,
  amountText,
  approvalsOnly,
  checkApprovals,
  toBound,
  durationText,
} from './parameter.ts';
import { type Priced, priceOf, valueAt } from './price.ts';
import { type RuleOutcome, type Validity, allOf, bothValid, pass, refuse } from '../outcome.ts';
import { defineRule } from './rule.ts';

/** Like an amount, a value has at most 36 digits before the point. */
const TOO_GREAT = 10n ** BigInt(36 + AMOUNT_SCALE);

export const valueLimit = defineRule({
  name: 'value-limit',
  summary:
    'The value of a callback, at the current prices, must not exceed a maximum: of one callback ' +
    'or, with `window`, in sum.',
  notes: [
    'The value is the amount times the price of its symbol. It is exact, and rounded up at the ' +
      '36th digit after the point.',
    'Prices are set with `countersign prices set`. All prices, and `max`, are in the same currency.',
    'A callback is refused if its asset has no price, if the price is older than `maxAge`, or ' +
      'if the time of the price is more than a minute ahead. Such a refusal is not final: each ' +
      'repeat is decided again.',
    'Without `window`, each callback is judged alone. With `window`, the values of all assets ' +
      'are summed. An approval counts with its value at that time, whatever the price is later.',
    'An unlimited amount (`-1` in a web3 callback) is refused.',
    'The amount of a web3 callback is in the coin of its chain (`main_chain_symbol`), so the ' +
      'price of that coin is needed even for the amount zero. The value does not include the ' +
      'tokens that the call data moves.',
    'In a policy with `movements`, the values of all native coins and tokens that a transaction moves are ' +
      'summed, and only the prices of these are needed.',
    ...countingNotes,
    'If you change `maxAge`, or the symbols under `when`, the count is kept.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z
    .strictObject({
      max: amountText.describe('The greatest value that passes, in the currency of the prices.'),
      maxAge: durationText.describe('How old a price may be, from 1s to 92d, like 90s, 10m or 24h.'),
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
  bounds: { max: 'maximum', maxAge: 'maximum' },
  example: `policy: payment-values
callback: payment
when: { source: shop }
rules:
  - value-limit: { max: 10000, maxAge: 10m }
  - value-limit: { max: 25000, maxAge: 10m, per: [userId], window: 24h }
`,
  cases: `tests:
  - test: the payments of a user in a day are summed by value, over all coins
    now: 2026-03-02T10:00:00Z
    given:
      prices:
        BTC: { price: 97000, asOf: 2026-03-02T09:59:00Z }
        USDT1742: { price: 1.0001, asOf: 2026-03-02T09:59:00Z }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: BTC, orderAmount: '0.1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '2', userId: '12345', payCoinSymbol: BTC, orderAmount: '0.1' }
        expect: SUCCESS
      - source: shop
        payment: { appOrderId: '3', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '6000' }
        expect:
          { verdict: FAILURE, rule: value-limit#2,
            values: { asset: USDT1742, price: '1.0001', value: '6000.6', max: '25000' } }
      - source: shop
        payment: { appOrderId: '4', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '5000' }
        expect: SUCCESS
  - test: a payment that alone is worth too much is refused
    now: 2026-03-02T10:00:00Z
    given:
      prices: { BTC: { price: 97000, asOf: 2026-03-02T09:59:00Z } }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: BTC, orderAmount: '0.2' }
        expect:
          { verdict: FAILURE, rule: value-limit#1, values: { amount: '0.2', value: '19400', max: '10000' } }
  - test: a price of ten minutes ago is accepted, an older one is not
    now: 2026-03-02T10:00:00Z
    given:
      prices: { BTC: { price: 97000, asOf: 2026-03-02T09:50:00Z } }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: BTC, orderAmount: '0.01' }
        expect: SUCCESS
      - source: shop
        after: 1s
        payment: { appOrderId: '2', userId: '12345', payCoinSymbol: BTC, orderAmount: '0.01' }
        expect: { verdict: FAILURE, rule: value-limit#1, because: older than 10m }
  - test: an asset without a price is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: ETH, orderAmount: '1' }
        expect: { verdict: FAILURE, rule: value-limit#1, because: there is no price for ETH }
`,
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
interface Valued extends MovedAmount, Pick<Priced, 'price' | 'valid'> {
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
    const { price, valid, values: found } = priced;
    valued.push({ ...moved, price, valid, found, value: valueAt(amount, price) });
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
  const valid = valued.reduce<Validity | undefined>((all, each) => bothValid(each.valid, all), undefined);
  const changing: Pick<RuleOutcome, 'usesPrices' | 'retryable' | 'valid'> = {
    usesPrices: true,
    retryable: true,
    valid,
  };
  const atPrice = valued
    .map(({ text, symbol, found }) => `${text} ${symbol} at ${found.price} (as of ${found.asOf})`)
    .join(' and ');
  if (value >= TOO_GREAT) {
    const because = `the value of ${atPrice} has more than 36 digits before the point`;
    return { ...refuse(because, values), ...changing };
  }
  if (counter === undefined) {
    return value > max.amount
      ? {
          ...refuse(`the value ${values.value} of ${atPrice} is above the maximum ${values.max}`, values),
          ...changing,
        }
      : { ...pass(`the value ${values.value} of ${atPrice} is within the limit`, values), ...changing };
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
    ...changing,
    because: `${atPrice}: ${outcome.because}`,
    values: { ...outcome.values, ...values },
    valid: valid === undefined ? outcome.valid : bothValid(valid, outcome.valid),
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
