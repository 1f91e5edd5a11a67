import type { Position } from './yaml.ts';

/** Bytes that are not UTF-8, with the place of the first such byte. */
export class NotUtf8 extends Error {
  readonly at: Position;
  readonly fix = 'save the file as UTF-8';

  constructor(bytes: Uint8Array) {
    const valid = bytes.subarray(0, validLength(bytes));
    const before = new TextDecoder('utf-8', { ignoreBOM: true }).decode(valid, { stream: true });
    const byte = bytes[Buffer.byteLength(before)] ?? 0;
    super(`the byte 0x${byte.toString(16).padStart(2, '0')} is not UTF-8`);
    this.at = { line: before.split('\n').length, column: before.length - before.lastIndexOf('\n') };
  }
}

/** The text of a file, without the byte order mark at its beginning. Throws NotUtf8. */
export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new NotUtf8(bytes);
  }
}

/** The length of the longest beginning that some further bytes could complete to UTF-8. */
function validLength(bytes: Uint8Array): number {
  let [valid, invalid] = [0, bytes.length + 1];
  while (invalid - valid > 1) {
    const middle = Math.floor((valid + invalid) / 2);
    if (isBeginning(bytes.subarray(0, middle))) valid = middle;
    else invalid = middle;
  }
  return valid;
}

function isBeginning(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
