import { hash } from 'node:crypto';

export type Json =
  string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json | undefined };

/**
 * JSON with names in code-unit order and no blanks: equal values give equal text. Undefined members are left
 * out.
 */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  let members = '';
  for (const name of Object.keys(value).sort()) {
    const member = value[name];
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

export function sha256Hex(text: string | Uint8Array): string {
  return hash('sha256', text, 'hex');
}

const isArray = (value: Json): value is readonly Json[] => Array.isArray(value);
