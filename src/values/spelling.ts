const PRINTABLE_ASCII = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
/**
 * Controls, format characters (zero width, bidirectional, tags), line separators, and what fonts leave out.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

/**
 * Why a free text has a second spelling that people, and often programs, take for the same, as the end of a
 * sentence; undefined if it has none. Comparing texts exactly, as lists and limits do, proves something only
 * of texts without one.
 */
export function secondSpelling(text: string): string | undefined {
  if (PRINTABLE_ASCII.test(text)) return undefined;
  if (text.trim() !== text) return 'begins or ends with white space';
  const [unseen] = UNSEEN.exec(text) ?? [];
  if (unseen !== undefined) {
    const point = unseen.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
    return `has a character that nobody sees (U+${point})`;
  }
  return text.normalize('NFC') === text ? undefined : 'is not in Unicode normal form C';
}
