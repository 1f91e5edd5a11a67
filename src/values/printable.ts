/** Control characters (also those of text direction), line separators and unpaired surrogates. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const BLANKS_AND_CONTROLS = /[\s\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;
const NOT_PLAIN = /[^ -~]/;
const SENTENCE_CHARACTERS = 500;

const CHARACTER_NAMES: ReadonlyMap<number, string> = new Map([
  [0x09, 'a tab'],
  [0x0a, 'a line feed'],
  [0x0d, 'a carriage return'],
  [0x20, 'a blank'],
  [0xa0, 'a no-break space'],
  [0xad, 'a soft hyphen'],
  [0x2007, 'a figure space'],
  [0x2009, 'a thin space'],
  [0x200b, 'a zero width space'],
  [0x200c, 'a zero width non-joiner'],
  [0x200d, 'a zero width joiner'],
  [0x200e, 'a left-to-right mark'],
  [0x200f, 'a right-to-left mark'],
  [0x202e, 'a right-to-left override'],
  [0x202f, 'a narrow no-break space'],
  [0x2060, 'a word joiner'],
  [0x3000, 'an ideographic space'],
  [0xfeff, 'a byte order mark'],
]);

/** `a no-break space (U+00A0)`, or the number alone: `U+2063`. */
export function characterName(codePoint: number): string {
  const number = `U+${codePoint.toString(16).toUpperCase().padStart(4, '0')}`;
  const name = CHARACTER_NAMES.get(codePoint);
  return name === undefined ? number : `${name} (${number})`;
}

/** White space other than a blank, and characters that nobody sees. */
const UNSEEN = /[^\S ]|[\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text in quotation marks, with the names of the characters that nobody sees. */
export function quoted(text: string): string {
  const json = JSON.stringify(text);
  return NOT_PLAIN.test(json)
    ? json.replace(UNSEEN, (letter) => `⟨${characterName(letter.codePointAt(0) ?? 0)}⟩`)
    : json;
}

/** Replaces each character that could control a terminal by what `escape` returns for its code point. */
export function escapeControls(text: string, escape: (codePoint: number) => string): string {
  if (!NOT_PLAIN.test(text)) return text;
  return text.replace(CONTROLS, (letter) => escape(letter.codePointAt(0) ?? 0));
}

/** JSON on one line, with an escape such as `\u009b` for each character that could control a terminal. */
export function printableJson(value: unknown): string {
  return escapeControls(JSON.stringify(value), (codePoint) =>
    String.fromCodePoint(codePoint)
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

/**
 * Untrusted text as one line for logs, journal and terminals: without control characters, bounded in length.
 */
export function printableSentence(text: string, characters = SENTENCE_CHARACTERS): string {
  const printable = text
    .slice(0, 4 * characters)
    .replaceAll(BLANKS_AND_CONTROLS, ' ')
    .trim();
  return printable.length > characters ? `${printable.slice(0, characters - 1).toWellFormed()}…` : printable;
}
