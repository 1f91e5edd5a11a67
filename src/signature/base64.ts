/**
 * Bytes from base64 or base64url, padded or not; undefined for anything else. Each value has one spelling in
 * each alphabet: mixed alphabets, blanks, a wrong padding and stray bits at the end are refused.
 */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64');
  const padded = bytes.toString('base64');
  if (text === padded) return bytes;
  const url = bytes.toString('base64url');
  const others = [url, url + padded.slice(url.length), padded.slice(0, url.length)];
  return others.includes(text) ? bytes : undefined;
}
