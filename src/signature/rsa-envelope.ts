import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';

import { type Failure, failure, usageError } from '../errors.ts';
import { damageIn } from '../values/damage.ts';
import { type Members, decodeMembers, membersJson, stringMember, withoutMembers } from '../values/members.ts';
import {
  type PrivateKey,
  type PublicKey,
  type SignedDigest,
  readPrivateKey,
  readPrivateKeyFrom,
  readPublicKey,
  readPublicKeyFrom,
} from './keys.ts';
import { isRsaSized } from './rsa.ts';
import {
  type Explanation,
  type KeyInUse,
  type Scheme,
  type Verified,
  decodeBase64,
  digestOf,
  signFailure,
  signedOf,
} from './scheme.ts';
import { MD5_HEX_MISTAKES } from './variants.ts';

const ENVELOPE_MEMBERS: ReadonlySet<string> = new Set(['app_id', 'time', 'data', 'sign']);

/**
 * `{app_id, time, data, sign}`: the flat members, without `appKey` and `sign`, as one JSON text. It is
 * encrypted block by block for the merchant key and signed with the platform's key. Nothing protects `time`,
 * so it is ignored.
 */
export const rsaEnvelope: Scheme<'rsa-envelope'> = {
  name: 'rsa-envelope',
  shape: 'envelope',
  matchesForm: isRsaSized,

  verifier({ platformKey, merchantKey }, readSecret, threads) {
    const senderKey = readPublicKeyFrom(platformKey, readSecret);
    const receiverKey = readPrivateKeyFrom(merchantKey, readSecret);
    const keys: readonly KeyInUse[] = [
      { role: 'platform key', fingerprint: senderKey.fingerprint },
      { role: 'merchant key', fingerprint: receiverKey.fingerprint },
    ];
    const scheme = 'rsa-envelope';
    const pair = { senderKey, receiverKey };
    return {
      scheme,
      by: `rsa-envelope ${senderKey.fingerprint}`,
      keys,
      warnings:
        senderKey.fingerprint === receiverKey.fingerprint
          ? ["platformKey is the public half of merchantKey; put the platform's own public key there"]
          : [],
      async verify(members, sign, appKey) {
        const refused = ({ code, because }: Failure, plaintext?: Uint8Array): Failure =>
          signFailure(code, because, { scheme, keys }, plaintext && digestOf(plaintext));
        const data = dataOf(members);
        const encrypted =
          typeof data === 'string' ? checkEnvelope({ data, sign }, pair, ENVELOPE_BLOCKS_MAX) : data;
        if (!encrypted.ok) return refused(encrypted);
        const { blocks } = encrypted;
        const decrypted =
          threads === undefined ? receiverKey.decrypt(blocks) : await receiverKey.decryptIn(threads, blocks);
        const opened = verifyContent(decrypted, encrypted, pair);
        if (!opened.ok) return refused(opened);
        const content = contentOf(opened.plaintext, appKey);
        return content.ok ? content : refused(content, opened.plaintext);
      },
      explain(members, sign) {
        const explained = (plaintext: Uint8Array, next: string | undefined): Explanation => ({
          ok: true,
          scheme,
          keys,
          ...signedOf(plaintext, 'md5-hex'),
          expected: undefined,
          received: sign,
          verifies: next === undefined,
          next,
        });
        const sealed = dataOf(members);
        const opened = typeof sealed === 'string' ? openEnvelope({ data: sealed, sign }, pair) : sealed;
        if (opened.ok) return explained(opened.plaintext, undefined);
        // The owner of the keys may see the content of an envelope with a wrong sign, unlike the service.
        const data = decodeBase64(members.get('data')?.text ?? '');
        const plaintext = data && receiverKey.decrypt(data);
        // An envelope for another key decrypts to random bytes, which are never members.
        return plaintext === undefined || !decodeMembers(plaintext).ok
          ? signFailure(opened.code, opened.because, { scheme, keys })
          : explained(plaintext, opened.because);
      },
    };
  },

  signer(config) {
    const senderKey = readPrivateKey(config.senderKey);
    const receiverKey = readPublicKey(config.receiverKey);
    return {
      scheme: 'rsa-envelope',
      sign(members, nowMs) {
        const appKey = members.get('appKey');
        if (appKey === undefined) throw usageError('an envelope needs the member appKey');
        const plaintext = membersJson(withoutMembers(members, 'appKey', 'sign'));
        const { data, sign } = sealEnvelope(plaintext, { senderKey, receiverKey });
        return JSON.stringify({ app_id: appKey.text, time: nowMs, data, sign });
      },
    };
  },
};

function dataOf(members: Members): string | Failure {
  const unknown = [...members.keys()].find((name) => !ENVELOPE_MEMBERS.has(name));
  if (unknown !== undefined) {
    return failure(
      'ENVELOPE_MALFORMED',
      `${JSON.stringify(unknown)} is outside the envelope, where it is not signed; put it into data`,
    );
  }
  const data = members.get('data');
  return data?.kind === 'string'
    ? data.text
    : failure('ENVELOPE_MALFORMED', 'data is missing or is not a string');
}

/** The members of a verified plaintext, with `appKey` as in the flat schemes. */
function contentOf(plaintext: Uint8Array, appKey: string): Verified | Failure {
  const decoded = decodeMembers(plaintext);
  if (!decoded.ok) return { ...decoded, because: `in the plaintext of the envelope, ${decoded.because}` };
  if (decoded.members.has('sign'))
    return failure(
      'ENVELOPE_MALFORMED',
      'the plaintext has a member sign, but only the envelope has one; leave it out',
    );
  const inner = decoded.members.get('appKey') ?? stringMember(appKey);
  if (inner.kind !== 'string' || inner.text !== appKey) {
    return failure('ENVELOPE_MALFORMED', 'the appKey in the plaintext differs from app_id');
  }
  const members = new Map([['appKey', inner], ...decoded.members]);
  return { ok: true, members, plaintext: decoded.text, canonical: undefined };
}

