import { type KeyObject, checkPrimeSync, createHash, createPrivateKey, createPublicKey } from 'node:crypto';

const EXPONENT = 65_537n;

/**
 * An RSA key of 2048 bits that a name always gives again: for tests alone, since whoever knows the name has
 * the key.
 */
export function rsaKey(name: string): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  const p = prime(`${name} p`);
  const q = prime(`${name} q`);
  const d = inverse(EXPONENT, (p - 1n) * (q - 1n));
  const key = {
    kty: 'RSA',
    n: base64url(p * q),
    e: base64url(EXPONENT),
    d: base64url(d),
    p: base64url(p),
    q: base64url(q),
    dp: base64url(d % (p - 1n)),
    dq: base64url(d % (q - 1n)),
    qi: base64url(inverse(q, p)),
  };
  const privateKey = createPrivateKey({ key, format: 'jwk' });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** A public key as the platform writes it: the base64url of its DER, on one line. */
export function publicTextOf(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'der' }).toString('base64url');
}

/** The first prime of 1024 bits after a number that the name gives, its two highest bits set. */
function prime(name: string): bigint {
  const bytes = Buffer.concat([0, 1].map((half) => createHash('sha512').update(`${half} ${name}`).digest()));
  let candidate = BigInt(`0x${bytes.toString('hex')}`) | (3n << 1022n) | 1n;
  while (candidate % EXPONENT === 1n || !checkPrimeSync(candidate)) candidate += 2n;
  return candidate;
}

function inverse(of: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [of % modulus, modulus, 1n, 0n];
  while (b > 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return ((x % modulus) + modulus) % modulus;
}

function base64url(number: bigint): string {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex').toString('base64url');
}
