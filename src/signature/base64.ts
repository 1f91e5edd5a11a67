/**
 * Bytes from base64 or base64url, padded or not; undefined for anything else. Each value has one spelling in each
 * alphabet: mixed alphabets, blanks, a wrong padding and stray bits at the end are refused.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bare = text.replace(/={1,2}$/, '');
  if (bare !== text && text.length % 4 !== 0) return undefined;
  const bytes = Buffer.from(bare, 'base64');
  const spelt = bytes.toString(/[-_]/.test(bare) ? 'base64url' : 'base64').replace(/=+$/, '');
  return spelt === bare ? bytes : undefined;
}