/** Blocks of the receiver's key size in a callback's `data`: 3,920 bytes of plaintext at 2048 bits. */
const ENVELOPE_BLOCKS_MAX = 16;

/** The padding of PKCS#1 v1.5 in each block (RFC 8017, section 7.2.1). */
const PADDING_BYTES = 11;

interface EnvelopeParts {
  readonly data: string;
  readonly sign: string;
}

interface EnvelopeKeys {
  readonly senderKey: PublicKey;
  readonly receiverKey: PrivateKey;
}

type EnvelopeContent = { readonly ok: true; readonly plaintext: Uint8Array } | Failure;

/** Encrypts a plaintext for one receiver and signs it: `data` and `sign` as base64url without padding. */
export function sealEnvelope(
  plaintext: string,
  { senderKey, receiverKey }: { readonly senderKey: PrivateKey; readonly receiverKey: PublicKey },
): EnvelopeParts {
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
 * Decrypts an envelope and verifies its signature. Any mismatch between `data` and the signed plaintext is
 * ENVELOPE_UNDECIPHERABLE: a block for another key decrypts to random bytes.
 *
 * Decryption is slow, and with PKCS#1 v1.5 it is open to chosen-ciphertext attacks (Bleichenbacher's). So
 * only an envelope whose `sign` was made by the owner of the sender's key is decrypted. A failed decryption
 * is followed by the same verification as a successful one.
 */
export function openEnvelope(
  parts: EnvelopeParts,
  keys: EnvelopeKeys,
  blocksMax: number = ENVELOPE_BLOCKS_MAX,
): EnvelopeContent {
  const encrypted = checkEnvelope(parts, keys, blocksMax);
  if (!encrypted.ok) return encrypted;
  return verifyContent(keys.receiverKey.decrypt(encrypted.blocks), encrypted, keys);
}

/** An envelope with a signature by the sender's key. */
interface Encrypted {
  readonly ok: true;
  readonly blocks: Uint8Array;
  readonly signature: Uint8Array;
  readonly signed: SignedDigest;
}

function checkEnvelope(
  { data, sign }: EnvelopeParts,
  { senderKey, receiverKey }: EnvelopeKeys,
  blocksMax: number,
): Encrypted | Failure {
  const blocks = decodeBase64(data);
  if (blocks === undefined || blocks.length === 0 || blocks.length % receiverKey.bytes !== 0) {
    const damage = damageIn(data, (text) => decodeBase64(text) !== undefined);
    return failure(
      'ENVELOPE_MALFORMED',
      `data is not base64 of whole blocks of ${receiverKey.bytes} bytes, the size of the merchant key` +
        (damage === undefined
          ? '; check that the sender uses this key and sends all of data'
          : `: ${damage.because}`),
    );
  }
  if (blocks.length / receiverKey.bytes > blocksMax) {
    return failure(
      'ENVELOPE_TOO_LARGE',
      `data has ${blocks.length / receiverKey.bytes} blocks; at most ${blocksMax} are decrypted`,
    );
  }
  const signature = decodeBase64(sign);
  if (signature?.length !== senderKey.bytes) {
    return failure(
      'SIGN_WRONG',
      `the signature has ${signature?.length} bytes, but the platform key makes signatures of ` +
        `${senderKey.bytes} bytes; check the platform's key in the settings`,
    );
  }
  const signed = senderKey.digestIn(signature);
  if (signed?.digest !== 'sha256') {
    return failure(
      'SIGN_WRONG',
      signed === undefined
        ? "the signature was made with another key; check the platform's key in the settings"
        : `the platform key is right, but it signed with ${signed.digest}; ` +
            'the sender must sign with SHA256withRSA',
    );
  }
  return { ok: true, blocks, signature, signed };
}

/** What senders sign in place of the plaintext's MD5. */
const SIGN_MISTAKES: typeof MD5_HEX_MISTAKES = [
  {
    bytes: (plaintext) => plaintext,
    fix: 'the signature covers the plaintext itself; the sender must sign its MD5 in lower-case hexadecimal',
  },
  ...MD5_HEX_MISTAKES,
];

/** Verifies the signature over what the blocks decrypted to; undefined if they can't be decrypted. */
function verifyContent(
  plaintext: Uint8Array | undefined,
  { blocks, signature, signed }: Encrypted,
  { senderKey }: EnvelopeKeys,
): EnvelopeContent {
  const verifies = senderKey.verify(hash('md5', plaintext ?? blocks, 'hex'), signature);
  if (plaintext !== undefined && verifies) return { ok: true, plaintext };
  const mistake =
    plaintext && SIGN_MISTAKES.find(({ bytes }) => hash('sha256', bytes(plaintext), 'hex') === signed.hash);
  if (mistake !== undefined) return failure('SIGN_WRONG', mistake.fix);
  // We can't tell these causes apart for certain, so both get the same code; only the advice differs.
  return failure(
    'ENVELOPE_UNDECIPHERABLE',
    plaintext === undefined || !isUtf8(plaintext)
      ? "data can't be decrypted with the merchant key; check that the platform has its public half"
      : 'the decrypted data is not what the platform key signed; ' +
          'it was changed, or the sender signed another text',
  );
}
