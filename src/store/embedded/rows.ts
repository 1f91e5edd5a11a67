import type { SQLOutputValue } from 'node:sqlite';
import { CountersignError } from '../../errors.ts';
import type { Amount } from '../../values/amount.ts';

export type Row = Readonly<Record<string, SQLOutputValue>>;

export function text(row: Row, column: string): string {
  const value = row[column];
  return typeof value === 'string' ? value : unreadable(column, 'text');
}

export function integer(row: Row, column: string): number {
  const value = row[column];
  return Number.isSafeInteger(value) ? Number(value) : unreadable(column, 'an integer');
}

/** Amounts are stored as the decimal text of their units: SQL's own numbers would round them. */
export function amount(row: Row, column: string): Amount {
  const digits = text(row, column);
  return /^\d+$/.test(digits) ? BigInt(digits) : unreadable(column, 'an amount');
}

function unreadable(column: string, expected: string): never {
  throw new CountersignError(
    'STORE_CORRUPT',
    `the column ${column} of the store does not hold ${expected}; restore the store from a backup`,
    { column },
  );
}
