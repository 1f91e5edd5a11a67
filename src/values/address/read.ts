import { comparable } from '../comparable.ts';

export type AddressRead =
  | { readonly ok: true; /** The form by which addresses are compared. */ readonly address: string }
  | { readonly ok: false; /** What is wrong with it, as the end of a sentence. */ readonly because: string };

/** How a chain reads a text of visible characters. */
export type ReadAddress = (text: string) => AddressRead;

/**
 * A good address. One that lists would not find under the form in which its chain compares it is refused all
 * the same.
 */
export function goodAddress(text: string, address: string): AddressRead {
  return comparable(text) === address
    ? { ok: true, address }
    : badAddress('in capitals it would be compared as another text; write it in lower case');
}

export function badAddress(because: string): AddressRead {
  return { ok: false, because };
}
