import { decimal } from './decimal.ts';
import type { Value } from './json.ts';
import type { Members } from './signs.ts';
import { every, isDigit, isDigits } from './text.ts';

/*
 * What a payment confirmation may hold (section 6.1 and protocol.md), and whether a signed text has one
 * reading.
 */

/** In the order of their code points, in which they are signed. */
const NAMES = ['appKey', 'appOrderId', 'orderAmount', 'payCoinSymbol', 'time', 'userId'] as const;
type Name = (typeof NAMES)[number];
const OPTIONAL: ReadonlySet<Name> = new Set<Name>(['time']);
const ID_MAX = 128;
const SYMBOL_MAX = 64;
const USER_MAX = 32;

export type Terms = Readonly<Record<string, string>>;

/**
 * What is to be paid, for whom and for which order; undefined where it is not whole or holds anything else.
 */
export function paymentTerms(
  members: Members,
): { readonly terms: Terms; readonly amount: string } | undefined {
  const texts = new Map<string, string>();
  for (const [name, value] of members) {
    const known = NAMES.find((each) => each === name);
    const text = known && textOf(known, value);
    if (text === undefined) return undefined;
    // What is empty is as good as nothing, where the scheme lets it come this far.
    if (text !== '') texts.set(name, text);
  }
  if (!NAMES.every((name) => fits(name, texts.get(name)))) return undefined;
  const amount = decimal(texts.get('orderAmount') ?? '', { exponent: false });
  if (amount === undefined || amount === '0' || amount.startsWith('-')) return undefined;
  const of = (name: Name): string => texts.get(name) ?? '';
  return {
    terms: { id: of('appOrderId'), userId: userOf(of('userId')), symbol: of('payCoinSymbol'), amount },
    amount,
  };
}

/**
 * A text, or a number digit by digit; an id must be whole then, since 1e3 would be another spelling of 1000.
 */
function textOf(name: Name, value: Value): string | undefined {
  if (value.type === 'null') return '';
  if (value.type === 'number' && name !== 'orderAmount') return isDigits(value.text) ? value.text : undefined;
  return value.type === 'text' || value.type === 'number' ? value.text : undefined;
}

/**
 * In how many ways a signed text can be cut at the names in their order, each value as the callback defines
 * it; counting stops at two.
 */
export function readingsOf(text: string, appKey: string): number {
  const known = new Map<string, number>();
  const count = (from: number, index: number): number => {
    const name = NAMES[index];
    if (name === undefined) return from === text.length ? 1 : 0;
    const key = `${from} ${index}`;
    const before = known.get(key);
    if (before !== undefined) return before;
    let found = OPTIONAL.has(name) ? count(from, index + 1) : 0;
    if (text.startsWith(name, from)) {
      const start = from + name.length;
      const last = Math.min(text.length, start + (name === 'appKey' ? appKey.length : ID_MAX));
      for (let end = start + 1; end <= last && found < 2; end++) {
        const value = text.slice(start, end);
        if (name === 'appKey' ? value === appKey : fits(name, value)) found += count(end, index + 1);
      }
    }
    known.set(key, Math.min(found, 2));
    return Math.min(found, 2);
  };
  return count(0, 0);
}

/** Whether a value that is signed is one that the callback defines: what a signed text may be read as. */
export function isDefined(name: string, text: string): boolean {
  const known = NAMES.find((each) => each === name);
  return known !== undefined && fits(known, text);
}

/** Whether it could be the value of that name; undefined is a value that is not there. */
function fits(name: Name, value: string | undefined): boolean {
  if (value === undefined) return OPTIONAL.has(name);
  return value !== '' && GRAMMAR[name](value);
}

const GRAMMAR: Readonly<Record<Name, (value: string) => boolean>> = {
  appKey: () => true,
  appOrderId: (value) => value.length <= ID_MAX && every(value, (code) => code > 0x20 && code < 0x7f),
  orderAmount: (value) => decimal(value, { exponent: false })?.startsWith('-') === false,
  payCoinSymbol: (value) =>
    value.length <= SYMBOL_MAX &&
    !'_.-'.includes(value.charAt(0)) &&
    !endsInTime(value) &&
    every(value, isSymbol),
  time: (value) => (value.length === 10 || value.length === 13) && isDigits(value),
  userId: (value) => value.length <= USER_MAX && isDigits(value),
};

/** A symbol that ends so would swallow a time. */
function endsInTime(symbol: string): boolean {
  return [10, 13].some(
    (digits) => symbol.slice(-digits - 4, -digits) === 'time' && isDigits(symbol.slice(-digits)),
  );
}

const isSymbol = (code: number): boolean =>
  isDigit(code) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x61 && code <= 0x7a) ||
  code === 0x5f ||
  code === 0x2d ||
  code === 0x2e;

/** A user is a number, however many zeros are written before it. */
function userOf(digits: string): string {
  let from = 0;
  while (from < digits.length - 1 && digits[from] === '0') from += 1;
  return digits.slice(from);
}
