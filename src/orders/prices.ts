import { CountersignError } from '../errors.ts';
import { PRICE_AHEAD_MAX_MS, type PriceTable } from '../policy/facts.ts';
import type { PriceChange } from '../store/store.ts';
import { formatAmount, parseAmount } from '../values/amount.ts';
import { INSTANT_FORM, readInstant } from '../values/clock.ts';

/** The price of one whole unit of an asset at an instant, as text. */
export interface WrittenPrice {
  readonly asset: string;
  readonly price: string;
  /** The default is now. */
  readonly asOf?: string | undefined;
}

const ASSET = /^[\x21-\x7e]{1,64}$/;

/** The prices as they would be set. Throws PRICE_INVALID with all faults. */
export function readPrices(written: readonly WrittenPrice[], nowMs: number): PriceChange['set'] {
  const faults: string[] = [];
  const set = written.flatMap(({ asset, price: text, asOf }): PriceChange['set'] => {
    const price = parseAmount(text);
    const asOfMs = asOf === undefined ? nowMs : readInstant(asOf);
    if (!ASSET.test(asset))
      faults.push(`${JSON.stringify(asset)} is not an asset; write it as callbacks do, like BTC`);
    if (price === undefined || price === 0n) {
      faults.push(
        `the price of ${asset}, ${JSON.stringify(text)}, is not valid; write a plain decimal above zero`,
      );
    }
    if (asOfMs === undefined) {
      faults.push(`the time ${JSON.stringify(asOf)} of ${asset} is not valid; write ${INSTANT_FORM}`);
    } else if (asOfMs > nowMs + PRICE_AHEAD_MAX_MS) {
      faults.push(`the time ${asOf} of ${asset} is in the future; write when the price was taken`);
    }
    return price === undefined || asOfMs === undefined ? [] : [{ asset, price, asOfMs }];
  });
  const names = written.map(({ asset }) => asset);
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) faults.push(`${twice} appears twice; keep one of the two`);
  if (faults.length > 0) {
    throw new CountersignError('PRICE_INVALID', `the prices can't be set: ${faults.join('; ')}`, { faults });
  }
  return set;
}

/** The table as JSON, with amounts as text. */
export function pricesJson({ version, prices }: PriceTable) {
  return {
    version,
    prices: Object.fromEntries(
      [...prices]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([asset, { price, asOfMs }]) => [
          asset,
          { price: formatAmount(price), asOf: new Date(asOfMs).toISOString() },
        ]),
    ),
  };
}
