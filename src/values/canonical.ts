import { hash } from 'node:crypto';

export type Json =
  string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined };

/**
 * JSON in the canonical form of RFC 8785: member names in the order of their UTF-16 code units, no blanks,
 * numbers and strings as ECMAScript writes them. Members that are undefined are left out.
 *
 * RFC 8785 has no form for a string with an unpaired surrogate. A policy can contain one (`"\ud800"` in
 * YAML), so it keeps the lower-case escape that `JSON.stringify` writes, and the revision of such a policy
 * stays valid. Throws a RangeError for a number that is not finite (section 3.2.2.3).
 */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== 'object') return scalar(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  let members = '';
  // Without a comparator, sort() compares UTF-16 code units (section 3.2.3).
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

/** Lower-case hexadecimal SHA-256 of bytes, or of a text in UTF-8. */
export function sha256Hex(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex');
}

function scalar(value: string | number | boolean | null): string {
  if (typeof value === 'number' && !Number.isFinite(value)) {
    throw new RangeError(`${value} has no form in JSON; pass a finite number`);
  }
  return JSON.stringify(value);
}

/** Whether a value is a mapping of names. */
export function isObject(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const isArray = (value: Json): value is readonly Json[] => Array.isArray(value);
