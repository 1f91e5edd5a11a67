/** CRC-16/XMODEM, the checksum of TON and Stellar. */
export function crc16(bytes: Uint8Array): number {
  let remainder = 0;
  for (const byte of bytes) {
    remainder ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) {
      remainder = ((remainder << 1) ^ ((remainder & 0x8000) === 0 ? 0 : 0x1021)) & 0xffff;
    }
  }
  return remainder;
}
