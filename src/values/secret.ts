import { timingSafeEqual } from 'node:crypto';

/** Where to find a secret or a key. Settings never contain the secret itself. */
export type SecretRef = { readonly file: string } | { readonly env: string };

/** Reads the text behind a reference, without surrounding blanks. Throws SECRET_UNREADABLE. */
export type ReadSecret = (reference: SecretRef) => string;

/** For messages: `file keys/shop.pem` or `environment variable SHOP_SECRET`. */
export function nameOfSecret(reference: SecretRef): string {
  return 'file' in reference ? `file ${reference.file}` : `environment variable ${reference.env}`;
}

/**
 * Whether two texts are equal. Its time shows whether they have the same number of bytes, but not where they
 * differ.
 */
export function equalInConstantTime(a: string, b: string): boolean {
  const [first, second] = [Buffer.from(a), Buffer.from(b)];
  return first.length === second.length && timingSafeEqual(first, second);
}
