/**
 * The text by which a user is compared and counted. A user id is an integer (section 2), so zeros at its
 * beginning don't make another user. Any other text is returned unchanged.
 */
export function canonicalUserId(text: string): string {
  return /^0\d+$/.test(text) ? text.replace(/^0+(?=\d)/, '') : text;
}
