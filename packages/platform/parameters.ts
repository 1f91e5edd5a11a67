import { z } from 'zod';
import { parseAmount } from '../../src/values/amount.ts';
import { readInstant } from '../../src/values/clock.ts';
import type { Written, WrittenAmount, WrittenTime } from './calls.ts';

/*
 * The kinds of parameters. Each accepts what a program or a person has at hand, and gives the exact text that
 * is sent. The error message of a check is the fix. `tsType` is what a caller may write, which the
 * declarations of the npm package can't read from a schema that converts. The other metadata is for the OpenAPI document: `asNumber` has the
 * bounds of a parameter that is sent as a JSON number.
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

/** The parameters that name a user. Of several, the platform uses the first of USER_NAMES. */
export const userNames = {
  openId: word.optional().describe('The openId of the user.'),
  userId: word.optional().describe('The UID of the user.'),
  mobileNumber: word.optional().describe('The mobile number of the user.'),
  email: word.optional().describe('The e-mail address of the user.'),
};
export const USER_NAMES = ['openId', 'userId', 'mobileNumber', 'email'] as const;

/** A text that may contain blanks, such as a scene. */
export const phrase = textOf(
  /^[^\s\p{Cc}\p{Cf}\p{Cs}](?:[^\p{Cc}\p{Cf}\p{Cs}]{0,126}[^\s\p{Cc}\p{Cf}\p{Cs}])?$/u,
  'write 1 to 128 characters, no blanks around them',
);

const SECRET_FIX = 'write 1 to 4096 printable characters without blanks';

/** A token or key. */
export const secretText = z
  .string({ error: 'write it as a text' })
  .max(4096, { error: SECRET_FIX })
  .regex(/^[\x21-\x7e]+$/, { error: SECRET_FIX });

/** An id that is sent as a JSON number. */
export const integer = textOf(
  /^(?:0|[1-9]\d{0,18})$/,
  'write a whole number; an id above 2^53 must be a text or a bigint',
).meta({ asNumber: { minimum: 0 } });

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
      })
      // Some engines for regular expressions allow no more than a thousand repetitions.
      .meta({ pattern: '^[^\\s,]+(?:,[^\\s,]+)*$', maxLength: 32_499 }),
  )
  .meta({ tsType: 'Written | readonly Written[]' });

const AMOUNT_FIX = 'write an exact decimal above zero as a text, such as "10.50", without an exponent';

export const amount = z
  .preprocess(
    (value: WrittenAmount): unknown => (typeof value === 'bigint' ? String(value) : value),
    z
      .string({ error: AMOUNT_FIX })
      .regex(/^(?:[1-9]\d*(?:\.\d+)?|0\.\d*[1-9]\d*)$/, { error: AMOUNT_FIX })
      .refine((text) => parseAmount(text) !== undefined, { error: AMOUNT_FIX }),
  )
  .meta({ tsType: 'WrittenAmount' });

const MS_FIX = 'write milliseconds since the epoch, or an instant like 2026-03-02T10:00:00Z';

/** Milliseconds since the epoch. A Date is converted, and an ISO 8601 instant with a zone. */
export const milliseconds = z
  .preprocess(
    (value: WrittenTime): unknown => {
      if (value instanceof Date) return String(value.getTime());
      const text = asText(value);
      return typeof text === 'string' ? String(readInstant(text) ?? text) : text;
    },
    z
      .string({ error: MS_FIX })
      .regex(/^(?:0|[1-9]\d{0,14})$/, { error: MS_FIX })
      .meta({ asNumber: { minimum: 0, maximum: 999_999_999_999_999 } }),
  )
  .meta({ tsType: 'WrittenTime' });

const isCalendarTime = (day: string, time = '00:00:00'): boolean =>
  readInstant(`${day}T${time}Z`) !== undefined;

export const day = z
  .string({ error: 'write a day like 2026-03-02' })
  .refine((text) => isCalendarTime(text), { error: 'write a day of the calendar like 2026-03-02' })
  .meta({ format: 'date', pattern: '^\\d{4}-\\d\\d-\\d\\d$' });

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
  .meta({ asNumber: { minimum: 1, maximum: 999_999_999 } })
  .prefault('1')
  .describe('The page, from 1.');

/** Records on a page. */
export function pageSize(otherwise: number, most: number) {
  return textOf(wholeNumberUpTo(most), `write a whole number from 1 to ${most}`)
    .meta({ asNumber: { minimum: 1, maximum: most } })
    .prefault(String(otherwise))
    .describe(`Records on a page, at most ${most}.`);
}

/** From 1. One alternative for each digit that can be smaller, one for fewer digits, and `most` itself. */
function wholeNumberUpTo(most: number): RegExp {
  const digits = String(most);
  const smaller = Array.from(digits, (digit, at) => {
    const [least, last] = [at === 0 ? 1 : 0, Number(digit) - 1];
    const range = last === least ? String(last) : `[${least}-${last}]`;
    return last < least ? [] : [`${digits.slice(0, at)}${range}\\d{${digits.length - at - 1}}`];
  });
  return new RegExp(`^(?:[1-9]\\d{0,${digits.length - 2}}|${[...smaller.flat(), digits].join('|')})$`);
}
