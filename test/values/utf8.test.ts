import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NotUtf8, decodeUtf8 } from '../../src/values/utf8.ts';

function fault(bytes: Uint8Array): NotUtf8 {
  try {
    decodeUtf8(bytes);
  } catch (thrown) {
    if (thrown instanceof NotUtf8) return thrown;
    throw thrown;
  }
  throw new Error('it is UTF-8');
}

const bytesOf = (...parts: readonly (string | number)[]): Uint8Array =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))));

describe('the text of a file', () => {
  it.each([
    ['in Latin-1', bytesOf('one\ntw', 0xf6, '\n'), '0xf6', 2, 3],
    ['in Latin-1, in a place where UTF-8 would go on', bytesOf('d', 0xe9, 'mo'), '0xe9', 1, 2],
    ['in UTF-16', bytesOf(0xff, 0xfe, 'a', 0), '0xff', 1, 1],
    ['after characters of several bytes', bytesOf('\u00e4\u20ac\u{1f600}', 0x80), '0x80', 1, 5],
    ['that ends within a character', bytesOf('a\n', 0xe2, 0x82), '0xe2', 2, 1],
    ['with half a surrogate pair', bytesOf('a\r\nb', 0xed, 0xa0, 0x80), '0xed', 2, 2],
    ['with an overlong form', bytesOf(0xc0, 0x80), '0xc0', 1, 1],
  ])('%s is a fault, with the byte and its place', (_, bytes, byte, line, column) => {
    const { message, at } = fault(bytes);
    expect(message).toBe(`the byte ${byte} is not UTF-8`);
    expect(at).toEqual({ line, column });
  });

  it('is that of any other bytes, without a byte order mark at its beginning', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(decodeUtf8(Buffer.from(`\uFEFF${text}`))).toBe(text);
      }),
    );
  });

  it('is a fault wherever the wrong byte is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (before, after) => {
        const { at } = fault(bytesOf(before, 0xff, after));
        const lines = before.split('\n');
        expect(at).toEqual({ line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 });
      }),
    );
  });
});
