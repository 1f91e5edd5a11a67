import { CountersignError } from '../errors.ts';
import { type ReadSecret, type SecretRef, nameOfSecret } from '../values/secret.ts';
import { type Digest, type PrivateKey, type PublicKey, readPrivateKey, readPublicKey } from './keys.ts';

/** The public key behind a reference. Throws KEY_UNREADABLE or SECRET_UNREADABLE, naming the reference. */
export function readPublicKeyOf(reference: SecretRef, readSecret: ReadSecret, digest?: Digest): PublicKey {
  const text = readSecret(reference);
  return named(reference, () => readPublicKey(text, digest));
}

/** The private key behind a reference. Throws KEY_UNREADABLE or SECRET_UNREADABLE, naming the reference. */
export function readPrivateKeyOf(reference: SecretRef, readSecret: ReadSecret): PrivateKey {
  const text = readSecret(reference);
  return named(reference, () => readPrivateKey(text));
}

/** The fingerprint of the key in a text; undefined for a secret, which must not have one. */
export function fingerprintOf(text: string): string | undefined {
  for (const read of [readPublicKey, readPrivateKey]) {
    try {
      return read(text).fingerprint;
    } catch (thrown) {
      if (!(thrown instanceof CountersignError)) throw thrown;
    }
  }
  return undefined;
}

function named<T>(reference: SecretRef, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) throw thrown;
    throw new CountersignError(thrown.code, `${nameOfSecret(reference)} ${thrown.message}`, thrown.data);
  }
}
