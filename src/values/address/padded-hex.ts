import { type AddressResult, badAddress } from './chain-address.ts';

const DIGITS = 64;
const EVM_DIGITS = 40;
const SHORT_OR_LONG = /^0x[0-9a-fA-F]{1,64}$/;
/** On Starknet, addresses are below 2^251. */
const BELOW_2_TO_251 = /^0x0[0-7]/;

/** 32 bytes in hexadecimal, with or without zeros at the beginning. The canonical form has all 64 digits. */
export function readPaddedHex(text: string): AddressResult {
  if (!SHORT_OR_LONG.test(text)) return badAddress(`it is not 0x and up to ${DIGITS} hexadecimal digits`);
  const digits = text.slice(2).toLowerCase();
  return digits.length === EVM_DIGITS
    ? badAddress(`it has ${EVM_DIGITS} digits, like an address of an EVM chain; write all ${DIGITS} digits`)
    : { ok: true, address: `0x${digits.padStart(DIGITS, '0')}` };
}

export function readStarknet(text: string): AddressResult {
  const read = readPaddedHex(text);
  return read.ok && !BELOW_2_TO_251.test(read.address) ? badAddress('it is not below 2^251') : read;
}

/** More zeros than a hash has at its beginning: only addresses of the system, such as `0x1`, have so many. */
const ZEROS_MAX = 8;

/**
 * A canonical address with all of the zeros at its beginning, without them, and without some of them. An
 * address of the system is written with all or none.
 */
export function spellingsOfPaddedHex(address: string): readonly string[] {
  const digits = address.slice(2);
  const zeros = Math.min(DIGITS - 1, digits.search(/[^0]|$/));
  const left = zeros > ZEROS_MAX ? [0, zeros] : Array.from({ length: zeros + 1 }, (_, count) => count);
  return left.map((count) => `0x${digits.slice(count)}`);
}
