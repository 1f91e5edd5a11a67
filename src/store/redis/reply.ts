import { z } from 'zod';
import { CountersignError } from '../../errors.ts';
import { formatSchemaError } from '../../values/schema-error.ts';
import type { Connection } from './connection.ts';

export const text = z.string();
export const texts = z.array(z.string());
export const optionalText = z.union([z.string(), z.null()]).transform((value) => value ?? undefined);
export const count = z.number().int().nonnegative();
/** Scripts return milliseconds and sequences as digits. */
export const digits = z
  .string()
  .regex(/^\d{1,16}$/)
  .transform(Number);
/** A hash as Redis returns it: field, value, field, value. */
export const pairs = texts.transform((flat) => {
  const fields = new Map<string, string>();
  for (let at = 0; at + 1 < flat.length; at += 2) fields.set(flat[at] ?? '', flat[at + 1] ?? '');
  return fields;
});

/** Reads a reply by its schema. Throws STORE_CORRUPT if it does not match. */
export function parseReply<T>(schema: z.ZodType<T>, what: string, reply: unknown): T {
  const read = schema.safeParse(reply);
  if (read.success) return read.data;
  throw new CountersignError(
    'STORE_CORRUPT',
    `Redis holds an unexpected value for ${what}: ${formatSchemaError(read.error, reply)}. ` +
      'Give the store a database or a prefix of its own, or restore a backup',
    { what },
  );
}

/** Reads JSON text within a reply. Throws STORE_CORRUPT if it does not match. */
export function parseJson<T>(schema: z.ZodType<T>, what: string, json: string): T {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    value = undefined;
  }
  return parseReply(schema, what, value);
}

/**
 * Reads a hash. The command is in capitals because ioredis turns the reply to `hgetall` into an object, which
 * loses `__proto__`.
 */
export async function readHash(
  connection: Connection,
  what: string,
  key: string,
): Promise<ReadonlyMap<string, string>> {
  return parseReply(pairs, what, await connection.call('HGETALL', [key]));
}
