const HEX = /^0x[0-9a-f]+$/i;
/** Written in capitals, as in QR codes: a prefix, `1`, and at least a short hash in the alphabet of BIP-173. */
const CAPITAL_BECH32 = /^[A-Z]{1,10}1[02-9AC-HJ-NP-Z]{38,}$/;

/**
 * The text by which two addresses, hashes or call data are compared: hexadecimal (`0x…`) and bech32 (`bc1…`) without regard
 * to case, since senders write them either way; anything else, and so every case-sensitive address, exactly as it is.
 */
export function comparable(text: string): string {
  return HEX.test(text) || CAPITAL_BECH32.test(text) ? text.toLowerCase() : text;
}
