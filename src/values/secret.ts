/** Where a secret or a key is found. Never the secret itself: that stands in no settings file. */
export type SecretRef = { readonly file: string } | { readonly env: string };

/** The content behind a reference, as text without surrounding blanks. Throws SECRET_UNREADABLE. */
export type ReadSecret = (reference: SecretRef) => string;

/** For messages: `file keys/shop.pem` or `environment variable SHOP_SECRET`. */
export function nameOfSecret(reference: SecretRef): string {
  return 'file' in reference ? `file ${reference.file}` : `environment variable ${reference.env}`;
}
