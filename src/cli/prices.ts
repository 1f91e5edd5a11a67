import { pricesText, removePrices, setPrices } from '../act/prices.ts';
import { usageError } from '../errors.ts';
import { afterText, beforeText, priceChanges } from '../orders/price-changes.ts';
import { type WrittenPrice, pricesJson } from '../orders/prices.ts';
import { formatAmount } from '../values/amount.ts';
import { actCommand } from './act.ts';
import type { CommandRow } from './command.ts';
import { isoTime, printable, table } from './print.ts';

export const pricesSet = actCommand(setPrices, {
  example: 'prices set BTC 97000 --as-of 2026-03-02T10:00:00Z\nprices set BTC=97000 ETH=3020.55',
  define: (command) =>
    command
      .argument('<prices...>', 'ASSET PRICE, or any number of ASSET=PRICE')
      .option('--as-of <instant>', 'the time of the prices (default: now)'),
  input: (_session, call) => ({ prices: writtenPrices(call.arguments, call.option('asOf')) }),
});

function writtenPrices(words: readonly string[], asOf: string | undefined): readonly WrittenPrice[] {
  const [asset = '', price = ''] = words;
  if (words.length === 2 && !asset.includes('=')) return [{ asset, price, asOf }];
  return words.map((word) => {
    const at = word.lastIndexOf('=');
    if (at > 0) return { asset: word.slice(0, at), price: word.slice(at + 1), asOf };
    throw usageError(`${word} is not a price. Write ASSET PRICE, or any number of ASSET=PRICE`);
  });
}

export const pricesShow: CommandRow = {
  path: 'prices show',
  summary: 'Show the prices for the rule `value-limit`, and their age.',
  example: 'prices show',
  async run(session) {
    const store = await session.store();
    const prices = await store.prices();
    session.print(pricesText(prices, session.clock()), pricesJson(prices));
    return 0;
  },
};

const SHOWN = 50;
/** Changes of the table that are looked at, each of up to a thousand prices. */
const LOOKED_MAX = 10_000;

export const pricesHistory: CommandRow = {
  path: 'prices history',
  summary: 'Show who changed which price, when, and from what to what, newest first.',
  example: 'prices history\nprices history --limit 1000 --json',
  define: (command) => command.option('--limit <number>', `at most this many prices (default: ${SHOWN})`),
  async run(session, call) {
    const most = call.count('limit', { least: 1, most: 1000 }) ?? SHOWN;
    const isOver = (looked: number): boolean => looked >= LOOKED_MAX;
    const { changes, more } = await priceChanges(await session.store(), { most, isOver });
    await session.drained();
    const rows = changes.map((change) => [
      isoTime(change.atMs),
      printable(change.asset),
      `${beforeText(change)} -> ${afterText(change)}`,
      `version ${change.version} by ${printable(change.by)}`,
    ]);
    const text = table(rows, 'No price was changed, or the history is no longer kept.');
    session.print(
      more && rows.length === most ? `${text}\nThere are more. Use --limit to see them.` : text,
      changes.map(({ asset, before, isBeforeKnown, after, asOfMs, version, atMs, by }) => ({
        version,
        at: isoTime(atMs),
        by,
        asset,
        ...(isBeforeKnown && { before: before === undefined ? null : formatAmount(before) }),
        after: after === undefined ? null : formatAmount(after),
        ...(asOfMs !== undefined && { asOf: isoTime(asOfMs) }),
      })),
    );
    return 0;
  },
};

export const pricesRemove = actCommand(removePrices, {
  example: 'prices remove BTC ETH',
  define: (command) => command.argument('<assets...>', 'assets with a price'),
  input: (_session, call) => ({ assets: call.arguments }),
});
