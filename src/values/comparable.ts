import { characterName } from './printable.ts';

const HEX = /^0x[0-9a-f]+$/i;
const ASCII = /^[ -~]*$/;
/** Bech32 in capitals, as in QR codes: a prefix, `1`, and at least 38 characters of BIP-173's alphabet. */
const CAPITAL_BECH32 = /^[A-Z][A-Z0-9]{0,31}1[02-9AC-HJ-NP-Z]{38,}$/;

/**
 * The text by which two addresses, hashes or call data are compared. Hexadecimal (`0x…`) and bech32 (`bc1…`)
 * become lower case, because senders write them in either case. Any other text keeps its case, and is in
 * Unicode normal form C.
 */
export function toComparable(text: string): string {
  const composed = ASCII.test(text) ? text : text.normalize('NFC');
  return HEX.test(composed) || CAPITAL_BECH32.test(composed) ? composed.toLowerCase() : composed;
}

/**
 * The text by which an entry of a list is compared: each word comparable, the blanks between them unchanged.
 * All entries of lists, in the store and in files, and all texts that are looked up in a list take this form.
 */
export function toComparableEntry(text: string): string {
  return text.includes(' ') ? text.split(' ').map(toComparable).join(' ') : toComparable(text);
}

const PRINTABLE_ASCII = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
/** Controls, format characters (zero width, bidirectional, tags), line separators, ignorable characters. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const EDGE = /^\s|\s$/u;
const OTHER_SPACE = /[^\S ]/u;

/**
 * Why a free text is not safe to compare: white space, invisible characters or its Unicode form can make
 * another text look the same. Lists and limits compare texts exactly, which proves nothing about such a text.
 * The result completes a sentence; undefined if there is no such reason. Letters that look alike, such as the
 * Latin and the Cyrillic a, are not detected.
 */
export function unsafeTextReason(text: string): string | undefined {
  if (PRINTABLE_ASCII.test(text)) return undefined;
  for (const [pattern, state] of [
    [EDGE, 'begins or ends with white space'],
    [INVISIBLE, 'has an invisible character'],
    [OTHER_SPACE, 'has white space other than a blank'],
  ] as const) {
    const point = pattern.exec(text)?.[0].codePointAt(0);
    if (point !== undefined) return `${state}: ${characterName(point)}`;
  }
  return text.normalize('NFC') === text ? undefined : 'is not in Unicode normal form C';
}
