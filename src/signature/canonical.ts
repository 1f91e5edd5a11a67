import { type Failure, failure } from '../errors.ts';
import type { Members } from '../values/members.ts';

export type EmptyValues = 'keep' | 'skip';

/** The text that the flat schemes sign, without the secret. */
export interface Canonical {
  readonly ok: true;
  readonly text: string;
  /** The names and values of `text`, in its order. */
  readonly signed: readonly (readonly [name: string, value: string])[];
}

/**
 * Joins the names and values of all members, sorted by code points of the names, without separators. It
 * leaves out `sign` and JSON nulls. Numbers and booleans are as in the body. An empty string adds its name,
 * or with `skip` nothing. An object or array fails as MEMBER_INVALID, since no text is defined for it.
 */
export function canonicalString(members: Members, emptyValues: EmptyValues): Canonical | Failure {
  const signed: [string, string][] = [];
  for (const [name, { kind, text }] of members) {
    if (kind === 'object' || kind === 'array') {
      return failure('MEMBER_INVALID', `${JSON.stringify(name)} is an ${kind}, which can't be signed`, {
        member: name,
      });
    }
    const isLeftOut = name === 'sign' || kind === 'null' || (text === '' && emptyValues === 'skip');
    if (!isLeftOut) signed.push([name, text]);
  }
  signed.sort(([a], [b]) => byCodePoint(a, b));
  return { ok: true, text: signed.map(([name, value]) => name + value).join(''), signed };
}

/** Compares by code points. JavaScript compares UTF-16 units, by which U+FF5E follows U+1F600. */
export function byCodePoint(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
  return (a.codePointAt(at) ?? -1) - (b.codePointAt(at) ?? -1);
}
