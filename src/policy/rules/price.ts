import { type Amount, AMOUNT_SCALE, formatAmount } from '../../values/amount.ts';
import type { Facts } from '../facts.ts';
import type { Duration } from './parameter.ts';
import { type Outcome, refuse } from './rule.ts';

const UNIT = 10n ** BigInt(AMOUNT_SCALE);
/** By how much the clock of whoever set a price may be ahead of the store's. */
const AHEAD_MS = 60_000;

type Valid = NonNullable<Outcome['valid']>;

export interface Priced {
  readonly price: Amount;
  readonly valid: Valid;
  readonly values: Readonly<Record<'asset' | 'price' | 'asOf', string>>;
}

/** A price that may be used now, and for how long; or why there is none. */
export function priceOf(symbol: string, { nowMs, prices }: Facts, maxAge: Duration): Priced | Outcome {
  const found = prices.prices.get(symbol);
  const refused = (because: string, values: Outcome['values'], valid?: Valid): Outcome => ({
    ...refuse(`${because}; see \`countersign prices set\``, { asset: symbol, ...values }),
    prices: true,
    afresh: true,
    ...(valid === undefined ? {} : { valid }),
  });
  if (found === undefined) return refused(`there is no price for ${symbol}: set one`, {});
  const { asOfMs } = found;
  const values = { asset: symbol, price: formatAmount(found.price), asOf: new Date(asOfMs).toISOString() };
  const described = `the price of ${symbol}, ${values.price} as of ${values.asOf},`;
  if (found.price <= 0n) return refused(`${described} is not above zero: set it anew`, values);
  const valid = { fromMs: asOfMs - AHEAD_MS, untilMs: asOfMs + maxAge.ms + 1 };
  if (nowMs >= valid.fromMs && nowMs < valid.untilMs) return { price: found.price, valid, values };
  return nowMs >= valid.untilMs
    ? refused(
        `${described} is older than ${maxAge.text}: set it anew`,
        { ...values, maxAge: maxAge.text },
        after(valid),
      )
    : refused(
        `${described} is of a time to come: mend the clock of whoever sets prices, and set it anew`,
        values,
        before(valid),
      );
}

const before = ({ fromMs }: Valid): Valid => ({ fromMs: 0, untilMs: fromMs });
const after = ({ untilMs }: Valid): Valid => ({ fromMs: untilMs, untilMs: Number.MAX_SAFE_INTEGER });

/**
 * Amount times price, rounded up to the next unit of 10^-36: a limit errs to the safe side by less than one
 * unit.
 */
export function valueAt(amount: Amount, price: Amount): Amount {
  return (amount * price + UNIT - 1n) / UNIT;
}
