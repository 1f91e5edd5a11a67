import { comparable } from '../comparable.ts';

export type AddressRead =
  /** `address` is the text by which addresses are compared. */
  | { readonly ok: true; readonly address: string }
  /** `because` is a clause that says what is wrong with the text. */
  | { readonly ok: false; readonly because: string };

/** Reads a text of visible characters as an address of one chain. */
export type ReadAddress = (text: string) => AddressRead;

/**
 * Accepts an address, unless its comparable text differs from the form of its chain: lists could not find
 * such an address.
 */
export function goodAddress(text: string, address: string): AddressRead {
  return comparable(text) === address
    ? { ok: true, address }
    : badAddress('in capitals it would be compared as another text; write it in lower case');
}

export function badAddress(because: string): AddressRead {
  return { ok: false, because };
}
