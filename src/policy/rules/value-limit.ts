import { z } from 'zod';
import type { Callback } from '../../callback/callback.ts';
import { AMOUNT_SCALE, formatAmount } from '../../values/amount.ts';
import type { Facts } from '../facts.ts';
import { amountTextOf } from '../members.ts';
import { type Counter, compileCounter, countingNotes, countingParameters } from './counting.ts';
import { type Bound, type Duration, amountText, toBound, durationText, warnOfZero } from './parameter.ts';
import { priceOf, valueAt } from './price.ts';
import { type RuleOutcome, bothValid, defineRule, pass, refuse } from './rule.ts';

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
    })
    .superRefine(({ per, window, zone }, context) => {
      if (window !== undefined) return;
      for (const [name, given] of Object.entries({ per, zone })) {
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
  compile: ({ max: greatest, maxAge, per, window, zone }, context) => {
    warnOfZero(greatest, 'max', context);
    const max = toBound(greatest);
    if (window === undefined) {
      const limit = { max, maxAge, counter: undefined };
      return { maxPriceAge: maxAge, evaluate: (callback, facts) => judge(callback, facts, limit) };
    }
    const counter = compileCounter({ rule: 'value-limit', per, window, zone, symbol: undefined }, context);
    return (
      counter && {
        ...counter.check,
        maxPriceAge: maxAge,
        evaluate: (callback, facts) => judge(callback, facts, { max, maxAge, counter }),
      }
    );
  },
});

interface Limit {
  readonly max: Bound;
  readonly maxAge: Duration;
  readonly counter: Counter | undefined;
}

function judge(callback: Callback, facts: Facts, { max, maxAge, counter }: Limit): RuleOutcome {
  const { amount, symbol, payouts } = callback;
  if (amount === 'unlimited') return refuse('the amount is unlimited', { asset: symbol });
  const priced = priceOf(symbol, facts, maxAge);
  if ('verdict' in priced) return priced;
  const { price, valid, values: found } = priced;
  const value = valueAt(amount, price);
  const values = {
    ...found,
    amount: amountTextOf(callback),
    value: formatAmount(value),
    max: max.text,
  };
  const changing: Pick<RuleOutcome, 'usesPrices' | 'afresh' | 'valid'> = {
    usesPrices: true,
    afresh: true,
    valid,
  };
  const atPrice = `${values.amount} ${symbol} at ${found.price} (as of ${found.asOf})`;
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
    payouts: payouts.map((payout) => ({ to: payout.to, amount: valueAt(payout.amount, price) })),
  };
  const outcome = counter.claim(callback, counted, max, facts.nowMs);
  // The callback lacks a member in `per`, and another price does not change that.
  if (outcome.verdict !== 'claim') return { ...outcome, usesPrices: true };
  return {
    ...outcome,
    ...changing,
    because: `${atPrice}: ${outcome.because}`,
    values: { ...outcome.values, ...values },
    valid: bothValid(valid, outcome.valid),
  };
}
