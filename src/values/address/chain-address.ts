import { toComparable } from '../comparable.ts';

export type AddressResult =
  /** `address` is the text by which addresses are compared. */
  | { readonly ok: true; readonly address: string }
  /** `because` is a clause that says what is wrong with the text. */
  | { readonly ok: false; readonly because: string };

/** Reads a text of visible characters as an address of one chain. */
export type AddressReader = (text: string) => AddressResult;

/**
 * Accepts an address whose comparable text is `address`, the normal form on its chain. The two differ for a
 * bech32 address in capitals that is too short for {@link toComparable} to recognise. A lookup in a list
 * would miss such an address, so it is refused.
 */
export function goodAddress(text: string, address: string): AddressResult {
  return toComparable(text) === address
    ? { ok: true, address }
    : badAddress('in upper case it would be compared as a different text; write it in lower case');
}

export function badAddress(because: string): AddressResult {
  return { ok: false, because };
}
