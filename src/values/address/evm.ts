import { isAddress } from 'viem/utils';
import { type AddressRead, badAddress, goodAddress } from './read.ts';

const LOOKS = /^0x[0-9a-fA-F]{40}$/;
/** All digits that are letters in one case: written without a checksum. */
const ONE_CASE = /^0x(?:[0-9a-f]{40}|[0-9A-F]{40})$/;

/**
 * `0x` and 40 hexadecimal digits. Where capitals and small letters mix, they are the checksum of EIP-55, and
 * must be right.
 */
export function readEvm(text: string): AddressRead {
  if (!LOOKS.test(text)) return badAddress('it is not 0x and 40 hexadecimal digits');
  if (!ONE_CASE.test(text) && !isAddress(text)) {
    return badAddress('its checksum is wrong: the capitals in it are not those of EIP-55');
  }
  return goodAddress(text, text.toLowerCase());
}
