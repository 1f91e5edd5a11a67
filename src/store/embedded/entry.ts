import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import { type ClaimResult, claimResults } from '../../claims/claims.ts';
import { JOURNAL_TYPES, type JournalEntry } from '../store.ts';
import { type Row, integer, text } from './rows.ts';

const units = z
  .string()
  .regex(/^\d+$/)
  .transform((digits) => BigInt(digits));
const claims = claimResults(units);
const type = z.enum(JOURNAL_TYPES);
const verdict = z.enum(['SUCCESS', 'FAILURE', '']);

/** Claim results as JSON, with amounts as the digits of their units. */
export function storedClaims(results: readonly ClaimResult[]): string {
  return JSON.stringify(results, (_name, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  );
}

/** An entry from its row. Throws STORE_CORRUPT. */
export function journalEntry(row: Row): JournalEntry {
  const id = String(integer(row, 'id'));
  try {
    return {
      id,
      source: text(row, 'source'),
      atMs: integer(row, 'at_ms'),
      type: type.parse(row['type']),
      subject: text(row, 'subject'),
      verdict: verdict.parse(row['verdict']),
      code: text(row, 'code'),
      revision: text(row, 'revision'),
      of: text(row, 'of'),
      claims: claims.parse(JSON.parse(text(row, 'claims'))),
      detail: text(row, 'detail'),
    };
  } catch (thrown) {
    throw new CountersignError(
      'STORE_CORRUPT',
      `the journal entry ${id} can't be read: restore the store from a backup`,
      { id },
      thrown,
    );
  }
}
