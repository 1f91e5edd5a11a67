import { type KeyObject, constants, createHash, createHmac, privateDecrypt, verify } from 'node:crypto';
import type { Value } from './json.ts';
import { madeOf } from './text.ts';

/*
 * Signed texts, signatures and envelopes as protocol.md gives them, by Node's crypto alone.
 */

export type Members = readonly (readonly [string, Value])[];

/**
 * All members but `sign` in the order of their code points, each name followed by its value's text. Undefined
 * where a value has no text of its own.
 */
export function signedText(members: Members, emptyValues: 'keep' | 'skip'): string | undefined {
  const parts: (readonly [string, string])[] = [];
  for (const [name, value] of members) {
    if (name === 'sign' || value.type === 'null') continue;
    if (value.type === 'object' || value.type === 'list') return undefined;
    if (value.text === '' && emptyValues === 'skip') continue;
    parts.push([name, value.text]);
  }
  // UTF-8 sorts as code points do.
  parts.sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return parts.map(([name, text]) => name + text).join('');
}

export function md5Hex(content: string | Uint8Array): string {
  return createHash('md5').update(content).digest('hex');
}

/** 32 hexadecimal digits, in either case. */
export function isMd5(sign: string): boolean {
  return sign.length === 32 && madeOf(sign, '0123456789abcdefABCDEF');
}

export interface RsaText {
  readonly key: KeyObject;
  readonly digest: 'sha256' | 'sha1';
  readonly text: string;
}

export function rsaHolds({ key, digest, text }: RsaText, signature: Uint8Array): boolean {
  return (
    signature.length === sizeOf(key) &&
    verify(digest, Buffer.from(text), { key, padding: constants.RSA_PKCS1_PADDING }, signature)
  );
}

export function hmacHex(key: string, content: string): string {
  return createHmac('sha256', key).update(content).digest('hex');
}

const STANDARD = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const URL_SAFE = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/**
 * Base64 of one of the two alphabets, padded as it should be or not at all; no other character, and no stray
 * bits.
 */
export function fromBase64(text: string): Uint8Array | undefined {
  const plain = text.endsWith('==') ? text.slice(0, -2) : text.endsWith('=') ? text.slice(0, -1) : text;
  const padding = text.length - plain.length;
  if (padding > 0 && text.length % 4 !== 0) return undefined;
  const alphabet = [STANDARD, URL_SAFE].find((each) => madeOf(plain, each));
  if (alphabet === undefined || plain.length % 4 === 1) return undefined;
  const bytes = Buffer.alloc(Math.floor((plain.length * 6) / 8));
  let bits = 0;
  let held = 0;
  let at = 0;
  for (const letter of plain) {
    held = (held << 6) | alphabet.indexOf(letter);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes[at++] = (held >> bits) & 0xff;
      held &= (1 << bits) - 1;
    }
  }
  return held === 0 ? bytes : undefined;
}

/** What blocks of the key's size hold, joined; undefined where one of them is none, or holds nothing. */
export function decrypted(data: Uint8Array, key: KeyObject): Uint8Array | undefined {
  const size = sizeOf(key);
  if (data.length === 0 || data.length % size !== 0) return undefined;
  const parts: Uint8Array[] = [];
  for (let from = 0; from < data.length; from += size) {
    const part = opened(data.subarray(from, from + size), key);
    if (part === undefined || part.length === 0) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/**
 * By raw RSA and the padding of PKCS #1 v1.5 taken off by hand: Node gives noise where the padding is wrong.
 */
function opened(block: Uint8Array, key: KeyObject): Uint8Array | undefined {
  let padded: Uint8Array;
  try {
    padded = privateDecrypt({ key, padding: constants.RSA_NO_PADDING }, block);
  } catch {
    return undefined;
  }
  const end = padded.indexOf(0, 2);
  return padded[0] === 0 && padded[1] === 2 && end >= 10 ? padded.subarray(end + 1) : undefined;
}

function sizeOf(key: KeyObject): number {
  return (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8;
}
