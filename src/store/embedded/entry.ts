import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import { JOURNAL_TYPES, type ClaimResult, type JournalEntry } from '../store.ts';
import { type Row, integer, text } from './rows.ts';

const holds = z.boolean();
const claims = z.array(
  z.union([
    z.strictObject({
      holds,
      reserved: z.boolean(),
      used: z
        .string()
        .regex(/^\d+$/)
        .transform((digits) => BigInt(digits)),
    }),
    z.strictObject({ holds, missing: z.boolean(), present: z.array(z.string()) }),
    z.strictObject({
      holds,
      missing: z.boolean(),
      added: z.array(z.tuple([z.string(), z.int()])),
    }),
    z.strictObject({ holds, markedAtMs: z.int() }),
    z.strictObject({
      holds,
      order: z.enum(['agrees', 'missing', 'cancelled', 'expired', 'used', 'differs']),
      differs: z.array(z.string()),
    }),
    z.strictObject({ holds, approvedAtMs: z.int(), speedUps: z.int() }),
  ]),
);
const type = z.enum(JOURNAL_TYPES);
const verdict = z.enum(['SUCCESS', 'FAILURE', '']);

/** Claim results as JSON; amounts as the decimal text of their units. */
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
