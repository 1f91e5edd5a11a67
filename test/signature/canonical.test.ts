import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { byCodePoint, canonicalString } from '../../src/signature/canonical.ts';
import { membersOf } from './sources.ts';

const textOf = (body: unknown, emptyValues: 'keep' | 'skip' = 'keep'): unknown => {
  const canonical = canonicalString(membersOf(body), emptyValues);
  return canonical.ok ? canonical.text : canonical.code;
};

describe('the canonical string', () => {
  it('sorts by name and leaves out sign and null', () => {
    expect(textOf({ b: '2', sign: 'x', a: '1', c: null })).toBe('a1b2');
  });

  it('sorts upper case before lower case', () => {
    expect(textOf({ a: '1', B: '2', 'a-': '3', aB: '4' })).toBe('B2a1a-3aB4');
  });

  it('has numbers and booleans as the body writes them', () => {
    expect(textOf('{"n":1.50,"e":1E+2,"t":true,"big":123456789012345678901}')).toBe(
      'big123456789012345678901e1E+2n1.50ttrue',
    );
  });

  it('has the text null of a string, unlike a null', () => {
    expect(textOf({ a: 'null', b: null })).toBe('anull');
  });

  it('keeps the name of an empty value, or skips it', () => {
    expect(textOf({ a: '', b: '2' })).toBe('ab2');
    expect(textOf({ a: '', b: '2' }, 'skip')).toBe('b2');
  });

  it('has the character of an escape', () => {
    expect(textOf('{"\\u0061":"\\n\\u20ac"}')).toBe('a\n€');
  });

  it('refuses objects and arrays', () => {
    expect(textOf({ a: {} })).toBe('MEMBER_INVALID');
    expect(textOf({ a: [] })).toBe('MEMBER_INVALID');
  });

  it('sorts names by code point, where UTF-16 has another order', () => {
    expect(textOf({ '😀': '2', '～': '1' })).toBe('～1😀2');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
        expect(Math.sign(byCodePoint(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });
});
