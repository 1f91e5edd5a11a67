/** By the table of RFC 3629: no overlong form, no surrogate, nothing above U+10FFFF. */
export function isUtf8(bytes: Uint8Array): boolean {
  const follows = (at: number, low = 0x80, high = 0xbf): boolean => {
    const byte = bytes[at];
    return byte !== undefined && byte >= low && byte <= high;
  };
  let at = 0;
  while (at < bytes.length) {
    const first = bytes[at] ?? 0;
    if (first <= 0x7f) at += 1;
    else if (first >= 0xc2 && first <= 0xdf && follows(at + 1)) at += 2;
    else if (first === 0xe0 && follows(at + 1, 0xa0) && follows(at + 2)) at += 3;
    else if (first === 0xed && follows(at + 1, 0x80, 0x9f) && follows(at + 2)) at += 3;
    else if (first >= 0xe1 && first <= 0xef && first !== 0xed && follows(at + 1) && follows(at + 2)) at += 3;
    else if (first === 0xf0 && follows(at + 1, 0x90) && follows(at + 2) && follows(at + 3)) at += 4;
    else if (first >= 0xf1 && first <= 0xf3 && follows(at + 1) && follows(at + 2) && follows(at + 3)) at += 4;
    else if (first === 0xf4 && follows(at + 1, 0x80, 0x8f) && follows(at + 2) && follows(at + 3)) at += 4;
    else return false;
  }
  return true;
}
