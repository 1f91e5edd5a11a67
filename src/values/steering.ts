/** Controls, those of text direction among them, separators of lines, and halves of characters. */
const STEERING = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const NOT_PLAIN = /[^ -~]/;

/** The text with what could steer a terminal written as `escaped` gives it, code point by code point. */
export function escapeSteering(text: string, escaped: (codePoint: number) => string): string {
  if (!NOT_PLAIN.test(text)) return text;
  return text.replace(STEERING, (letter) => escaped(letter.codePointAt(0) ?? 0));
}

/**
 * JSON on one line in which nothing can steer a terminal: the same value, with `\u009b` for such a character.
 */
export function steadyJson(value: unknown): string {
  return escapeSteering(JSON.stringify(value), (codePoint) =>
    String.fromCodePoint(codePoint)
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}
