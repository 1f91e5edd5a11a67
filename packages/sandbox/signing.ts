import {
  type KeyObject,
  constants,
  createHash,
  privateDecrypt,
  publicEncrypt,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import { type Body, textBody } from './json.ts';
import { type Random, randomOf } from './random.ts';

/*
 * The platform's signatures, written a second time and shared with nothing: a mistake in src/signature can't
 * hide behind the same mistake here.
 */

export type Scheme = 'md5' | 'rsa' | 'rsa-envelope';

/** Names and values of all members but `sign` and nulls, sorted by code points of the names, joined. */
export function canonicalText(body: Body): string {
  return [...body]
    .filter(([name, { kind }]) => name !== 'sign' && kind !== 'null')
    .sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([name, { text }]) => name + text)
    .join('');
}

export function md5Hex(text: string): string {
  return createHash('md5').update(text, 'utf8').digest('hex');
}

function md5Sign(body: Body, secret: string): string {
  return md5Hex(canonicalText(body) + secret);
}

/** Upper-case digits are accepted, too. */
export function isMd5Sign(body: Body, secret: string, signature: string): boolean {
  const expected = Buffer.from(md5Sign(body, secret));
  const received = Buffer.from(signature.toLowerCase());
  return expected.length === received.length && timingSafeEqual(expected, received);
}

/** SHA256withRSA over a text, in base64. */
export function rsaTextSign(text: string, key: KeyObject): string {
  return sign('RSA-SHA256', Buffer.from(text), key).toString('base64');
}

/** Undefined if the text isn't the base64 of a signature by this key. */
export function isRsaTextSign(text: string, key: KeyObject, signature: string): boolean | undefined {
  const bytes = readBase64(signature);
  return bytes?.length === keyBytes(key) ? verify('RSA-SHA256', Buffer.from(text), key, bytes) : undefined;
}

/** SHA256withRSA over the hexadecimal MD5 of the plaintext, in base64url without padding. */
export function rsaSign(plaintext: string, key: KeyObject): string {
  return sign('RSA-SHA256', Buffer.from(md5Hex(plaintext)), key).toString('base64url');
}

export function isRsaSign(plaintext: Uint8Array, key: KeyObject, signature: string): boolean {
  const bytes = readBase64(signature);
  if (bytes === undefined) return false;
  const hash = createHash('md5').update(plaintext).digest('hex');
  return verify('RSA-SHA256', Buffer.from(hash), key, bytes);
}

/** The `sign` of flat members: of md5 with a secret, or of rsa with a private key. */
export function flatSign(
  members: Readonly<Record<string, string | number>>,
  key: string | KeyObject,
): string {
  const texts = Object.entries(members).map(([name, value]) => [name, String(value)]);
  const body = textBody(Object.fromEntries(texts));
  return typeof key === 'string' ? md5Sign(body, key) : rsaTextSign(canonicalText(body), key);
}

/** `data` and `sign` of an envelope. The same plaintext, keys and seed give the same bytes. */
export function seal(
  plaintext: string,
  { senderKey, receiverKey }: { readonly senderKey: KeyObject; readonly receiverKey: KeyObject },
  seed: string,
): { readonly data: string; readonly sign: string } {
  return {
    data: encrypt(plaintext, receiverKey, randomOf(seed, 'padding', plaintext)),
    sign: rsaSign(plaintext, senderKey),
  };
}

/** What PKCS#1 v1.5 adds to each block. */
const PADDING_BYTES = 11;

/**
 * Encrypts with RSA PKCS#1 v1.5, in blocks of the key's size less 11 bytes, as base64url without padding. The
 * padding comes from `random` and not from OpenSSL, so that the same seed gives the same bytes.
 */
export function encrypt(plaintext: string, key: KeyObject, random: Random): string {
  const size = keyBytes(key);
  const bytes = Buffer.from(plaintext, 'utf8');
  const blocks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size - PADDING_BYTES) {
    const part = bytes.subarray(at, at + size - PADDING_BYTES);
    const filler = random.bytes(size - 3 - part.length).map((byte) => (byte === 0 ? 1 : byte));
    const block = Buffer.concat([Buffer.of(0, 2), filler, Buffer.of(0), part]);
    blocks.push(publicEncrypt({ key, padding: constants.RSA_NO_PADDING }, block));
  }
  return Buffer.concat(blocks).toString('base64url');
}

/** Undefined if the text isn't whole blocks for this key. Blocks for another key may give any bytes. */
export function decrypt(data: string, key: KeyObject): Buffer | undefined {
  const bytes = readBase64(data);
  const size = keyBytes(key);
  if (bytes === undefined || bytes.length === 0 || bytes.length % size !== 0) return undefined;
  try {
    const parts: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      parts.push(
        privateDecrypt({ key, padding: constants.RSA_PKCS1_PADDING }, bytes.subarray(at, at + size)),
      );
    }
    return Buffer.concat(parts);
  } catch {
    return undefined;
  }
}

/** Both alphabets of base64, padded or not. */
function readBase64(text: string): Buffer | undefined {
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined;
}

function keyBytes(key: KeyObject): number {
  return (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8;
}

/**
 * The same text with another first character, which is one of hexadecimal digits and of base64. It differs in
 * more than its case, because hexadecimal digits may be of either.
 */
export function flipped(text: string): string {
  return `${/^a/i.test(text) ? 'b' : 'a'}${text.slice(1)}`;
}
