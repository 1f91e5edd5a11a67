/** The longest sentence that is kept of an answer. */
const MAX_CHARACTERS = 500;
const UNPRINTABLE = /[\s\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu;

/**
 * A stranger's text as one sentence for logs, journal and terminals: no control characters, at most 500
 * characters.
 */
export function sentence(text: string): string {
  const printable = text
    .slice(0, 4 * MAX_CHARACTERS)
    .replaceAll(UNPRINTABLE, ' ')
    .trim();
  return printable.length > MAX_CHARACTERS
    ? `${printable.slice(0, MAX_CHARACTERS - 1).toWellFormed()}…`
    : printable;
}
