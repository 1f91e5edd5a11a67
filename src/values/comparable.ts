const HEX = /^0x[0-9a-fA-F]+$/;

/**
 * The text by which two addresses, hashes or call data are compared: hexadecimal (`0x…`) without regard to case, since
 * senders write it either way; anything else, and so every case-sensitive address, exactly as it is.
 */
export function comparable(text: string): string {
  return HEX.test(text) ? text.toLowerCase() : text;
}
