/** Control characters (also those of text direction), line separators and unpaired surrogates. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const BLANKS_AND_CONTROLS = /[\s\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;
const NOT_PLAIN = /[^ -~]/;
const SENTENCE_CHARACTERS = 500;

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
export function printableSentence(text: string): string {
  const printable = text
    .slice(0, 4 * SENTENCE_CHARACTERS)
    .replaceAll(BLANKS_AND_CONTROLS, ' ')
    .trim();
  return printable.length > SENTENCE_CHARACTERS
    ? `${printable.slice(0, SENTENCE_CHARACTERS - 1).toWellFormed()}…`
    : printable;
}
