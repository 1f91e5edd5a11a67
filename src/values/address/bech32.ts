import { type Bech32Decoded, bech32, bech32m } from '@scure/base';
import { type AddressResult, type AddressReader, badAddress, goodAddress } from './chain-address.ts';

/** The checksum is only guaranteed to detect errors up to this length (BIP-173). */
const BECH32_MAX = 90;
const VERSION_MAX = 16;
const MIXED = 'it mixes upper case and lower case';

/**
 * A witness address (BIP-173, BIP-350): the prefix, then a version and a program. Version 0 has a bech32
 * checksum and 20 or 32 bytes; later versions have a bech32m checksum and 2 to 40 bytes.
 */
export function segwit(prefix: string): AddressReader {
  return (text) => {
    const read = decode(text, prefix);
    if (!read.ok) return badAddress(read.because);
    const [version = VERSION_MAX + 1, ...program] = read.words;
    if (version > VERSION_MAX) return badAddress(`its witness version is not from 0 to ${VERSION_MAX}`);
    const wanted = version === 0 ? 'bech32' : 'bech32m';
    if (read.encoding !== wanted) {
      return badAddress(`its checksum is ${read.encoding}, but witness version ${version} needs ${wanted}`);
    }
    const bytes = bech32.fromWordsUnsafe(program)?.length;
    if (bytes === undefined) return badAddress('its program does not end at a whole byte');
    const fits = version === 0 ? bytes === 20 || bytes === 32 : bytes >= 2 && bytes <= 40;
    return fits
      ? goodAddress(text, text.toLowerCase())
      : badAddress(`its program has ${bytes} bytes, which witness version ${version} does not allow`);
  };
}

/** Whether the text begins like an address with this prefix. */
export function hasPrefix(prefix: string, text: string): boolean {
  return text.toLowerCase().startsWith(`${prefix}1`);
}

/** An account of 20 or 32 bytes in bech32, as in the Cosmos ecosystem. */
export function readAccount(prefix: string, text: string): AddressResult {
  const read = decode(text, prefix);
  if (!read.ok) return badAddress(read.because);
  if (read.encoding !== 'bech32') return badAddress('its checksum is bech32m, not bech32');
  const bytes = bech32.fromWordsUnsafe([...read.words])?.length;
  return bytes === 20 || bytes === 32
    ? goodAddress(text, text.toLowerCase())
    : badAddress('it does not encode 20 or 32 bytes');
}

type Decoded =
  | { readonly ok: true; readonly encoding: 'bech32' | 'bech32m'; readonly words: readonly number[] }
  | { readonly ok: false; readonly because: string };

function decode(text: string, prefix: string): Decoded {
  const bad = (because: string): Decoded => ({ ok: false, because });
  if (!hasPrefix(prefix, text)) return bad(`it does not begin with ${prefix}1`);
  if (text !== text.toLowerCase() && text !== text.toUpperCase()) return bad(MIXED);
  const found = decodedBy(bech32, 'bech32', text) ?? decodedBy(bech32m, 'bech32m', text);
  if (found === undefined)
    return bad(
      text.length > BECH32_MAX ? `it has more than ${BECH32_MAX} characters` : 'its checksum is wrong',
    );
  return found.prefix === prefix ? { ok: true, ...found } : bad(`it does not begin with ${prefix}1`);
}

function decodedBy<E extends string>(
  coder: { readonly decodeUnsafe: (text: string, limit: number) => Bech32Decoded | void | undefined },
  encoding: E,
  text: string,
): { readonly encoding: E; readonly prefix: string; readonly words: readonly number[] } | undefined {
  const decoded = coder.decodeUnsafe(text, BECH32_MAX);
  return decoded === undefined ? undefined : { encoding, prefix: decoded.prefix, words: decoded.words };
}
