import {
  type KeyObject,
  X509Certificate,
  constants,
  createHash,
  createPrivateKey,
  createPublicKey,
  publicDecrypt,
  verify,
} from 'node:crypto';

import { type FormatDer, NodeRSA } from 'node-rsa';

import { CountersignError } from '../errors.ts';
import { type ReadSecret, type SecretRef, nameOfSecret } from '../values/secret.ts';
import { type DecryptionThreads, decryptBlocks } from './blocks.ts';

export type Digest = 'sha256' | 'sha1';

interface RsaKey {
  /** `SHA256:` and the base64, without padding, of the SHA-256 of the public key's SPKI DER. */
  readonly fingerprint: string;
  /** Size of the modulus, of a signature and of an encrypted block. */
  readonly bytes: number;
}

export interface PublicKey extends RsaKey {
  /** The SPKI DER in base64 without line breaks. */
  readonly base64: string;
  /** PKCS#1 v1.5. False for anything that is not a valid signature. */
  verify(data: string, signature: Uint8Array): boolean;
  /** The digest inside a signature by this key; undefined for a signature by another key. */
  digestIn(signature: Uint8Array): SignedDigest | undefined;
  /** PKCS#1 v1.5, one block of at most `bytes - 11`. */
  encrypt(block: Uint8Array): Uint8Array;
}

export interface PrivateKey extends RsaKey {
  sign(data: string): Uint8Array;
  /**
   * PKCS#1 v1.5, whole blocks joined. A block for another key gives undefined or random bytes; a block that
   * decrypts to no bytes gives undefined.
   */
  decrypt(blocks: Uint8Array): Uint8Array | undefined;
  /** Like `decrypt`, in a thread. Rejects like `DecryptionThreads.decrypt`. */
  decryptIn(threads: DecryptionThreads, blocks: Uint8Array): Promise<Uint8Array | undefined>;
}

export interface SignedDigest {
  readonly digest: Digest | 'md5' | 'another digest';
  /** Lower-case hexadecimal. */
  readonly hash: string;
}

/** The public key behind a reference. Throws KEY_UNREADABLE or SECRET_UNREADABLE, naming the reference. */
export function readPublicKeyFrom(reference: SecretRef, readSecret: ReadSecret, digest?: Digest): PublicKey {
  const text = readSecret(reference);
  return namingReference(reference, () => readPublicKey(text, digest));
}

/** The private key behind a reference. Throws KEY_UNREADABLE or SECRET_UNREADABLE, naming the reference. */
export function readPrivateKeyFrom(reference: SecretRef, readSecret: ReadSecret): PrivateKey {
  const text = readSecret(reference);
  return namingReference(reference, () => readPrivateKey(text));
}

function namingReference<T>(reference: SecretRef, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) throw thrown;
    throw new CountersignError(thrown.code, `${nameOfSecret(reference)} ${thrown.message}`, thrown.data);
  }
}

/** A public key from its text, which verifies with `digest`. Throws KEY_UNREADABLE. */
export function readPublicKey(text: string, digest: Digest = 'sha256'): PublicKey {
  const key = readKey(text, 'public');
  const der = key.export({ type: 'spki', format: 'der' });
  const rsa = nodeRsa(der, 'pkcs8-public-der', digest);
  const algorithm = `RSA-${digest.toUpperCase()}`;
  return {
    ...describe(key),
    base64: der.toString('base64'),
    // Node verifies faster than node-rsa, which passes the padding with each call.
    verify: (data, signature) => verify(algorithm, Buffer.from(data), key, signature),
    digestIn(signature) {
      try {
        return readDigestInfo(publicDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, signature));
      } catch {
        return undefined;
      }
    },
    encrypt: (block) => rsa.encrypt(block),
  };
}

/** A private key from its text, which signs with `digest`. Throws KEY_UNREADABLE. */
export function readPrivateKey(text: string, digest: Digest = 'sha256'): PrivateKey {
  const key = readKey(text, 'private');
  const rsa = nodeRsa(key.export({ type: 'pkcs1', format: 'der' }), 'pkcs1-private-der', digest);
  const described = describe(createPublicKey(key));
  return {
    ...described,
    sign: (data) => rsa.sign(data),
    decrypt: (blocks) => decryptBlocks(key, blocks, described.bytes),
    decryptIn: (threads, blocks) => threads.decrypt(key, blocks, described.bytes),
  };
}

/** The fingerprint of the key in a text; undefined if the text is a secret, which must not have one. */
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

/** Callers keep the result, because it caches the key object with which it signs. */
function nodeRsa(der: Buffer, format: FormatDer, digest: Digest): NodeRSA {
  try {
    return new NodeRSA(der, format, {
      signingScheme: `pkcs1-${digest}`,
      encryptionScheme: 'pkcs1',
      bigIntImpl: 'native',
    });
  } catch {
    return unreadable('is a damaged RSA key; make a new pair');
  }
}

