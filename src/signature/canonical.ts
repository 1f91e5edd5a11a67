import { type Failure, failure } from '../errors.ts';
import type { Members } from '../values/members.ts';

export type EmptyValues = 'keep' | 'skip';

/** What the flat schemes sign (the secret not included). */
export interface Canonical {
  readonly ok: true;
  readonly text: string;
  /** The names and values that `text` runs together, in its order. */
  readonly signed: readonly (readonly [name: string, value: string])[];
}

/**
 * The text that the `md5` and `rsa` schemes sign: every member but `sign` and those that are JSON null, in
 * code-point order of the names, name and value run together, numbers and booleans as the body writes them.
 * An empty string adds its name alone, or with `skip` nothing. Fails MEMBER_INVALID for an object or array,
 * which has no agreed text.
 */
export function canonicalString(members: Members, emptyValues: EmptyValues): Canonical | Failure {
  const signed: [string, string][] = [];
  for (const [name, { kind, text }] of members) {
    if (kind === 'object' || kind === 'array') {
      return failure('MEMBER_INVALID', `${JSON.stringify(name)} is an ${kind}, which cannot be signed`, {
        member: name,
      });
    }
    const left = name === 'sign' || kind === 'null' || (text === '' && emptyValues === 'skip');
    if (!left) signed.push([name, text]);
  }
  signed.sort(([a], [b]) => byCodePoint(a, b));
  return { ok: true, text: signed.map(([name, value]) => name + value).join(''), signed };
}

/** Order by code points. JavaScript's own is by UTF-16 units, where U+FF5E follows U+1F600. */
export function byCodePoint(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  let at = 0;
  while (at < shorter && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  if (at === shorter) return a.length - b.length;
  return rank(a.charCodeAt(at)) - rank(b.charCodeAt(at));
}

// Surrogates (D800-DFFF) stand for code points above all that one unit can say.
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit;
}
