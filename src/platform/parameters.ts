import { z } from 'zod';
import { parseAmount } from '../values/amount.ts';
import { readInstant } from '../values/clock.ts';
import type { Written, WrittenAmount } from './calls.ts';

/*
 * The kinds of parameters. Each accepts what a program or a person has at hand, and gives the exact text that
 * is sent. The error message of a check is the fix. `tsType` is what a caller may write, which typescript.ts
 * can't read from a schema that converts.
 */

function asText(value: Written): unknown {
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? String(value) : value;
}

function textOf(pattern: RegExp, fix: string) {
  return z
    .preprocess(asText, z.string({ error: fix }).regex(pattern, { error: fix }))
    .meta({ tsType: 'Written' });
}

/** A name, id or other word of the platform or the merchant. */
export const word = textOf(
  /^[^\s\p{Cc}\p{Cf}\p{Cs}]{1,128}$/u,
  'write 1 to 128 characters without blanks; an id above 2^53 must be a text or a bigint',
);

/** A text that may contain blanks, such as a scene. */
export const phrase = textOf(
  /^(?!\s)[^\p{Cc}\p{Cf}\p{Cs}]{1,128}(?<!\s)$/u,
  'write 1 to 128 characters, no blanks around them',
);

/** A token or key. */
export const secretText = z
  .string({ error: 'write it as a text' })
  .regex(/^[\x21-\x7e]{1,4096}$/, { error: 'write 1 to 4096 printable characters without blanks' });

/** An id that is sent as a JSON number. */
export const integer = textOf(
  /^(?:0|[1-9]\d{0,18})$/,
  'write a whole number; an id above 2^53 must be a text or a bigint',
);

const isList = (value: Written | readonly Written[]): value is readonly Written[] => Array.isArray(value);

/** Names or ids with commas between them, also as an array. */
export const names = z
  .preprocess(
    (value: Written | readonly Written[]): unknown =>
      isList(value) ? value.map(asText).join(',') : asText(value),
    z
      .string({ error: 'write names with commas between them' })
      .regex(/^[^\s,\p{Cc}\p{Cf}\p{Cs}]{1,64}(?:,[^\s,\p{Cc}\p{Cf}\p{Cs}]{1,64}){0,499}$/u, {
        error: 'write 1 to 500 names with commas between them, without blanks',
      }),
  )
  .meta({ tsType: 'Written | readonly Written[]' });

const AMOUNT_FIX = 'write an exact decimal above zero as a text, such as "10.50", without an exponent';

export const amount = z
  .preprocess(
    (value: WrittenAmount): unknown => (typeof value === 'bigint' ? String(value) : value),
    z
      .string({ error: AMOUNT_FIX })
      .regex(/^\d+(?:\.\d+)?$/, { error: AMOUNT_FIX })
      .refine((text) => (parseAmount(text) ?? 0n) > 0n, { error: AMOUNT_FIX }),
  )
  .meta({ tsType: 'WrittenAmount' });

const MS_FIX = 'write milliseconds since the epoch, or an instant like 2026-03-02T10:00:00Z';

/** Milliseconds since the epoch. An ISO 8601 instant with a zone is converted. */
export const milliseconds = z
  .preprocess(
    (value: Written): unknown => {
      const text = asText(value);
      return typeof text === 'string' ? String(readInstant(text) ?? text) : text;
    },
    z.string({ error: MS_FIX }).regex(/^(?:0|[1-9]\d{0,14})$/, { error: MS_FIX }),
  )
  .meta({ tsType: 'Written' });

const isCalendarTime = (day: string, time = '00:00:00'): boolean =>
  readInstant(`${day}T${time}Z`) !== undefined;

export const day = z.string({ error: 'write a day like 2026-03-02' }).refine((text) => isCalendarTime(text), {
  error: 'write a day of the calendar like 2026-03-02',
});

const STAMP_FIX = "write a time of the platform's time zone like 2026-03-02 10:00:00";

/** `yyyy-MM-dd HH:mm:ss`, in a time zone that the specification does not name. */
export const stamp = z
  .string({ error: STAMP_FIX })
  .regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, { error: STAMP_FIX })
  .refine((text) => isCalendarTime(text.slice(0, 10), text.slice(11)), { error: STAMP_FIX });

/** One of the values of section 3.1, which are whole numbers. */
export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z
    .preprocess(asText, z.enum(values, { error: `write one of ${values.join(', ')}` }))
    .meta({ tsType: [...values.map((value) => `'${value}'`), ...values].join(' | ') });
}

export const page = textOf(/^[1-9]\d{0,8}$/, 'write the number of a page, from 1')
  .prefault('1')
  .describe('The page, from 1.');

/** Records on a page. */
export function pageSize(otherwise: number, most: number) {
  const fix = `write a whole number from 1 to ${most}`;
  return textOf(/^[1-9]\d{0,8}$/, fix)
    .refine((text) => Number(text) <= most, { error: fix })
    .prefault(String(otherwise))
    .describe(`Records on a page, at most ${most}.`);
}
