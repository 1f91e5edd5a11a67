import { z } from 'zod';
import type { Price, PriceTable } from '../../policy/facts.ts';
import { assertPriceChange, assertPriceQuery } from '../arguments.ts';
import type { PriceChange, PriceHistoryEntry, Prices } from '../store.ts';
import type { LossDetection } from './data-loss.ts';
import { inForce } from './in-force.ts';
import { type RedisParts, journalArguments } from './parts.ts';
import { completeChange } from './releases.ts';
import { digits, parseJson, parseReply, pairs, readHash, text } from './reply.ts';
import { loadScript, run } from './script.ts';

const changeScript = loadScript('change-prices-3');
const ASSET = 'a:';

/** All sources share one table. Its version is in the record of what is in force and in its copies. */
export function createPrices(parts: RedisParts, losses: LossDetection): Prices {
  const { connection, keys } = parts;
  return {
    prices: async () => tableOf(await readHash(connection, 'the prices', keys.prices)),
    changePrices: (change) => changePrices(parts, losses, change),
    async priceHistory(query) {
      assertPriceQuery(query);
      const { after, before, limit } = query;
      const reply = await (before === undefined
        ? connection.call('xrange', [keys.priceHistory, `(${after}-0`, '+', 'COUNT', String(limit)])
        : connection.call('xrevrange', [keys.priceHistory, `(${before}-0`, '-', 'COUNT', String(limit)]));
      return parseReply(z.array(z.tuple([text, pairs])), 'the history of prices', reply).map(historyOf);
    },
  };
}

async function changePrices(
  parts: RedisParts,
  losses: LossDetection,
  change: PriceChange,
): Promise<PriceTable> {
  assertPriceChange(change);
  const { set, remove, by } = change;
  const rows = set.map(({ asset, price, asOfMs }) => [asset, String(price), asOfMs] as const);
  const reply = await run(
    parts.connection,
    changeScript,
    [parts.keys.inForce, parts.keys.prices, parts.keys.priceHistory],
    [
      ...journalArguments(parts),
      JSON.stringify({ set: rows, remove, by }),
      remove.length,
      ...remove,
      ...rows.flatMap(([asset, price, asOfMs]) => [asset, `${price} ${asOfMs}`]),
    ],
  );
  const changed = z.tuple([...inForce.def.items, pairs]);
  const { 6: fields, ...current } = parseReply(changed, 'a change of prices', reply);
  await completeChange(parts, losses, [
    current[0],
    current[1],
    current[2],
    current[3],
    current[4],
    current[5],
  ]);
  return tableOf(fields);
}

const positive = z
  .string()
  .regex(/^[1-9]\d*$/)
  .transform((decimal) => BigInt(decimal));
const price = z.tuple([positive, digits]).transform(([units, asOfMs]): Price => ({ price: units, asOfMs }));

function tableOf(fields: ReadonlyMap<string, string>): PriceTable {
  const prices = [...fields].flatMap(([field, value]) => {
    if (!field.startsWith(ASSET)) return [];
    const asset = field.slice(ASSET.length);
    return [[asset, parseReply(price, `the price of ${asset}`, value.split(' '))] as const];
  });
  const version = parseReply(digits, 'the version of the prices', fields.get('version') ?? '0');
  return { version, prices: new Map(prices) };
}

const row = z
  .tuple([text, positive, z.number()])
  .transform(([asset, units, asOfMs]) => ({ asset, price: units, asOfMs }));
const recorded = z.object({ set: z.array(row), remove: z.array(text), by: text });

function historyOf([id, fields]: readonly [string, ReadonlyMap<string, string>]): PriceHistoryEntry {
  const what = `the change ${id} of prices`;
  const change = parseJson(recorded, what, fields.get('change') ?? '');
  const atMs = parseReply(digits, what, fields.get('at'));
  return { ...change, version: parseReply(digits, what, id.split('-')[0]), atMs };
}
