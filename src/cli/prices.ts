import { CountersignError, usageError } from '../errors.ts';
import { afterText, beforeText, priceChanges } from '../orders/price-changes.ts';
import { type WrittenPrice, pricesJson, setPrices } from '../orders/prices.ts';
import type { PriceTable } from '../policy/facts.ts';
import { formatAmount } from '../values/amount.ts';
import { type CommandRow, byOption } from './command.ts';
import { isoTime, printable, table } from './print.ts';
import { servicesThatApplied } from './services.ts';

export const pricesSet: CommandRow = {
  path: 'prices set',
  summary: 'Set prices of assets for the rule `value-limit`. All of them are set, or none.',
  example: 'prices set BTC 97000 --as-of 2026-03-02T10:00:00Z\nprices set BTC=97000 ETH=3020.55',
  define: (command) =>
    byOption(command.argument('<prices...>', 'ASSET PRICE, or any number of ASSET=PRICE')).option(
      '--as-of <instant>',
      'the time of the prices (default: now)',
    ),
  async run(session, call) {
    const written = writtenPrices(call.arguments, call.option('asOf'));
    const store = await session.store();
    const nowMs = session.clock();
    const prices = await setPrices(store, written, { by: session.by, nowMs });
    const services = await servicesThatApplied(session);
    session.print(pricesText(prices, nowMs), { ...pricesJson(prices), services });
    return 0;
  },
};

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
  return table(rows, 'There are no prices. Set some with `countersign prices set`.');
}

function ageText(ageMs: number): string {
  const minutes = Math.floor(ageMs / 60_000);
  if (minutes < 1) return 'just now';
  return minutes < 120 ? `${minutes} min ago` : `${Math.floor(minutes / 60)} h ago`;
}

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

export const pricesRemove: CommandRow = {
  path: 'prices remove',
  summary: 'Remove prices of assets. The rule `value-limit` then refuses these assets.',
  example: 'prices remove BTC ETH',
  define: (command) => byOption(command.argument('<assets...>', 'assets with a price')),
  async run(session, call) {
    const store = await session.store();
    const { prices } = await store.prices();
    const remove = [...new Set(call.arguments)];
    const missing = remove.filter((asset) => !prices.has(asset));
    if (missing.length > 0) {
      throw new CountersignError(
        'NOT_FOUND',
        `there is no price of ${missing.join(', ')}. \`countersign prices show\` lists the prices`,
        { assets: missing },
      );
    }
    const changed = await store.changePrices({ set: [], remove, by: session.by });
    const services = await servicesThatApplied(session);
    session.print(pricesText(changed, session.clock()), { ...pricesJson(changed), services });
    return 0;
  },
};
