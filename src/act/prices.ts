import { z } from 'zod';
import { CountersignError } from '../errors.ts';
import { pricesJson, readPrices } from '../orders/prices.ts';
import type { PriceTable } from '../policy/facts.ts';
import type { PriceChange, Store } from '../store/store.ts';
import { formatAmount } from '../values/amount.ts';
import type { Clock } from '../values/clock.ts';
import { columns, counted, isoTime } from '../values/text.ts';
import type { Act } from './act.ts';

export interface PricesParts {
  readonly store: Pick<Store, 'changePrices' | 'prices' | 'priceHistory'>;
  readonly clock: Clock;
  /** Called after each change, for the log: prices are in no journal. */
  readonly onPricesChanged?:
    | ((change: {
        readonly by: string;
        readonly assets: readonly string[];
        readonly version: number;
      }) => void)
    | undefined;
}

interface Changed {
  readonly table: PriceTable;
  readonly assets: readonly string[];
  readonly nowMs: number;
}

const setInput = z.strictObject({
  prices: z
    .array(z.strictObject({ asset: z.string(), price: z.string(), asOf: z.string().optional() }))
    .readonly(),
});

type PricesAct<I extends z.ZodObject> = Act<PricesParts, I, Changed>;

/** What a change of prices comes to, whichever it is. */
const changed = {
  role: 'operate',
  text: ({ table, nowMs }: Changed) => pricesText(table, nowMs),
  json: ({ table }: Changed) => pricesJson(table),
  followed: () => ({}),
  version: {
    of: 'the prices',
    before: async ({ store }: PricesParts) => (await store.prices()).version,
    after: ({ table }: Changed) => table.version,
    // Versions may leave numbers out, so the history says whether somebody else made one between.
    async isNext({ store }: PricesParts, before: number) {
      const since = await store.priceHistory({ after: before, limit: 2 }).catch(() => undefined);
      return since?.length === 1;
    },
  },
} as const;

export const setPrices = {
  ...changed,
  name: 'prices set',
  summary: 'Set prices of assets for the rule `value-limit`. All of them are set, or none.',
  input: setInput,
  perform(parts, { prices }, by) {
    const set = readPrices(prices, parts.clock());
    return changePrices(parts, { set, remove: [], by });
  },
  fourEyes: {
    name: 'prices',
    async judge({ clock }, { prices }) {
      // A price is as of when somebody asks, and not as of when somebody else agrees.
      const input = readPrices(prices, clock()).map(({ asset, price, asOfMs }) => ({
        asset,
        price: formatAmount(price),
        asOf: isoTime(asOfMs),
      }));
      return { is: 'looser', input: { prices: input } };
    },
  },
  notice: ({ table, assets }) => `${counted(assets.length, 'price')} set. Version ${table.version}.`,
} satisfies PricesAct<typeof setInput>;

/** One person may do it: without its price, an asset is refused. */
const removeInput = z.strictObject({ assets: z.array(z.string()).readonly() });

export const removePrices = {
  ...changed,
  name: 'prices remove',
  summary: 'Remove prices of assets. The rule `value-limit` then refuses these assets.',
  input: removeInput,
  async perform(parts, { assets }, by) {
    const { prices } = await parts.store.prices();
    const remove = [...new Set(assets)];
    const missing = remove.filter((asset) => !prices.has(asset));
    if (missing.length === 0) return changePrices(parts, { set: [], remove, by });
    throw new CountersignError(
      'NOT_FOUND',
      `there is no price of ${missing.join(', ')}. \`countersign prices show\` lists the prices`,
      { assets: missing },
    );
  },
  notice: ({ table, assets }) => `Removed the price of ${assets.join(', ')}. Version ${table.version}.`,
} satisfies PricesAct<typeof removeInput>;

async function changePrices(
  { store, clock, onPricesChanged }: PricesParts,
  change: PriceChange,
): Promise<Changed> {
  const table = await store.changePrices(change);
  const assets = [...change.set.map(({ asset }) => asset), ...change.remove];
  onPricesChanged?.({ by: change.by, assets, version: table.version });
  return { table, assets, nowMs: clock() };
}

/** One price on each line, ordered by asset. */
export function pricesText({ prices }: PriceTable, nowMs: number): string {
  if (prices.size === 0) return 'There are no prices. Set some with `countersign prices set`.';
  const sorted = [...prices].sort(([a], [b]) => (a < b ? -1 : 1));
  return columns(
    sorted.map(([asset, { price, asOfMs }]) => [
      asset,
      formatAmount(price),
      `as of ${isoTime(asOfMs)}`,
      ageText(nowMs - asOfMs),
    ]),
  );
}

function ageText(ageMs: number): string {
  const minutes = Math.floor(ageMs / 60_000);
  if (minutes < 1) return 'just now';
  return minutes < 120 ? `${minutes} min ago` : `${Math.floor(minutes / 60)} h ago`;
}
