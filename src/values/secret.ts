import { hash, timingSafeEqual } from 'node:crypto';

/** Where to find a secret or a key. Settings never contain the secret itself. */
export type SecretRef = { readonly file: string } | { readonly env: string };

/** Reads the text behind a reference, without surrounding blanks. Throws SECRET_UNREADABLE. */
export type ReadSecret = (reference: SecretRef) => string;

/** For messages: `file keys/shop.pem` or `environment variable SHOP_SECRET`. */
export function nameOfSecret(reference: SecretRef): string {
  return 'file' in reference ? `file ${reference.file}` : `environment variable ${reference.env}`;
}

/**
 * Whether two texts are equal. It compares SHA-256 digests, so its time does not show where the texts differ
 * or whether their lengths do.
 */
export function equalInConstantTime(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
}
