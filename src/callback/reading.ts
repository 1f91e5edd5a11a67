import { type Failure, type FailureCode, failure } from '../errors.ts';
import { type Amount, parseAmount } from '../values/amount.ts';
import { comparable, ambiguityOf } from '../values/comparable.ts';
import type { Member, Members } from '../values/members.ts';

/** What a text member may hold. */
export interface Grammar {
  readonly pattern: RegExp;
  readonly maxLength: number;
}

/** Visible ASCII without blanks: ids, symbols, addresses, hashes. */
export const VISIBLE = /^[\x21-\x7e]+$/;
/** An integer of any size, as text. */
const INTEGER = /^(?:0|[1-9]\d*)$/;

export const COSIGNER_TYPES = ['sign_prepare', 'sign_start', 'sign_success'] as const;
export const IDENTIFIER: Grammar = { pattern: VISIBLE, maxLength: 128 };
export const WIRE_ID: Grammar = { pattern: INTEGER, maxLength: 40 };
export const ADDRESS: Grammar = { pattern: VISIBLE, maxLength: 256 };
export const SYMBOL: Grammar = { pattern: VISIBLE, maxLength: 64 };
/** A memo is free text; what it may not hold besides, {@link requireOneSpelling} says. */
export const MEMO: Grammar = { pattern: /^[^]+$/u, maxLength: 512 };

/** Thrown by the readers below and turned into a {@link Failure} by {@link reading}. */
class Unreadable extends Error {
  readonly failure: Failure;
  constructor(found: Failure) {
    super(found.because);
    this.failure = found;
  }
}

/**
 * Runs a parser: its value, or the failure of the first member that is missing or not as its grammar says.
 */
export function reading<T>(parse: () => T): { readonly ok: true; readonly callback: T } | Failure {
  try {
    return { ok: true, callback: parse() };
  } catch (thrown) {
    if (thrown instanceof Unreadable) return thrown.failure;
    throw thrown;
  }
}

export function unreadable(code: FailureCode, because: string, data: Failure['data'] = {}): never {
  throw new Unreadable(failure(code, because, data));
}

/**
 * A member's text, from a string, or from a number that is a plain integer (an id such as `1e5` would be a
 * second spelling of another). Undefined where it is missing, null or empty.
 */
export function optionalText(members: Members, name: string, grammar: Grammar): string | undefined {
  const member = members.get(name);
  if (member === undefined || member.kind === 'null' || member.text === '') return undefined;
  const readable = member.kind === 'string' || (member.kind === 'number' && INTEGER.test(member.text));
  if (!readable || member.text.length > grammar.maxLength || !grammar.pattern.test(member.text)) {
    return invalid(
      name,
      member,
      `a string of at most ${grammar.maxLength} characters like ${grammar.pattern.source}`,
    );
  }
  return member.text;
}

/** As {@link optionalText}, but it must be there. */
export function requiredText(members: Members, name: string, grammar: Grammar): string {
  return (
    optionalText(members, name, grammar) ??
    unreadable('MEMBER_MISSING', `${name} is missing or empty`, { member: name })
  );
}

/** As {@link optionalText}, but the member must be there, though it may be empty. */
export function presentText(members: Members, name: string, grammar: Grammar): string {
  if (!members.has(name)) unreadable('MEMBER_MISSING', `${name} is missing`, { member: name });
  return optionalText(members, name, grammar) ?? '';
}

/**
 * Refuses a free text that looks like another: lists and limits by recipient would take the two for different
 * ones.
 */
export function requireOneSpelling(name: string, text: string): void {
  const why = ambiguityOf(text);
  if (why === undefined) return;
  const because = `${name} ${why}, so one recipient would have two spellings; ask for it without`;
  unreadable('MEMBER_INVALID', because, { member: name });
}

/** The names that the callback's kind does not define. */
export function unknownNames(members: Members, defined: readonly string[]): readonly string[] {
  return [...members.keys()].filter((name) => !defined.includes(name));
}

/**
 * An amount from a string or a number, digit by digit. Above zero unless `zero` says that zero will do;
 * `pattern` narrows how it may be written.
 */
export function requiredAmount(
  members: Members,
  name: string,
  { zero = false, pattern }: { readonly zero?: boolean; readonly pattern?: RegExp } = {},
): Amount {
  const member = members.get(name);
  if (member === undefined) return unreadable('MEMBER_MISSING', `${name} is missing`, { member: name });
  const readable =
    (member.kind === 'string' || member.kind === 'number') && pattern?.test(member.text) !== false;
  const amount = readable ? parseAmount(member.text) : undefined;
  if (amount === undefined)
    return invalid(name, member, 'a decimal with at most 36 digits before and after the point');
  if (amount === 0n && !zero) return invalid(name, member, 'an amount above zero');
  return amount;
}

export function oneOf<const T extends string>(members: Members, name: string, allowed: readonly T[]): T {
  const text = requiredText(members, name, { pattern: VISIBLE, maxLength: 64 });
  const found = allowed.find((each) => each === text);
  return (
    found ?? unreadable('MEMBER_INVALID', `${name} is not one of ${allowed.join(', ')}`, { member: name })
  );
}

/** True, or false where it is false or missing. Nothing else is a boolean. */
export function optionalFlag(members: Members, name: string): boolean {
  const member = members.get(name);
  if (member === undefined) return false;
  return member.kind === 'boolean' ? member.text === 'true' : invalid(name, member, 'true or false');
}

/** The table of values that policies read: comparable texts by name, an absent member as no text. */
export function valuesOf(
  table: Readonly<Record<string, string | readonly string[] | undefined>>,
): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, readonly string[]>();
  for (const [name, value] of Object.entries(table)) values.set(name, comparables(value));
  return values;
}

function comparables(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined || value === '') return [];
  return typeof value === 'string' ? [comparable(value)] : value.map(comparable);
}

function invalid(name: string, member: Member, expected: string): never {
  return unreadable('MEMBER_INVALID', `${name} is a ${member.kind} that is not ${expected}`, {
    member: name,
  });
}
