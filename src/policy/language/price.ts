import { type Amount, AMOUNT_SCALE, formatAmount } from '../../values/amount.ts';
import { type Facts, PRICE_AHEAD_MAX_MS } from '../facts.ts';
import type { Duration } from './parameter.ts';
import { type RuleOutcome, refuse } from '../outcome.ts';
import type { Standing, Validity } from '../standing.ts';

export interface Priced extends Standing {
  readonly price: Amount;
  readonly values: Readonly<Record<'asset' | 'price' | 'asOf', string>>;
}

/** The price of an asset and its validity, or a refusal if there is no valid price now. */
export function priceOf(symbol: string, { nowMs, prices }: Facts, maxAge: Duration): Priced | RuleOutcome {
  const found = prices.prices.get(symbol);
  const refused = (because: string, values: RuleOutcome['values'], valid?: Validity): RuleOutcome => ({
    ...refuse(`${because} with \`countersign prices set\``, { asset: symbol, ...values }),
    usesPrices: true,
    retryable: true,
    failed: true,
    ...(valid === undefined ? {} : { valid }),
  });
  if (found === undefined) return refused(`there is no price for ${symbol}; set one`, {});
  const { asOfMs } = found;
  const values = { asset: symbol, price: formatAmount(found.price), asOf: new Date(asOfMs).toISOString() };
  const described = `the price of ${symbol}, ${values.price} as of ${values.asOf},`;
  if (found.price <= 0n) return refused(`${described} is not above zero; set it again`, values);
  const valid = { fromMs: asOfMs - PRICE_AHEAD_MAX_MS, untilMs: asOfMs + maxAge.ms + 1 };
  if (nowMs >= valid.fromMs && nowMs < valid.untilMs) {
    return { price: found.price, values, valid, usesPrices: true, retryable: true };
  }
  return nowMs >= valid.untilMs
    ? refused(
        `${described} is older than ${maxAge.text}; set it again`,
        { ...values, maxAge: maxAge.text },
        { fromMs: valid.untilMs, untilMs: Number.MAX_SAFE_INTEGER },
      )
    : refused(
        `${described} is dated in the future; correct the clock of the program that sets prices, ` +
          'and set it again',
        values,
        { fromMs: 0, untilMs: valid.fromMs },
      );
}

const UNIT = 10n ** BigInt(AMOUNT_SCALE);

/**
 * Amount times price, rounded up to the next unit of 10^-36, so that a limit is never exceeded by rounding.
 */
export function valueAt(amount: Amount, price: Amount): Amount {
  return (amount * price + UNIT - 1n) / UNIT;
}