function describe(publicKey: KeyObject): RsaKey {
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const hash = createHash('sha256').update(spki).digest('base64').replaceAll('=', '');
  return {
    fingerprint: `SHA256:${hash}`,
    bytes: (publicKey.asymmetricKeyDetails?.modulusLength ?? 0) / 8,
  };
}

// DigestInfo of RFC 8017, section 9.2, up to the hash.
const DIGEST_INFO = [
  { digest: 'sha256', prefix: '3031300d060960864801650304020105000420', hexLength: 64 },
  { digest: 'sha1', prefix: '3021300906052b0e03021a05000414', hexLength: 40 },
  { digest: 'md5', prefix: '3020300c06082a864886f70d020505000410', hexLength: 32 },
] as const;

function readDigestInfo(info: Uint8Array): SignedDigest {
  const hex = Buffer.from(info).toString('hex');
  const found = DIGEST_INFO.find(
    ({ prefix, hexLength }) => hex.startsWith(prefix) && hex.length === prefix.length + hexLength,
  );
  return found === undefined
    ? { digest: 'another digest', hash: hex }
    : { digest: found.digest, hash: hex.slice(found.prefix.length) };
}

/** Shorter keys are refused. */
export const KEY_BITS_MIN = 2048;
/** Longer keys are refused: a single operation would take too long. */
export const KEY_BITS_MAX = 8192;

/**
 * The RSA key in a text: PEM (PKCS#1, PKCS#8, SPKI or a certificate), or the bare base64 or base64url of its
 * DER. The text may have quotes, missing padding, and line breaks anywhere, also as `\n`. Throws
 * KEY_UNREADABLE, without quoting the text.
 */
export function readKey(text: string, wanted: 'public' | 'private'): KeyObject {
  const key = parseKey(text);
  if (key.type !== wanted) {
    unreadable(
      wanted === 'public'
        ? "is a private key, but a public key is needed; put the other side's public key here " +
            'and keep the private key secret'
        : 'is a public key or a certificate, but a private key is needed; ' +
            'put the private key of your own pair here',
    );
  }
  if (key.asymmetricKeyType !== 'rsa')
    unreadable(`is a key of type ${key.asymmetricKeyType}, not RSA; make an RSA key`);
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (bits < KEY_BITS_MIN || bits > KEY_BITS_MAX || bits % 8 !== 0) {
    unreadable(`has ${bits} bits; make a key of ${KEY_BITS_MIN} to ${KEY_BITS_MAX} bits, a multiple of 8`);
  }
  return key;
}

/** Whether a text is a key, to detect one where a shared secret belongs. */
export function isKey(text: string): boolean {
  try {
    parseKey(text);
    return true;
  } catch {
    return false;
  }
}

function unreadable(because: string): never {
  throw new CountersignError('KEY_UNREADABLE', because);
}

const FORMS: readonly ((der: Buffer) => KeyObject)[] = [
  (key) => createPrivateKey({ key, format: 'der', type: 'pkcs8' }),
  (key) => createPrivateKey({ key, format: 'der', type: 'pkcs1' }),
  (key) => createPublicKey({ key, format: 'der', type: 'spki' }),
  (key) => createPublicKey({ key, format: 'der', type: 'pkcs1' }),
  (der) => new X509Certificate(der).publicKey,
];

// The label of a PEM block is ignored: many PKCS#8 keys have a wrong one.
function parseKey(text: string): KeyObject {
  const der = derOf(unquoted(text));
  for (const read of FORMS) {
    try {
      return read(der);
    } catch {
      // The key may have another form. OpenSSL's error would not help to find the fault.
    }
  }
  return unreadable(
    'is not an RSA key; write the whole key as PEM (PKCS#1, PKCS#8, SPKI or a certificate) ' +
      'or as the base64 of its DER',
  );
}

function unquoted(text: string): string {
  const lines = text
    .replace(/^\uFEFF/, '')
    .replaceAll(/\\r|\r/g, '')
    .replaceAll('\\n', '\n')
    .trim();
  return lines.replace(/^(["'`])([^]*)\1$/, '$2');
}

function derOf(text: string): Buffer {
  if (/-----BEGIN ENCRYPTED|Proc-Type:.*ENCRYPTED/.test(text)) {
    unreadable('is encrypted with a passphrase; decrypt it first (openssl pkey -in KEY -out KEY.pem)');
  }
  const blocks = [...text.matchAll(/-----BEGIN [A-Z0-9 ]+-----([^-]*)-----END [A-Z0-9 ]+-----/g)];
  if (blocks.length > 1) unreadable(`contains ${blocks.length} PEM blocks; keep only the right one`);
  if (blocks.length === 0 && text.includes('-----')) {
    unreadable('is an incomplete PEM block; write it from its BEGIN line to its END line');
  }
  const base64 = (blocks[0]?.[1] ?? text).replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/_-]+={0,2}$/.test(base64)) {
    unreadable('is neither PEM nor base64; write the whole key in one of them');
  }
  return Buffer.from(base64, 'base64');
}
