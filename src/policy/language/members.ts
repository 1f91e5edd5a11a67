import type { Callback, Kind, MemberProblem, Movements, Payout } from '../../callback/callback.ts';
import { callbackKinds } from '../../callback/kinds.ts';
import { VISIBLE, NUMERIC_ID } from '../../callback/member-readers.ts';
import { formatAmount, parseAmount } from '../../values/amount.ts';
import { toComparable, unsafeTextReason } from '../../values/comparable.ts';
import { canonicalUserId } from '../../values/user-id.ts';

/** The source of the callback, which policies name like a member. */
export const SOURCE = 'source';

/** The members that are addresses. */
export const ADDRESS_MEMBERS: ReadonlySet<string> = new Set(['from', 'to', 'interactive_contract']);

/** All names that a policy for this kind may use, with aliases. */
export function memberNames(kind: Kind): readonly string[] {
  const { valueNames, aliases } = callbackKinds[kind];
  return [SOURCE, ...valueNames, ...Object.keys(aliases)];
}

/** The canonical name of a member or an alias (`payCoinSymbol`); undefined for an unknown name. */
export function memberNamed(kind: Kind, name: string): string | undefined {
  const { valueNames, aliases } = callbackKinds[kind];
  const canonical = Object.hasOwn(aliases, name) ? aliases[name] : name;
  return canonical === SOURCE || valueNames.includes(canonical ?? '') ? canonical : undefined;
}

const NONE: readonly string[] = [];

/** The only member that can have several values: the addresses of a withdrawal, or of the movements. */
export const MULTI_VALUED = 'to';

/** Why the chain of the asset does not accept a member; undefined if it does, or is not known. */
export function problemOf(callback: Callback, member: string): MemberProblem | undefined {
  return (
    callback.reading?.problemOf(member) ?? (member === MULTI_VALUED ? callback.movements?.problem : undefined)
  );
}

/**
 * Why the callback may not be compared by the member where another spelling of its value would get past the
 * comparison; undefined if it may.
 */
export function comparisonProblem(callback: Callback, member: string): MemberProblem | undefined {
  return (
    problemOf(callback, member) ?? (ADDRESS_MEMBERS.has(member) ? callback.reading?.unspelled : undefined)
  );
}

/** Ends a rule that uses a member which the chain of the asset does not accept. The rule refuses. */
export class UnreadableMember extends Error {
  readonly values: MemberProblem['values'];
  constructor({ because, values }: MemberProblem) {
    super(because);
    this.values = values;
  }
}

/**
 * The values of a member, by which it is compared; see {@link MULTI_VALUED}. A missing member has no values.
 * Throws {@link UnreadableMember}.
 */
export function valuesOf(callback: Callback, member: string): readonly string[] {
  checkMember(callback, member);
  if (member === SOURCE) return [callback.source];
  return member === MULTI_VALUED && callback.movements !== undefined
    ? recipientsOf(callback.movements)
    : (callback.values.get(member) ?? NONE);
}

/** Throws {@link UnreadableMember} if the chain of the asset does not accept the member. */
export function checkMember(callback: Callback, member: string): void {
  const problem = problemOf(callback, member);
  if (problem !== undefined) throw new UnreadableMember(problem);
}

/** Everybody who gets something, or may take it, once. */
const recipientsOf = ({ list }: Movements): readonly string[] => [...new Set(list.map(({ to }) => to))];

/** The amount for each address in `to`. Throws {@link UnreadableMember}. */
export function payoutsOf(callback: Callback): readonly Payout[] {
  checkMember(callback, 'to');
  return callback.payouts;
}

/** The amount as a text: as formatAmount writes it, or `unlimited`. */
export function amountTextOf({ amount, values }: Pick<Callback, 'amount' | 'values'>): string {
  return values.get('amount')?.[0] ?? (amount === 'unlimited' ? amount : formatAmount(amount));
}

/** The `type` of a movement in an expression. It is no member, and has a grammar like one. */
export const MOVEMENT_TYPE = 'movement type';

/**
 * Members with a grammar of their own. A text that no callback judged by policies can have is a fault,
 * because it would have no effect in a deny-list.
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
  [MOVEMENT_TYPE]: {
    expected: 'native, transfer or approval',
    read: oneOf(['native', 'transfer', 'approval']),
  },
  type: { expected: 'sign_prepare or sign_start', read: oneOf(['sign_prepare', 'sign_start']) },
  pending_round: { expected: 'true or false', read: oneOf(['true', 'false']) },
  userId: { expected: 'digits', read: (text) => (/^\d+$/.test(text) ? canonicalUserId(text) : undefined) },
  transfer_id: { expected: 'a whole number', read: like(NUMERIC_ID.pattern) },
  trans_id: { expected: 'a whole number', read: like(NUMERIC_ID.pattern) },
  memo: {
    expected: 'a text without white space at its ends and without invisible characters',
    read: readMemo,
  },
};

/** For addresses, ids, symbols and call data. */
const VISIBLE_TEXT = {
  expected: 'one text of visible ASCII characters without blanks, or a list of such texts',
  read: like(VISIBLE),
};

type ReadText = (text: string) => string | undefined;

/** Reads a text that a policy has for a member. The result has the form of {@link valuesOf}. */
export function readMemberText(
  member: string,
  text: string,
): { readonly ok: true; readonly text: string } | { readonly ok: false; readonly expected: string } {
  const { expected, read } = (Object.hasOwn(GRAMMARS, member) ? GRAMMARS[member] : undefined) ?? VISIBLE_TEXT;
  const found = read(text);
  return found === undefined ? { ok: false, expected } : { ok: true, text: found };
}

/** A memo in any Unicode normal form is the same memo. */
function readMemo(text: string): string | undefined {
  const memo = text.normalize('NFC');
  return memo !== '' && unsafeTextReason(memo) === undefined ? toComparable(memo) : undefined;
}

function oneOf(texts: readonly string[]): ReadText {
  return (text) => (texts.includes(text) ? text : undefined);
}

function like(pattern: RegExp): ReadText {
  return (text) => (pattern.test(text) ? toComparable(text) : undefined);
}
