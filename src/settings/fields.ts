import { isIP } from 'node:net';
import { z } from 'zod';

/*
 * The kinds of values that settings have. Every scalar arrives as text, from the file and from the
 * environment. The error message of a check is the fix. It never quotes the value, which may be a misplaced
 * secret.
 */

/** A mapping with exactly these settings. */
export function section<T extends z.core.$ZodLooseShape>(shape: T) {
  const names = Object.keys(shape).join(', ');
  return z.strictObject(shape, {
    error: ({ code }) =>
      code === 'invalid_type' ? `write its settings below it, indented: ${names}` : undefined,
  });
}

export function list<T extends z.ZodType>(element: T, min: number, max: number, what: string) {
  const error = `write a list of ${min} to ${max} ${what}`;
  return z.array(element, { error }).min(min, { error }).max(max, { error });
}

/** A whole number in decimal digits, with a default. */
export function wholeNumberOr(otherwise: number, min: number, max: number) {
  const range = `a whole number from ${min} to ${max}`;
  const error = `write ${range}, or delete the line for the default, ${otherwise}`;
  return z.preprocess(numberOfDigits, z.int({ error }).min(min, error).max(max, error).default(otherwise));
}

/** The same without a default. */
export function wholeNumber(min: number, max: number) {
  const error = `write a whole number from ${min} to ${max}, or delete the line`;
  return z.preprocess(numberOfDigits, z.int({ error }).min(min, error).max(max, error));
}

function numberOfDigits(value: unknown): unknown {
  return typeof value === 'string' && /^(?:0|[1-9]\d{0,14})$/.test(value) ? Number(value) : value;
}

/** `true` or `false`, with a default. */
export function flagOr(otherwise: boolean) {
  const error = `write true or false, or delete the line for the default, ${otherwise}`;
  return z.preprocess(booleanOfText, z.boolean({ error }).default(otherwise));
}

/** `true` or `false`, without a default. */
export const flag = z.preprocess(
  booleanOfText,
  z.boolean({ error: 'write true or false, or delete the line' }),
);

function booleanOfText(value: unknown): unknown {
  return value === 'true' ? true : value === 'false' ? false : value;
}

export function oneOf<const T extends readonly [string, ...string[]]>(values: T) {
  return z.enum(values, { error: `write one of ${values.join(', ')}` });
}

/** Text that matches a pattern. */
export function text(pattern: RegExp, fix: string) {
  return z.string({ error: fix }).regex(pattern, { error: fix });
}

/** Text that matches a pattern and passes a check. A text that fails both is one fault. */
export function checkedText(pattern: RegExp, check: (text: string) => boolean, fix: string) {
  return text(pattern, fix).refine((written) => !pattern.test(written) || check(written), { error: fix });
}

/** Where a server listens. */
export const listenHost = checkedText(
  /^[^\s/]{1,253}$/,
  isHost,
  'write an IP address or a host name to listen on, without port or brackets',
);

/** The name of a source, service or module. */
export const shortName = text(
  /^[a-z][a-z0-9-]{0,31}$/,
  'write a lower-case letter, then at most 31 of a-z, 0-9 and -',
);

export const filePath = text(/^[^\0]{1,4096}$/, 'write the path of a file').meta({ title: 'file path' });

/** The place of a secret or key, and when its file is read. */
function referenceRead(when: string) {
  return z.union(
    [
      z.strictObject({ file: filePath.describe(`A file that holds nothing else. It is read ${when}.`) }),
      z.strictObject({
        env: text(/^[A-Za-z_][A-Za-z0-9_]*$/, 'write the name of an environment variable').describe(
          'The name of an environment variable that holds it.',
        ),
      }),
    ],
    { error: 'write { file: PATH } or { env: NAME }; settings must not contain the secret itself' },
  );
}

export const secretReference = referenceRead('again when it changes');
/** Of a secret that is read by `acceptedSecrets`. */
export const TWO_SECRETS = 'While it is replaced, two lines are two secrets, and each is accepted.';

export const secretReferenceReadAtStart = referenceRead('when the service starts');

/** The name of a header of HTTP. */
export const headerName = text(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/, 'write the name of a header');

const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(?:\.[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*$/;

/** Whether a text is a host name, and not an IP address or an attempt at one, such as 10.0.0.256. */
export function isHostName(written: string): boolean {
  return HOST_NAME.test(written) && !/(?:^|\.)\d+$/.test(written);
}

/** Whether something can have this address or host name. IPv6 addresses are written without brackets. */
export function isHost(written: string): boolean {
  return (isIP(written) !== 0 && !written.includes('%')) || isHostName(written);
}

/** Whether a text is a URL that can be connected to. */
export function isUrl(written: string): boolean {
  return URL.canParse(written) && new URL(written).port !== '0';
}

const RANGE_FIX = 'write an IP address or a range such as 10.0.0.0/8';

/** Addresses of callers are compared as IPv4 where they are, so a mapped one would match nobody. */
export const addressRange = z
  .string({ error: RANGE_FIX })
  .refine(isAddressRange, { error: RANGE_FIX })
  .refine((range) => !/^::ffff:/i.test(range), { error: 'write it as an IPv4 address or range' })
  .meta({ title: 'IP address or range' });

function isAddressRange(range: string): boolean {
  const [, address = '', prefix = '0'] = /^([^/%]*)(?:\/(0|[1-9]\d{0,2}))?$/.exec(range) ?? [];
  const version = isIP(address);
  return version !== 0 && Number(prefix) <= (version === 4 ? 32 : 128);
}
