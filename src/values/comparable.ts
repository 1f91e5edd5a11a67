const HEX = /^0x[0-9a-f]+$/i;
const ASCII = /^[ -~]*$/;
/**
 * Written in capitals, as in QR codes: a prefix, `1`, and at least a short hash in the alphabet of BIP-173.
 */
const CAPITAL_BECH32 = /^[A-Z][A-Z0-9]{0,31}1[02-9AC-HJ-NP-Z]{38,}$/;

/**
 * The text by which two addresses, hashes or call data are compared: hexadecimal (`0x…`) and bech32 (`bc1…`)
 * without regard to case, since senders write them either way; anything else, and so every case-sensitive
 * address, exactly as it is, in Unicode normal form C.
 */
export function comparable(text: string): string {
  return caseless(ASCII.test(text) ? text : text.normalize('NFC'));
}

function caseless(text: string): string {
  return HEX.test(text) || CAPITAL_BECH32.test(text) ? text.toLowerCase() : text;
}

/**
 * The text by which an entry of a list is compared: each part comparable, the blanks between them as they
 * are. Whatever is put on a list, in the store or in a file, and whatever is looked up in one is made so, and
 * in no other way.
 */
export function comparableEntry(text: string): string {
  return text.includes(' ') ? text.split(' ').map(comparable).join(' ') : comparable(text);
}

/**
 * The forms in which a list of the store may hold an entry: those added by earlier versions are in no Unicode
 * normal form.
 */
export function storedEntries(text: string): readonly string[] {
  return [...new Set([comparableEntry(text), text.split(' ').map(caseless).join(' ')])];
}
