import { type Failure, type FailureCode, failure } from '../errors.ts';
import { type Amount, parseSignedAmount } from '../values/amount.ts';
import { toComparable, unsafeTextReason } from '../values/comparable.ts';
import { type Grammar, type Member, type Members, stringMember } from '../values/members.ts';
import { Rejected, catchRejection } from '../values/rejection.ts';

/** Visible ASCII without blanks: ids, symbols, addresses, hashes. */
export const VISIBLE = /^[\x21-\x7e]+$/;
/** An integer of any size. */
const INTEGER = /^(?:0|[1-9]\d*)$/;

export const COSIGNER_TYPES = ['sign_prepare', 'sign_start', 'sign_success'] as const;
export const IDENTIFIER: Grammar = { pattern: VISIBLE, maxLength: 128 };
export const NUMERIC_ID: Grammar = { pattern: INTEGER, maxLength: 40 };
export const ADDRESS: Grammar = { pattern: VISIBLE, maxLength: 256 };
export const SYMBOL: Grammar = { pattern: VISIBLE, maxLength: 64 };
/** Free text. {@link requireSafeText} restricts it further. */
export const MEMO: Grammar = { pattern: /^[^]+$/u, maxLength: 512 };

/** Runs a parser. Returns its value, or the failure of the first member that is missing or rejected. */
export function parseWith<T>(parse: () => T): { readonly ok: true; readonly callback: T } | Failure {
  return catchRejection(() => ({ ok: true, callback: parse() }));
}

export function reject(code: FailureCode, because: string, data: Failure['data'] = {}): never {
  throw new Rejected(failure(code, because, data));
}

/**
 * The text of a member: a string, or a number that is a plain integer. An id such as `1e5` would be a second
 * spelling of another id. Undefined if the member is missing, null or empty.
 */
export function optionalText(members: Members, name: string, grammar: Grammar): string | undefined {
  const member = members.get(name);
  if (member === undefined || member.kind === 'null' || member.text === '') return undefined;
  if (member.kind !== 'string' && !(member.kind === 'number' && INTEGER.test(member.text)))
    return invalid(name, member, 'a string');
  if (member.text.length <= grammar.maxLength && grammar.pattern.test(member.text)) return member.text;
  // The reason names the character that nobody sees.
  requireSafeText(name, member.text);
  return member.text.length > grammar.maxLength
    ? reject(
        'MEMBER_INVALID',
        `${name} has ${member.text.length} characters; at most ${grammar.maxLength} are allowed`,
        { member: name },
      )
    : invalid(name, member, `a text that matches ${grammar.pattern.source}`);
}

/** As {@link optionalText}, but the member must not be missing or empty. */
export function requiredText(members: Members, name: string, grammar: Grammar): string {
  return (
    optionalText(members, name, grammar) ??
    reject('MEMBER_MISSING', `${name} is missing or empty`, { member: name })
  );
}

/** A member with a text. `optional`: it may be missing or empty. `present`: it may be empty. */
export interface TextMember extends Grammar {
  readonly need: 'required' | 'optional' | 'present';
}

/** The text of a member, as its table of members defines it. Null and missing count as empty. */
export function readText<N extends string>(
  members: Members,
  table: { readonly [Name in N]: TextMember },
  name: N,
): string {
  const member = table[name];
  if (member.need === 'required') return requiredText(members, name, member);
  if (member.need === 'present' && !members.has(name))
    reject('MEMBER_MISSING', `${name} is missing`, { member: name });
  return optionalText(members, name, member) ?? '';
}

/**
 * Rejects free text that looks like another text: lists and limits would treat the two as different
 * recipients.
 */
export function requireSafeText(name: string, text: string): void {
  const why = unsafeTextReason(text);
  if (why === undefined) return;
  const because = `${name} ${why}, so another text looks the same; send it without that`;
  reject('MEMBER_INVALID', because, { member: name });
}

/** The names that the kind of callback does not define. */
export function unknownNames(members: Members, defined: readonly string[]): readonly string[] {
  return [...members.keys()].filter((name) => !defined.includes(name));
}

/**
 * An exact amount from a string or a number. It must be above zero, unless `zero` allows zero. `pattern`
 * restricts its spelling.
 */
export function requiredAmount(
  members: Members,
  name: string,
  { zero = false, pattern }: { readonly zero?: boolean; readonly pattern?: RegExp } = {},
): Amount {
  const member = members.get(name);
  if (member === undefined) return reject('MEMBER_MISSING', `${name} is missing`, { member: name });
  const readable =
    (member.kind === 'string' || member.kind === 'number') && pattern?.test(member.text) !== false;
  const amount = readable ? parseSignedAmount(member.text) : undefined;
  if (amount === undefined)
    return invalid(name, member, 'a decimal with at most 36 digits before and after the point');
  if (member.text.startsWith('-') || (amount === 0n && !zero))
    return invalid(name, member, 'an amount above zero');
  return amount;
}

export function oneOf<const T extends string>(members: Members, name: string, allowed: readonly T[]): T {
  const text = requiredText(members, name, { pattern: VISIBLE, maxLength: 64 });
  const found = allowed.find((each) => each === text);
  return found ?? invalid(name, stringMember(text), `one of ${allowed.join(', ')}`);
}

/** True if the member is true; false if it is false or missing. Any other value is rejected. */
export function optionalFlag(members: Members, name: string): boolean {
  const member = members.get(name);
  if (member === undefined) return false;
  return member.kind === 'boolean' ? member.text === 'true' : invalid(name, member, 'true or false');
}

/** The values that policies read: comparable texts by name. A missing member has no text. */
export function valuesOf(
  table: Readonly<Record<string, string | readonly string[]>>,
): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(table)) values.set(name, comparables(value));
  return values;
}

function comparables(value: string | readonly string[]): readonly string[] {
  if (value === '') return [];
  return typeof value === 'string' ? [toComparable(value)] : value.map(toComparable);
}

const SHOWN_MAX = 40;

/** What came, so that a sender finds it in its own log. */
function invalid(name: string, { kind, text }: Member, expected: string): never {
  const short = text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX).toWellFormed()}…` : text;
  const shown = kind === 'string' ? JSON.stringify(short) : `the ${kind} ${short}`;
  return reject('MEMBER_INVALID', `${name} is ${shown}, not ${expected}`, { member: name });
}
