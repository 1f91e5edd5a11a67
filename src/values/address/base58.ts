import { hash } from 'node:crypto';
import { type BytesCoder, base58, base58xrp } from '@scure/base';
import { type AddressResult, type AddressReader, badAddress, goodAddress } from './chain-address.ts';

const CHECKSUM_BYTES = 4;
const HASH_BYTES = 20;
const SOLANA_BYTES = 32;
/** A limit on the length, because decoding base58 takes quadratic time. No address is longer. */
const BASE58_MAX = 64;

/** Base58 with a checksum: one of `versions`, then 20 bytes. `like` describes the form for error messages. */
export function base58Check(versions: readonly number[], like: string, alphabet = base58): AddressReader {
  return (text) => {
    const bytes = decode(alphabet, text);
    if (bytes?.length !== 1 + HASH_BYTES + CHECKSUM_BYTES) return badAddress(`it is not ${like}`);
    const payload = bytes.subarray(0, -CHECKSUM_BYTES);
    if (!Buffer.from(checksumOf(payload)).equals(bytes.subarray(-CHECKSUM_BYTES))) {
      return badAddress('its checksum is wrong');
    }
    const version = payload[0] ?? 0;
    return versions.includes(version)
      ? goodAddress(text, text)
      : badAddress(`it is of another chain (its version byte is ${version}), not ${like}`);
  };
}

const tron = base58Check([0x41], 'T… in base58 with a checksum');

/**
 * Tron's base58. The hexadecimal form of the same account is refused, because lists would take it for another
 * account.
 */
export function readTron(text: string): AddressResult {
  return /^(?:0x)?41[0-9a-f]{40}$/i.test(text)
    ? badAddress('it is in hexadecimal; write it in base58, as T…')
    : tron(text);
}

const ripple = base58Check([0x00], 'r… in base58 with a checksum', base58xrp);

/** Whether the text looks like an X-address, which contains a destination tag. */
export const isRippleX = (text: string): boolean => /^[XT][1-9A-HJ-NP-Za-km-z]{45,}$/.test(text);

/** A classic address. An X-address is refused: its tag belongs in the memo. */
export function readRipple(text: string): AddressResult {
  return isRippleX(text)
    ? badAddress('it is an X-address; write the classic address (r…), and the tag as the memo')
    : ripple(text);
}

/** 32 bytes in base58. There is no checksum, so a misspelt address can be a valid one. */
export function readSolana(text: string): AddressResult {
  return decode(base58, text)?.length === SOLANA_BYTES
    ? goodAddress(text, text)
    : badAddress('it is not 32 bytes in base58');
}

function checksumOf(payload: Uint8Array): Uint8Array {
  const twice = hash('sha256', hash('sha256', payload, 'buffer'), 'buffer');
  return twice.subarray(0, CHECKSUM_BYTES);
}

function decode(alphabet: BytesCoder, text: string): Uint8Array | undefined {
  if (text === '' || text.length > BASE58_MAX) return undefined;
  try {
    return alphabet.decode(text);
  } catch {
    return undefined;
  }
}
