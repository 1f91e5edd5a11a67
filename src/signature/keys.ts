import {
  type KeyObject,
  constants,
  createHash,
  createPublicKey,
  privateDecrypt,
  publicDecrypt,
  verify,
} from 'node:crypto';

import { type FormatDer, NodeRSA } from 'node-rsa';

import { readKey, unreadable } from './key-text.ts';

export type Digest = 'sha256' | 'sha1';

interface RsaKey {
  /** `SHA256:` and the base64, without padding, of the digest of the public half's SPKI DER. */
  readonly fingerprint: string;
  /** Bytes of the modulus, and so of a signature and of an encrypted block. */
  readonly bytes: number;
}

export interface PublicKey extends RsaKey {
  /** The SPKI DER in base64 without line breaks. */
  readonly base64: string;
  /** PKCS#1 v1.5. False for whatever is no signature. */
  verify(data: string, signature: Uint8Array): boolean;
  /** The digest in a signature that the owner of this key made; undefined for one that is not theirs. */
  digestIn(signature: Uint8Array): SignedDigest | undefined;
  /** PKCS#1 v1.5, one block of at most `bytes - 11`. */
  encrypt(block: Uint8Array): Uint8Array;
}

export interface PrivateKey extends RsaKey {
  sign(data: string): Uint8Array;
  /**
   * PKCS#1 v1.5, whole blocks joined. Undefined, or other bytes than were encrypted, where one is not for
   * this key; undefined where one holds nothing.
   */
  decrypt(blocks: Uint8Array): Uint8Array | undefined;
}

export interface SignedDigest {
  readonly digest: Digest | 'md5' | 'another digest';
  /** Lower-case hexadecimal. */
  readonly hash: string;
}

/** A public key from its text, for verifying with `digest`. Throws KEY_UNREADABLE. */
export function readPublicKey(text: string, digest: Digest = 'sha256'): PublicKey {
  const key = readKey(text, 'public');
  const der = key.export({ type: 'spki', format: 'der' });
  const rsa = nodeRsa(der, 'pkcs8-public-der', digest);
  const algorithm = `RSA-${digest.toUpperCase()}`;
  return {
    ...describe(key),
    base64: der.toString('base64'),
    // Not by node-rsa, which names the padding at each call: reading it takes as long as half of the
    // verification.
    verify: (data, signature) => verify(algorithm, Buffer.from(data), key, signature),
    digestIn: (signature) => {
      const info = quietly(() => publicDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, signature));
      return info === undefined ? undefined : readDigestInfo(info);
    },
    encrypt: (block) => rsa.encrypt(block),
  };
}

/** A private key from its text, for signing with `digest`. Throws KEY_UNREADABLE. */
export function readPrivateKey(text: string, digest: Digest = 'sha256'): PrivateKey {
  const key = readKey(text, 'private');
  const rsa = nodeRsa(key.export({ type: 'pkcs1', format: 'der' }), 'pkcs1-private-der', digest);
  return {
    ...describe(createPublicKey(key)),
    sign: (data) => rsa.sign(data),
    decrypt: (blocks) => quietly(() => decryptBlocks(key, blocks)),
  };
}

/**
 * PKCS#1 v1.5 by Node's own OpenSSL and not by node-rsa, whose way is in JavaScript: 10 ms a block at 2048
 * bits instead of 0.9, in a time that depends on the values. OpenSSL rejects implicitly: a block for another
 * key gives other bytes, no error.
 */
function decryptBlocks(key: KeyObject, blocks: Uint8Array): Uint8Array | undefined {
  const size = (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8;
  const parts = Array.from({ length: Math.ceil(blocks.length / size) }, (_, at) =>
    privateDecrypt(
      { key, padding: constants.RSA_PKCS1_PADDING },
      blocks.subarray(at * size, (at + 1) * size),
    ),
  );
  // Of 245 blocks of noise about one deciphers to nothing, and could be put beside the others unnoticed.
  return parts.some(({ length }) => length === 0) ? undefined : Buffer.concat(parts);
}

/** The node-rsa key. It must be kept: signing runs natively on the key object that it caches. */
function nodeRsa(der: Buffer, format: FormatDer, digest: Digest): NodeRSA {
  try {
    return new NodeRSA(der, format, {
      signingScheme: `pkcs1-${digest}`,
      encryptionScheme: 'pkcs1',
      bigIntImpl: 'native',
    });
  } catch {
    return unreadable('is an RSA key whose numbers do not fit together: make a new pair');
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

// node-rsa throws where a block is not as it should be; why, nobody may learn.
function quietly(run: () => Uint8Array | undefined): Uint8Array | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
