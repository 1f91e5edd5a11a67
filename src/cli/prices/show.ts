import { pricesJson } from '../../orders/prices.ts';
import type { PriceTable } from '../../policy/facts.ts';
import { formatAmount } from '../../values/amount.ts';
import type { CommandRow } from '../command.ts';
import { columns, isoTime } from '../print.ts';

export const pricesShow: CommandRow = {
  path: 'prices show',
  summary: 'Show the prices for the rule `value-limit`, and their age.',
  example: 'prices show',
  async run(session) {
    const store = await session.store();
    const table = await store.prices();
    session.print(pricesText(table, session.clock()), pricesJson(table));
    return 0;
  },
};

/** One price on each line, ordered by asset. */
export function pricesText({ prices }: PriceTable, nowMs: number): string {
  const rows = [...prices]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([asset, { price, asOfMs }]) => [
      asset,
      formatAmount(price),
      `as of ${isoTime(asOfMs)}`,
      ageText(nowMs - asOfMs),
    ]);
  return rows.length === 0 ? 'There are no prices. Set some with `countersign prices set`.' : columns(rows);
}

function ageText(ageMs: number): string {
  const minutes = Math.floor(ageMs / 60_000);
  if (minutes < 1) return 'just now';
  return minutes < 120 ? `${minutes} min ago` : `${Math.floor(minutes / 60)} h ago`;
}
