import { base32nopad } from '@scure/base';
import { type AddressResult, badAddress, goodAddress } from './chain-address.ts';
import { crc16 } from './crc16.ts';

/** `G…` (an account) and `C…` (a contract). */
const VERSIONS: ReadonlySet<number> = new Set([6 << 3, 2 << 3]);
const STRKEY = /^[GC][A-Z2-7]{55}$/;
const MUXED = /^M[A-Z2-7]{68}$/;
const CHECKSUM_BYTES = 2;

/** An account or a contract (SEP-23). A muxed address is refused: the number in it belongs in the memo. */
export function readStellar(text: string): AddressResult {
  if (MUXED.test(text)) {
    return badAddress('it is a muxed address; write the account (G…), and the number in it as the memo');
  }
  if (!STRKEY.test(text)) return badAddress('it is not G… or C… of 56 characters in base32');
  const bytes = Buffer.from(base32nopad.decode(text));
  const payload = bytes.subarray(0, -CHECKSUM_BYTES);
  if (bytes.readUInt16LE(payload.length) !== crc16(payload)) return badAddress('its checksum is wrong');
  return VERSIONS.has(payload[0] ?? -1) ? goodAddress(text, text) : badAddress('its version is not known');
}
