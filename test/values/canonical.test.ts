import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Json, canonicalJson, sha256Hex } from '../../src/values/canonical.ts';

/** The same members, written in the other order. */
function reversed(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return (value as readonly Json[]).map(reversed);
  const entries = Object.entries(value).map(([name, member]): [string, Json] => [
    name,
    reversed(member ?? null),
  ]);
  return Object.fromEntries(entries.toReversed());
}

describe('canonical JSON', () => {
  it.each<[string, Json, string]>([
    [
      'names in the order of code units',
      { b: '1', a: '2', B: '3', '10': '4', '9': '5' },
      '{"10":"4","9":"5","B":"3","a":"2","b":"1"}',
    ],
    [
      'names above the first plane by their surrogates',
      { '\uffff': 1, '\u{10000}': 2 },
      '{"𐀀":2,"\uffff":1}',
    ],
    [
      'no member that is undefined, also the first',
      { a: undefined, b: 'x', c: undefined, d: null },
      '{"b":"x","d":null}',
    ],
    ['an empty name, and an empty text', { '': '' }, '{"":""}'],
    ['quotes in names as in texts', { 'a"': '\\' }, '{"a\\"":"\\\\"}'],
    ['nothing in nothing', { a: {}, b: [] }, '{"a":{},"b":[]}'],
    ['lists in their own order', { a: ['2', { d: 1, c: true }, '1'] }, '{"a":["2",{"c":true,"d":1},"1"]}'],
  ])('has %s', (_what, value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it('has a member named __proto__, like any other', () => {
    const value: Json = JSON.parse('{"b":"2","__proto__":{"x":"1"}}');
    expect(canonicalJson(value)).toBe('{"__proto__":{"x":"1"},"b":"2"}');
  });

  it('is one text for equal values, and reads as what was written', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (any) => {
        const value: Json = JSON.parse(JSON.stringify(any));
        const text = canonicalJson(value);
        expect(canonicalJson(reversed(value))).toBe(text);
        expect(JSON.parse(text)).toEqual(value);
      }),
    );
  });
});

it('a SHA-256 is that of the text in UTF-8', () => {
  expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
