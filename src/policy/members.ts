import type { Callback, Kind } from '../callback/callback.ts';
import { callbackKinds } from '../callback/kinds.ts';
import { VISIBLE, WIRE_ID } from '../callback/member-readers.ts';
import { formatAmount, parseAmount } from '../values/amount.ts';
import { comparable, ambiguityOf } from '../values/comparable.ts';

/** Not a member, but named like one: whoever sent the callback. */
export const SOURCE = 'source';

/** All names by which a policy for this kind may ask, aliases included. */
export function memberNames(kind: Kind): readonly string[] {
  const { values, aliases } = callbackKinds[kind];
  return [SOURCE, ...values, ...Object.keys(aliases)];
}

/** The one name of a member, where an alias (`payCoinSymbol`) stands for it; undefined for a stranger's. */
export function memberNamed(kind: Kind, name: string): string | undefined {
  const { values, aliases } = callbackKinds[kind];
  const canonical = Object.hasOwn(aliases, name) ? aliases[name] : name;
  return canonical === SOURCE || values.includes(canonical ?? '') ? canonical : undefined;
}

const NONE: readonly string[] = [];

/**
 * What a callback holds under a canonical name, as comparable texts. Several for `to` alone; none if it is
 * missing.
 */
export function valuesOf(callback: Callback, member: string): readonly string[] {
  return member === SOURCE ? [callback.source] : (callback.values.get(member) ?? NONE);
}

/** The amount as a callback's `values` have it: the text that formatAmount writes, or `unlimited`. */
export function amountTextOf({ amount, values }: Pick<Callback, 'amount' | 'values'>): string {
  return values.get('amount')?.[0] ?? (amount === 'unlimited' ? amount : formatAmount(amount));
}

/**
 * Members whose texts a policy could spell in a way that no callback ever has; a deny-list would then be
 * void.
 */
const GRAMMARS: Readonly<Record<string, { readonly expected: string; readonly read: ReadText }>> = {
  amount: {
    expected: 'an amount like 10000 or 0.5, or unlimited',
    read: (text) => {
      if (text === 'unlimited') return text;
      const amount = parseAmount(text);
      return amount === undefined ? undefined : formatAmount(amount);
    },
  },
  type: { expected: 'sign_prepare or sign_start', read: oneOf(['sign_prepare', 'sign_start']) },
  pending_round: { expected: 'true or false', read: oneOf(['true', 'false']) },
  userId: { expected: 'digits', read: like(/^\d+$/) },
  transfer_id: { expected: 'a whole number', read: like(WIRE_ID.pattern) },
  trans_id: { expected: 'a whole number', read: like(WIRE_ID.pattern) },
  memo: {
    expected: 'a text without outer white space and without characters that nobody sees',
    read: readMemo,
  },
};

/** Addresses, ids, symbols and call data; several in one text would be none. */
const VISIBLE_TEXT = {
  expected: 'one text of visible ASCII characters without blanks, or a list of such texts',
  read: like(VISIBLE),
};

type ReadText = (text: string) => string | undefined;

/** A policy's text for a member, in the form that {@link valuesOf} has it. */
export function readMemberText(
  member: string,
  text: string,
): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly expected: string } {
  const { expected, read } = (Object.hasOwn(GRAMMARS, member) ? GRAMMARS[member] : undefined) ?? VISIBLE_TEXT;
  const found = read(text);
  return found === undefined ? { ok: false, expected } : { ok: true, text: found };
}

/** What differs from a memo's one spelling by its Unicode normal form alone is that memo. */
function readMemo(text: string): string | undefined {
  const memo = text.normalize('NFC');
  return memo !== '' && ambiguityOf(memo) === undefined ? comparable(memo) : undefined;
}

function oneOf(texts: readonly string[]): ReadText {
  return (text) => (texts.includes(text) ? text : undefined);
}

function like(pattern: RegExp): ReadText {
  return (text) => (pattern.test(text) ? comparable(text) : undefined);
}
