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

describe('the examples of RFC 8785', () => {
  it('section 3.2.2: numbers, strings and literals', () => {
    const value: Json = JSON.parse(String.raw`{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }`);
    const text = String.raw`{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`;
    expect(canonicalJson(value)).toBe(text);
    // Section 3.2.4.
    expect(Buffer.from(canonicalJson(value)).toString('hex')).toBe(
      '7b226c69746572616c73223a5b6e756c6c2c747275652c66616c73655d2c226e756d62657273223a5b333333333333' +
        '3333332e333333333333332c31652b33302c342e352c302e3030322c31652d32375d2c22737472696e67223a22e282ac245c' +
        '75303030665c6e4127425c225c5c5c5c5c222f227d',
    );
  });

  it('section 3.2.3: names in the order of their UTF-16 code units', () => {
    const value: Json = JSON.parse(String.raw`{
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }`);
    const order = Object.values(JSON.parse(canonicalJson(value)));
    expect(canonicalJson(value)).toBe(
      '{"\\r":"Carriage Return","1":"One","\u0080":"Control","ö":"Latin Small Letter O With Diaeresis",' +
        '"€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    );
    expect(order).toHaveLength(7);
  });

  it.each([
    ['0000000000000000', '0'],
    ['8000000000000000', '0'],
    ['0000000000000001', '5e-324'],
    ['8000000000000001', '-5e-324'],
    ['7fefffffffffffff', '1.7976931348623157e+308'],
    ['ffefffffffffffff', '-1.7976931348623157e+308'],
    ['4340000000000000', '9007199254740992'],
    ['c340000000000000', '-9007199254740992'],
    ['4430000000000000', '295147905179352830000'],
    ['44b52d02c7e14af5', '9.999999999999997e+22'],
    ['44b52d02c7e14af6', '1e+23'],
    ['44b52d02c7e14af7', '1.0000000000000001e+23'],
    ['444b1ae4d6e2ef4e', '999999999999999700000'],
    ['444b1ae4d6e2ef4f', '999999999999999900000'],
    ['444b1ae4d6e2ef50', '1e+21'],
    ['3eb0c6f7a0b5ed8c', '9.999999999999997e-7'],
    ['3eb0c6f7a0b5ed8d', '0.000001'],
    ['41b3de4355555553', '333333333.3333332'],
    ['41b3de4355555554', '333333333.33333325'],
    ['41b3de4355555555', '333333333.3333333'],
    ['41b3de4355555556', '333333333.3333334'],
    ['41b3de4355555557', '333333333.33333343'],
    ['becbf647612f3696', '-0.0000033333333333333333'],
    ['43143ff3c1cb0959', '1424953923781206.2'],
  ])('appendix B: the double %s is %s', (bits, text) => {
    expect(canonicalJson(Buffer.from(bits, 'hex').readDoubleBE())).toBe(text);
  });

  it.each([Number.NaN, Infinity, -Infinity])('appendix B: %d is an error', (value) => {
    expect(() => canonicalJson({ a: [value] })).toThrow(RangeError);
  });

  it('an unpaired surrogate, which they refuse, keeps its escape: digests of such policies stay valid', () => {
    expect(canonicalJson({ '\udead': '\ud800x' })).toBe(String.raw`{"\udead":"\ud800x"}`);
  });
});

it('a SHA-256 is that of the text in UTF-8', () => {
  expect(sha256Hex('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
