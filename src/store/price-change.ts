import { CountersignError } from '../errors.ts';
import type { PriceChange, PriceHistoryQuery } from './store.ts';

/** The most assets that one change of prices can name, and the most history entries of one query. */
const ENTRIES_MAX = 1000;

/** Throws USAGE unless a change names 1 to 1000 assets, set or removed, each once, with prices above zero. */
export function assertPriceChange({ set, remove }: PriceChange): void {
  const assets = [...set.map(({ asset }) => asset), ...remove];
  if (assets.length === 0 || assets.length > ENTRIES_MAX) {
    throw wrong(`a change of ${assets.length} prices; give 1 to ${ENTRIES_MAX}`, { assets: assets.length });
  }
  const seen = new Set<string>();
  const duplicate = assets.find((asset) => seen.size === seen.add(asset).size);
  if (duplicate !== undefined) {
    throw wrong(`the price of ${JSON.stringify(duplicate)} is changed twice; name it once`, {
      asset: duplicate,
    });
  }
  for (const { asset, price, asOfMs } of set) {
    if (price <= 0n) {
      throw wrong(`the price of ${JSON.stringify(asset)} is not above zero; give one that is, or remove it`, {
        asset,
      });
    }
    if (!Number.isSafeInteger(asOfMs) || asOfMs < 0) {
      throw wrong(
        `the price of ${JSON.stringify(asset)} is as of ${asOfMs}; give whole milliseconds since 1970`,
        { asset, asOfMs },
      );
    }
  }
}

/** Throws USAGE unless `after` is 0 or a version, or `before` is a version, and `limit` is 1 to 1000. */
export function assertPriceQuery({ after, before, limit }: PriceHistoryQuery): void {
  if (!Number.isInteger(limit) || limit < 1 || limit > ENTRIES_MAX) {
    throw wrong(`a limit of ${limit} price changes; give 1 to ${ENTRIES_MAX}`, { limit });
  }
  const [version, least] = before === undefined ? [after, 0] : [before, 1];
  if (!Number.isSafeInteger(version) || version < least) {
    throw wrong(`${version} is not a version of the prices; give ${least} or a version`, { version });
  }
}

const wrong = (message: string, data: Readonly<Record<string, unknown>>): CountersignError =>
  new CountersignError('USAGE', message, data);
