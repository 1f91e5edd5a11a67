import { decimal } from './decimal.ts';
import type { Value } from './json.ts';
import { every, isDigit, madeOf } from './text.ts';

/*
 * What one member of a co-signer's callback may hold.
 */

const NUMBER_MAX = 40;
const MEMO_MAX = 512;

/**
 * A number, or the text of one, and never -0. Of what is below zero only -1 means anything, and that has no
 * exponent.
 */
export function amountOf(value: Value | undefined): string | undefined {
  if (value?.type !== 'text' && value?.type !== 'number') return undefined;
  const exact = decimal(value.text, { exponent: !value.text.startsWith('-') });
  return exact === '-0' ? undefined : exact;
}

/** An id that is a whole number, or the empty text for none. */
export function whole(value: Value | undefined): string | undefined {
  const text = visible(value, NUMBER_MAX);
  return text === '' || (text !== undefined && isWhole(text)) ? text : undefined;
}

/** A text of visible ASCII, or a whole number; the empty text for none. */
export function visible(value: Value | undefined, most: number): string | undefined {
  const text = plain(value);
  return text !== undefined && text.length <= most && every(text, (code) => code > 0x20 && code < 0x7f)
    ? text
    : undefined;
}

/** Control and format characters, and others that take no room. */
const UNSEEN = /\p{Cc}|\p{Cf}|\p{Zl}|\p{Zp}|\p{Default_Ignorable_Code_Point}/u;

/**
 * A text that shows all it has, without outer blanks and composed; or a whole number; the empty text for
 * none.
 */
export function memoOf(value: Value | undefined): string | undefined {
  const text = plain(value);
  return text !== undefined &&
    text.length <= MEMO_MAX &&
    !UNSEEN.test(text) &&
    text === text.trim() &&
    text === text.normalize('NFC')
    ? text
    : undefined;
}

function plain(value: Value | undefined): string | undefined {
  if (value === undefined || value.type === 'null') return '';
  if (value.type === 'text') return value.text;
  return value.type === 'number' && isWhole(value.text) ? value.text : undefined;
}

const HEXADECIMAL = '0123456789abcdef';
const CAPITALS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const BECH32 = 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L';
const BECH32_MIN = 38;
const PREFIX_MAX = 33;

const EVM_DIGITS = 40;
const DIGITS_MAX = 64;

/** Hexadecimal that is no address of EVM may lack zeros at its beginning. */
export function address(text: string): string {
  const same = sameCase(text);
  const digits = same.slice(2);
  const isPadded =
    text.startsWith('0x') &&
    digits !== '' &&
    madeOf(digits, HEXADECIMAL) &&
    digits.length !== EVM_DIGITS &&
    digits.length <= DIGITS_MAX;
  return isPadded ? `0x${digits.padStart(DIGITS_MAX, '0')}` : same;
}

/** Hexadecimal, and bech32 in capitals, mean the same in either case. */
export function sameCase(text: string): string {
  const lower = text.toLowerCase();
  if (lower.startsWith('0x') && lower.length > 2) {
    return madeOf(lower.slice(2), HEXADECIMAL) ? lower : text;
  }
  // The last 1 stands between prefix and data, which has none itself.
  const parting = text.lastIndexOf('1');
  const data = text.slice(parting + 1);
  const prefix = text.slice(0, Math.max(parting, 0));
  const isBech32 =
    prefix.length > 0 &&
    prefix.length < PREFIX_MAX &&
    madeOf(prefix.charAt(0), CAPITALS) &&
    madeOf(prefix, `${CAPITALS}0123456789`) &&
    data.length >= BECH32_MIN &&
    madeOf(data, BECH32);
  return isBech32 ? lower : text;
}

function isWhole(text: string): boolean {
  return text === '0' || (text !== '' && text[0] !== '0' && every(text, isDigit));
}
