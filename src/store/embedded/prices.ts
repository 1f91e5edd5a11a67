import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import type { PriceTable } from '../../policy/facts.ts';
import { assertPriceChange, assertPriceQuery } from '../arguments.ts';
import type { PriceChange, PriceHistoryEntry, Prices } from '../store.ts';
import { type Row, amount, integer, text } from './rows.ts';

export interface PriceRows {
  table(): PriceTable;
  /** Throws USAGE. */
  change(change: PriceChange, nowMs: number): PriceTable;
  /** Throws USAGE. */
  history(query: Parameters<Prices['priceHistory']>[0]): readonly PriceHistoryEntry[];
  /** Deletes at most `limit` entries of the history from before the instant. */
  expire(beforeMs: number, limit: number): void;
}

/** A change as JSON; a price is the decimal text of its units. */
const changeSchema = z.strictObject({
  set: z.array(
    z.strictObject({
      asset: z.string(),
      price: z
        .string()
        .regex(/^\d+$/)
        .transform((digits) => BigInt(digits)),
      asOfMs: z.int(),
    }),
  ),
  remove: z.array(z.string()),
  by: z.string(),
});

export function createPrices(connection: DatabaseSync): PriceRows {
  // One statement, so that the version and the prices agree even if another process writes.
  const find = connection.prepare(
    'SELECT control.prices AS version, asset, price, as_of_ms FROM control LEFT JOIN price',
  );
  const next = connection.prepare(
    'UPDATE control SET sequence = sequence + 1, prices = prices + 1, at_ms = ? RETURNING prices',
  );
  const set = connection.prepare('INSERT OR REPLACE INTO price (asset, price, as_of_ms) VALUES (?, ?, ?)');
  const remove = connection.prepare('DELETE FROM price WHERE asset = ?');
  const addHistory = connection.prepare(
    'INSERT INTO price_history (version, change, at_ms) VALUES (?, ?, ?)',
  );
  const after = connection.prepare('SELECT * FROM price_history WHERE version > ? ORDER BY version LIMIT ?');
  const before = connection.prepare(
    'SELECT * FROM price_history WHERE version < ? ORDER BY version DESC LIMIT ?',
  );
  const oldest = connection.prepare('SELECT version, at_ms FROM price_history ORDER BY version LIMIT 1');
  const drop = connection.prepare('DELETE FROM price_history WHERE version < ? AND at_ms < ?');

  const table = (): PriceTable => {
    const rows = find.all();
    const priced = rows.filter((row) => row['asset'] !== null);
    return {
      version: integer(rows[0] ?? {}, 'version'),
      prices: new Map(
        priced.map((row) => [
          text(row, 'asset'),
          { price: amount(row, 'price'), asOfMs: integer(row, 'as_of_ms') },
        ]),
      ),
    };
  };

  return {
    table,
    change(change, nowMs) {
      assertPriceChange(change);
      const version = integer(next.get(nowMs) ?? {}, 'prices');
      for (const { asset, price, asOfMs } of change.set) set.run(asset, String(price), asOfMs);
      for (const asset of change.remove) remove.run(asset);
      addHistory.run(version, storedChange(change), nowMs);
      return table();
    },
    history(query) {
      assertPriceQuery(query);
      const rows =
        query.before === undefined
          ? after.all(query.after, query.limit)
          : before.all(query.before, query.limit);
      return rows.map(historyEntry);
    },
    expire(beforeMs, limit) {
      const first = oldest.get();
      if (first === undefined || integer(first, 'at_ms') >= beforeMs) return;
      drop.run(integer(first, 'version') + limit, beforeMs);
    },
  };
}

function storedChange({ set, remove, by }: PriceChange): string {
  const priced = set.map(({ asset, price, asOfMs }) => ({ asset, price: String(price), asOfMs }));
  return JSON.stringify({ set: priced, remove, by });
}

function historyEntry(row: Row): PriceHistoryEntry {
  const version = integer(row, 'version');
  try {
    return {
      version,
      atMs: integer(row, 'at_ms'),
      ...changeSchema.parse(JSON.parse(text(row, 'change'))),
    };
  } catch (thrown) {
    throw new CountersignError(
      'STORE_CORRUPT',
      `version ${version} of the prices can't be read; restore the store from a backup`,
      { version },
      thrown,
    );
  }
}
