import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';

import { type Failure, failure } from '../errors.ts';
import { decodeBase64 } from './base64.ts';
import type { PrivateKey, PublicKey } from './keys.ts';

/**
 * An envelope's `data` has at most so many blocks of the receiver's key size: 3,920 bytes of plaintext at
 * 2048 bits.
 */
const ENVELOPE_BLOCKS_MAX = 16;

/** PKCS#1 v1.5 needs so many bytes of a block for itself (RFC 8017, section 7.2.1). */
const PADDING_BYTES = 11;

export interface Sealed {
  readonly data: string;
  readonly sign: string;
}

export type Opened = { readonly ok: true; readonly plaintext: Uint8Array } | Failure;

/** A plaintext for one receiver, signed by its sender: `data` and `sign` as base64url without padding. */
export function sealEnvelope(
  plaintext: string,
  { senderKey, receiverKey }: { readonly senderKey: PrivateKey; readonly receiverKey: PublicKey },
): Sealed {
  const bytes = Buffer.from(plaintext);
  const room = receiverKey.bytes - PADDING_BYTES;
  const blocks = Array.from({ length: Math.ceil(bytes.length / room) }, (_, at) =>
    receiverKey.encrypt(bytes.subarray(at * room, (at + 1) * room)),
  );
  return {
    data: Buffer.concat(blocks).toString('base64url'),
    sign: Buffer.from(senderKey.sign(hash('md5', bytes, 'hex'))).toString('base64url'),
  };
}

/**
 * The plaintext of an envelope, signed by the sender's key. `data` that doesn't decipher to what was signed
 * fails as ENVELOPE_UNDECIPHERABLE, whatever it deciphers to: a block that was made for another key deciphers
 * to random bytes.
 *
 * Deciphering is slow, and PKCS#1 v1.5 tells much to those who may try ciphertexts of their own. So a `sign`
 * is first looked into: only what the owner of the sender's key once signed is worth deciphering. And what
 * doesn't decipher costs the same verification as what does.
 */
export function openEnvelope(
  { data, sign }: Sealed,
  { senderKey, receiverKey }: { readonly senderKey: PublicKey; readonly receiverKey: PrivateKey },
): Opened {
  const blocks = decodeBase64(data);
  if (blocks === undefined || blocks.length === 0 || blocks.length % receiverKey.bytes !== 0) {
    return failure(
      'ENVELOPE_MALFORMED',
      `data is not the base64 of whole blocks of ${receiverKey.bytes} bytes, the size of the merchant key: ` +
        'check that the sender has this key, and that nothing was cut off',
    );
  }
  if (blocks.length / receiverKey.bytes > ENVELOPE_BLOCKS_MAX) {
    return failure(
      'ENVELOPE_TOO_LARGE',
      `data has ${blocks.length / receiverKey.bytes} blocks; at most ${ENVELOPE_BLOCKS_MAX} are deciphered`,
    );
  }
  const signature = decodeBase64(sign);
  if (signature?.length !== senderKey.bytes) {
    return failure(
      'SIGN_WRONG',
      `the platform key makes signs of ${senderKey.bytes} bytes and this one has ${signature?.length}`,
    );
  }
  const signed = senderKey.digestIn(signature);
  if (signed?.digest !== 'sha256') {
    return failure(
      'SIGN_WRONG',
      signed === undefined
        ? "the sign was made with another key: check the platform's key in the settings"
        : `the platform key is right, but it signed with ${signed.digest}: the sender must sign with SHA256withRSA`,
    );
  }
  const plaintext = receiverKey.decrypt(blocks);
  const verifies = senderKey.verify(hash('md5', plaintext ?? blocks, 'hex'), signature);
  if (plaintext !== undefined && verifies) return { ok: true, plaintext };
  if (plaintext !== undefined && hash('sha256', plaintext, 'hex') === signed.hash) {
    return failure(
      'SIGN_WRONG',
      'the sign is over the plaintext itself: the sender must sign its MD5 in lower-case hexadecimal',
    );
  }
  // Which of the two it was can only be guessed, so only the advice depends on it.
  return failure(
    'ENVELOPE_UNDECIPHERABLE',
    plaintext === undefined || !isUtf8(plaintext)
      ? 'data does not decipher with the merchant key: check that the platform has its public half'
      : 'data does not decipher to what the platform key signed: the data was changed, or the sender signed another text',
  );
}
