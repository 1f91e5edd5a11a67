import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { decodeBase64 } from '../../src/signature/scheme.ts';

describe('base64 has one spelling in each alphabet, padded or not', () => {
  it('decodes each of them', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const padded = Buffer.from(bytes).toString('base64');
        const url = Buffer.from(bytes).toString('base64url');
        for (const text of [padded, padded.replaceAll('=', ''), url, url.padEnd(padded.length, '=')]) {
          expect(decodeBase64(text)).toEqual(Buffer.from(bytes));
        }
      }),
    );
  });

  it.each([
    ['a mixed alphabet', '+-8='],
    ['stray bits', 'QR=='],
    ['stray bits without padding', 'QUJ'],
    ['too little padding', 'QQ='],
    ['too much padding', 'QUI=='],
    ['padding that nothing needs', 'QUJD===='],
    ['padding alone', '=='],
    ['padding within', 'QQ==QQ=='],
    ['one digit too many', 'QUJDR'],
    ['a blank', 'QU JD'],
    ['a line break at the end', 'QUJD\n'],
    ['a percent sign', 'QQ%3D%3D'],
    ['a digit of another alphabet', 'QUJD.'],
    ['a character beyond ASCII', 'QUJ\u0144'],
  ])('refuses %s', (_what, text) => {
    expect(decodeBase64(text)).toBeUndefined();
  });

  it('refuses every text that the rule of RFC 4648, section 3.5, does not allow', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[ABQZagwz0189+/_-]{0,9}={0,2}$/), (text) => {
        expect(decodeBase64(text) !== undefined).toBe(isSpelling(text));
      }),
      { numRuns: 1000 },
    );
  });
});

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

/** Digit by digit, with nothing of Node's own reading. */
function isSpelling(text: string): boolean {
  const [, digits = '', padding = ''] = /^([^=]*)(=*)$/.exec(text) ?? [];
  const mixed = /[-_]/.test(digits) && /[+/]/.test(digits);
  if (mixed || (padding !== '' && text.length % 4 !== 0)) return false;
  const last = ALPHABET.indexOf(digits.replaceAll('-', '+').replaceAll('_', '/').at(-1) ?? 'A');
  const unused = [1, 64, 16, 4][digits.length % 4] ?? 64;
  return digits.length % 4 !== 1 && last % unused === 0;
}
