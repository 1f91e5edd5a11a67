import { isIP } from 'node:net';
import { z } from 'zod';

/*
 * The kinds of values that settings have. Every scalar comes as text, from the file and from the environment
 * alike. The message of a check is the cure: what to write instead. It never repeats what was written, for
 * that may be a secret.
 */

/** A whole number within bounds, written in decimal digits, for a setting that may be left out. */
export function wholeNumberOr(otherwise: number, min: number, max: number) {
  const error = `write a whole number from ${min} to ${max}, or delete the line for the default, ${otherwise}`;
  return z.preprocess(numberOfDigits, z.int({ error }).min(min, error).max(max, error).default(otherwise));
}

function numberOfDigits(value: unknown): unknown {
  return typeof value === 'string' && /^(?:0|[1-9]\d{0,14})$/.test(value) ? Number(value) : value;
}

/** `true` or `false`, for a setting that may be left out. */
export function flagOr(otherwise: boolean) {
  const error = `write true or false, or delete the line for the default, ${otherwise}`;
  return z.preprocess(
    (value) => (value === 'true' ? true : value === 'false' ? false : value),
    z.boolean({ error }).default(otherwise),
  );
}

export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: `write one of ${values.join(', ')}` });
}

/** Text that a pattern describes; `cure` says it in words. */
export function text(pattern: RegExp, cure: string) {
  return z.string({ error: cure }).regex(pattern, { error: cure });
}

export function list<T extends z.ZodType>(element: T, min: number, max: number, what: string) {
  const error = `write a list of ${min} to ${max} ${what}`;
  return z.array(element, { error }).min(min, { error }).max(max, { error });
}

/** A mapping that has these settings and no others. */
export function section<T extends z.core.$ZodLooseShape>(shape: T) {
  const names = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'invalid_type' ? `write settings below it, indented: ${names}` : undefined,
  });
}

export const filePath = text(/^[^\0]{1,4096}$/, 'write the path of a file').meta({ title: 'file path' });

/** Where a secret or a key is found. A secret itself is refused, and not repeated. */
export const secretReference = z.union(
  [
    z.strictObject({
      file: filePath.describe('A file that holds nothing else. It is read again when it changes.'),
    }),
    z.strictObject({
      env: text(/^[A-Za-z_][A-Za-z0-9_]*$/, 'write the name of an environment variable').describe(
        'The name of an environment variable that holds it.',
      ),
    }),
  ],
  { error: 'write { file: PATH } or { env: NAME }, one of them; a secret never stands in the settings' },
);

export const addressRange = z
  .string({ error: 'write an IP address or a range such as 10.0.0.0/8' })
  .refine(isAddressRange, { error: 'write an IP address or a range such as 10.0.0.0/8' })
  .meta({ title: 'IP address or range' });

function isAddressRange(written: string): boolean {
  const [address = '', prefix, ...more] = written.split('/');
  const version = isIP(address);
  if (version === 0 || address.includes('%') || more.length > 0) return false;
  return (
    prefix === undefined ||
    (/^(?:0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128))
  );
}
