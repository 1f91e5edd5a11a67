import { readDecimal } from './decimal.ts';
import type { Body } from './json.ts';
import { Refusal } from './refusal.ts';

/** Reads the text of a parameter, or throws a Refusal. A parameter that is missing or empty has no text. */
export type Reader<T> = (text: string | undefined, name: string) => T;
type Check<T> = (text: string, name: string) => T;

/** A reader for each parameter of an operation. */
export type Readers = Readonly<Record<string, Reader<unknown>>>;

export function required<T>(check: Check<T>): Reader<T> {
  return (text, name) => {
    if (text === undefined) throw new Refusal('10020', `${name} is missing`);
    return check(text, name);
  };
}

export function optional<T>(check: Check<T>): Reader<T | undefined> {
  return (text, name) => (text === undefined ? undefined : check(text, name));
}

export function byDefault<T>(value: T, check: Check<T>): Reader<T> {
  return (text, name) => (text === undefined ? value : check(text, name));
}

const TEXT_CHARACTERS = 256;

export const text: Check<string> = (written, name) =>
  written.length <= TEXT_CHARACTERS ? written : refuse(name, `is longer than ${TEXT_CHARACTERS} characters`);

export function whole(least = 0, most = Number.MAX_SAFE_INTEGER): Check<number> {
  return (written, name) => {
    const number = /^\d{1,16}$/.test(written) ? Number(written) : -1;
    return number >= least && number <= most
      ? number
      : refuse(name, `is not a whole number from ${least} to ${most}`);
  };
}

export function oneOf<const T extends string>(...values: readonly T[]): Check<T> {
  return (written, name) =>
    values.find((value) => value === written) ?? refuse(name, `is not one of ${values.join(', ')}`);
}

/** Texts separated by commas. */
export function listOf<T>(check: Check<T>): Check<readonly T[]> {
  return (written, name) => written.split(',').map((part) => check(part.trim(), name));
}

/** A decimal above zero, as it was written. Any other text is refused with 70008. */
export const amount: Check<string> = (written, name) => {
  const units = readDecimal(written);
  if (units !== undefined && units > 0n) return written;
  throw new Refusal('70008', `${name} is not a decimal above zero with at most 18 decimal places`);
};

/** Page numbers and sizes beyond these are refused. */
export const page = whole(1, 1_000_000);
export const pageSize = whole(1, 1000);

/** The parameters of an operation whose pages have `size` records unless the request says otherwise. */
export const paging = (size: number) => ({ page: byDefault(1, page), pageSize: byDefault(size, pageSize) });

/** The parameters that name a user, of which one must be given. */
export const userNames = {
  openId: optional(text),
  userId: optional(whole()),
  mobileNumber: optional(text),
  email: optional(text),
};

export function refuse(name: string, why: string): never {
  throw new Refusal('10020', `${name} ${why}`);
}

/** Reads all parameters. Members that the operation doesn't define are ignored, such as `time`. */
export function readParameters<R extends Readers>(
  readers: R,
  body: Body,
): { readonly [Name in keyof R]: ReturnType<R[Name]> };
export function readParameters(readers: Readers, body: Body): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(readers).map(([name, read]) => [name, read(textOf(body, name), name)]),
  );
}

function textOf(body: Body, name: string): string | undefined {
  const value = body.get(name);
  if (value === undefined || value.kind === 'null' || value.text === '') return undefined;
  return value.kind === 'word' ? refuse(name, 'is neither text nor a number') : value.text;
}
