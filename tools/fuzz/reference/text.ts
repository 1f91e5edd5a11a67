/** Whether every unit of a text holds; true of the empty text. */
export function every(text: string, holds: (unit: number) => boolean): boolean {
  for (let at = 0; at < text.length; at++) if (!holds(text.charCodeAt(at))) return false;
  return true;
}

/** Whether a text is made of these letters alone. */
export function madeOf(text: string, letters: string): boolean {
  return every(text, (unit) => letters.includes(String.fromCharCode(unit)));
}

export const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39;

/** At least one digit, and nothing else. */
export function isDigits(text: string): boolean {
  return text !== '' && every(text, isDigit);
}
