import { z } from 'zod';
import { SIGNED_DECIMAL } from '../../src/values/amount.ts';
import { exactText } from '../../src/values/exact-json.ts';
import type { UnreadableRecord } from './calls.ts';

/*
 * The kinds of values in answers. An answer's numbers arrive as the text that was written (exact-json.ts), so
 * a value has one reading, whether the platform sends it as a number or as a string. Ids and amounts stay
 * text, because they may exceed 2^53. The error message of a check says what the value must be. `tsType` is
 * the type that a caller reads, where the declarations of the npm package can't or shouldn't derive it from the schema. The other
 * metadata is for the OpenAPI document: the name of the kind, the JSON types that the platform may send, and
 * `derived` for a member that only the reading has.
 */

/** A text that identifies something, such as a coin. */
export const text = z
  .string({ error: 'must be a text' })
  .min(1, { error: 'must not be empty' })
  .max(65_536, { error: 'must have at most 65536 characters' })
  .meta({ id: 'Text', type: ['string', 'number'], description: 'A text. A number stands for its digits.' });

/** A whole number that identifies something, as text; -1 is the platform's value for nobody. */
export const id = z
  .string({ error: 'must be an id' })
  .regex(/^-?(?:0|[1-9]\d{0,39})$/, { error: 'must be an id, a whole number of at most 40 digits' })
  .meta({
    id: 'Id',
    type: ['integer', 'string'],
    description: 'A whole number that identifies something. It may exceed 2^53: read it as text.',
    tsType: 'Id',
  });

/** An exact decimal as text, as it was written. */
export const amount = z
  .string({ error: 'must be an amount' })
  .max(120, { error: 'must be an amount of at most 120 characters' })
  .regex(SIGNED_DECIMAL, { error: 'must be an exact decimal' })
  .meta({
    id: 'Amount',
    type: ['number', 'string'],
    description: 'An exact decimal. A binary floating-point number loses digits: read it as text.',
    tsType: 'Decimal',
  });

/** A small whole number: a count, a status, or milliseconds. */
export const integer = z
  .string({ error: 'must be a whole number' })
  .regex(/^-?(?:0|[1-9]\d{0,15})$/, { error: 'must be a whole number below 2^53' })
  .meta({
    id: 'WholeNumber',
    type: ['integer', 'string'],
    format: 'int64',
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
  })
  .transform(Number)
  .refine(Number.isSafeInteger, { error: 'must be a whole number below 2^53' })
  .meta({ tsType: 'number' });

/** A whole number that has a meaning in section 3.1, or another one. */
export function known(first: number, ...more: readonly number[]) {
  return integer.meta({ tsType: `Known<${[first, ...more].join(' | ')}>` });
}

/** A number of records or a page. */
export const count = integer
  .refine((value) => value >= 0, { error: 'must not be below zero' })
  .meta({ id: 'Count', minimum: 0, pattern: '^\\d+$' });

export const flag = z.preprocess(
  (value) => (value === 'true' ? true : value === 'false' ? false : value),
  z
    .boolean({ error: 'must be true or false' })
    .meta({ id: 'Flag', type: ['boolean', 'string'], enum: [true, false, 'true', 'false'] }),
);

/** `yyyy-MM-dd HH:mm:ss`, in a time zone that the specification does not name. */
export const stamp = z
  .string({ error: 'must be a time' })
  .regex(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, { error: 'must be a time like 2026-03-02 10:00:00' })
  .meta({ id: 'Stamp', description: 'A time, in a time zone that the specification does not name.' });

/** A value that may be missing, null or empty; each of them reads as null. */
export function orNull<T extends z.ZodType>(schema: T) {
  return z
    .preprocess((value) => (value === undefined || value === '' ? null : value), schema.nullable())
    .meta({ mayBeEmpty: true });
}

/** What describes a record and identifies nothing: a name, a contact, a comment. */
export const note = orNull(text).meta({ id: 'Note' });

/** A list whose elements are all readable. The platform may write null for an empty one. */
export function wholeList<T extends z.ZodType>(element: T) {
  return z
    .preprocess((value) => (value === null ? [] : value), z.array(element, { error: 'must be a list' }))
    .meta({ mayBeNull: true });
}

/** A list in which an element that can't be read stands as what it is, with its text. */
export function list<T extends z.ZodType>(element: T) {
  const unreadable = z
    .unknown()
    .transform((value): UnreadableRecord => {
      const issues = element.safeParse(value).error?.issues ?? [];
      return { unreadable: faultsText(issues), text: exactText(value) };
    })
    .meta({ tsType: 'UnreadableRecord' });
  return wholeList(z.union([element, unreadable]).meta({ mayBeUnreadable: true }));
}

const FAULTS_MAX = 4;

/** Names the members and what they must be, and never a value, which may be a token. */
export function faultsText(issues: readonly z.core.$ZodIssue[], before: readonly string[] = []): string {
  const faults = issues
    .slice(0, FAULTS_MAX)
    .map(({ path, message }) =>
      `${[...before, ...path.map(String)].join('.').slice(0, 120)} ${message}`.trim(),
    );
  const more = issues.length - faults.length;
  return [...faults, ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
}

/** An object with at least these members. Members that the specification doesn't name are left out. */
export function record<T extends z.core.$ZodLooseShape>(shape: T) {
  return z.object(shape, { error: 'must be an object' });
}

/** Several members of one kind, in this order: `fields(amount, 'price volume')`. */
export function fields<T extends z.ZodType, const N extends string>(
  kind: T,
  names: N,
): Readonly<Record<Words<N>, T>>;
export function fields(kind: z.ZodType, names: string): Readonly<Record<string, z.ZodType>> {
  return Object.fromEntries(names.split(' ').map((name) => [name, kind]));
}

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;
