import { type KeyObject, constants, privateDecrypt, publicEncrypt } from 'node:crypto';

/**
 * Decrypts PKCS#1 v1.5 blocks of `blockBytes` each, and joins them. Undefined if one can't be decrypted or
 * decrypts to no bytes.
 *
 * OpenSSL decrypts in constant time, which node-rsa doesn't. It rejects implicitly: a block for another key
 * gives random bytes, not an error.
 */
export function decryptBlocks(
  key: KeyObject,
  blocks: Uint8Array,
  blockBytes: number,
): Uint8Array | undefined {
  try {
    const parts = Array.from({ length: Math.ceil(blocks.length / blockBytes) }, (_, at) =>
      privateDecrypt(
        { key, padding: constants.RSA_PKCS1_PADDING },
        blocks.subarray(at * blockBytes, (at + 1) * blockBytes),
      ),
    );
    // About one in 245 random blocks decrypts to an empty text. An attacker could insert such a block
    // unnoticed.
    return parts.some(({ length }) => length === 0) ? undefined : Buffer.concat(parts);
  } catch {
    // The cause of a failed decryption must not be revealed.
    return undefined;
  }
}

/**
 * Whether this Node decrypts PKCS#1 v1.5 at all. With an OpenSSL before 3.2, which can't reject implicitly, it
 * refuses to (CVE-2023-46809): Node 20, 22 before 22.20, and 24 before 24.5.
 */
export function canDecryptBlocks(key: KeyObject): boolean {
  const block = publicEncrypt({ key, padding: constants.RSA_PKCS1_PADDING }, Buffer.from('any text'));
  return decryptBlocks(key, block, block.length) !== undefined;
}

/**
 * Decrypts in threads, because it takes longer than all else about a callback. The schemes know no more of
 * threads, so a client that has none needs no code for them.
 */
export interface DecryptionThreads {
  /** Like `decryptBlocks`. Rejects if the thread ends, fails or doesn't answer. */
  decrypt(key: KeyObject, blocks: Uint8Array, blockBytes: number): Promise<Uint8Array | undefined>;
  /** How long the oldest decryption has waited. */
  waitMs(): number;
  /** Ends the threads. Rejects the decryptions in flight, and all later ones. */
  close(): Promise<void>;
}
