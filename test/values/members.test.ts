import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BODY_BOUNDS, type Decoded, decodeMembers, readObjects } from '../../src/values/members.ts';

const decode = (text: string): Decoded => decodeMembers(new TextEncoder().encode(text));

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function textOf(body: string, name: string): string | undefined {
  const decoded = decode(body);
  if (!decoded.ok) throw new Error(decoded.because);
  return decoded.members.get(name)?.text;
}

describe('decodeMembers keeps every digit', () => {
  it.each([
    '167230.4978',
    '1.50',
    '9007199254740993',
    '-1',
    '0',
    '1E-8',
    '1e400',
    '-0',
    `${'9'.repeat(36)}.${'1'.repeat(36)}`,
  ])('keeps the number %s as it is written', (number) => {
    expect(textOf(`{"amount": ${number}}`, 'amount')).toBe(number);
  });

  it('keeps a nested value as its raw text', () => {
    expect(textOf('{"a":{"b":[1.0, {"c":null}]} }', 'a')).toBe('{"b":[1.0, {"c":null}]}');
  });

  it('resolves escapes in names and values', () => {
    expect(textOf('{"\\u0061ppKey":"x\\u0041\\n"}', 'appKey')).toBe('xA\n');
  });

  it('takes every blank of JSON between any two parts, and none of them for content', () => {
    const blank = ' \t\n\r';
    const parts = ['', '{', '"a"', ':', '"x "', ',', '"b"', ':', '-1.50', '}', ''];
    const decoded = decode(parts.join(blank));
    expect(decoded.ok && [...decoded.members]).toEqual([
      ['a', { kind: 'string', text: 'x ' }],
      ['b', { kind: 'number', text: '-1.50' }],
    ]);
  });

  it('reads long strings, with an escape at every character or with none', () => {
    expect(textOf(`{"a":"${'\\n'.repeat(30_000)}"}`, 'a')).toBe('\n'.repeat(30_000));
    expect(textOf(`{"a":"${'x'.repeat(60_000)}"}`, 'a')).toBe('x'.repeat(60_000));
    expect(textOf(`{"a":"${'x\\\\\\"'.repeat(10_000)}"}`, 'a')).toBe('x\\"'.repeat(10_000));
  });

  it('treats __proto__ as a name like any other', () => {
    const decoded = decode('{"__proto__":{"polluted":true},"constructor":"x"}');
    expect(decoded.ok && [...decoded.members.keys()]).toEqual(['__proto__', 'constructor']);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

describe('decodeMembers refuses what is not one plain JSON object', () => {
  it.each([
    ['', 'NOT_AN_OBJECT'],
    ['null', 'NOT_AN_OBJECT'],
    ['"text"', 'NOT_AN_OBJECT'],
    ['[{"a":1}]', 'NOT_AN_OBJECT'],
    ['\ufeff{"a":1}', 'NOT_AN_OBJECT'],
    ['{', 'NOT_JSON'],
    ['{"a"}', 'NOT_JSON'],
    ['{"a":1,}', 'NOT_JSON'],
    ['{"a":1}{"b":2}', 'NOT_JSON'],
    ['{"a":1} x', 'NOT_JSON'],
    ["{'a':1}", 'NOT_JSON'],
    ['{a:1}', 'NOT_JSON'],
    ['{"a":01}', 'NOT_JSON'],
    ['{"a":+1}', 'NOT_JSON'],
    ['{"a":.5}', 'NOT_JSON'],
    ['{"a":1.}', 'NOT_JSON'],
    ['{"a":NaN}', 'NOT_JSON'],
    ['{"a":Infinity}', 'NOT_JSON'],
    ['{"a":"\t"}', 'NOT_JSON'],
    ['{"a":"\\x41"}', 'NOT_JSON'],
    ['{"a":tru}', 'NOT_JSON'],
    ['{"a":1 "b":2}', 'NOT_JSON'],
    ['{"a":1}\u00a0', 'NOT_JSON'],
    ['{"a":1/*x*/}', 'NOT_JSON'],
    ['{"appKey":"a","\\u0061ppKey":"b"}', 'DUPLICATE_MEMBER'],
    ['{"a":{"b":1,"b":2}}', 'DUPLICATE_MEMBER'],
    ['{"a":"\\ud800"}', 'NOT_UTF8'],
    ['{"a":[[[[1]]]]}', 'TOO_DEEP'],
    [`{"a":${'['.repeat(60_000)}`, 'TOO_DEEP'],
    [`{"a":${'1'.repeat(81)}}`, 'NUMBER_TOO_LONG'],
  ])('%j is %s', (body, code) => {
    expect(decode(body)).toMatchObject({ ok: false, code });
  });

  it.each(['\v', '\f', '\u00a0', '\u2028', '\ufeff', '\0'])('takes %j for no blank', (character) => {
    for (const body of [
      `{${character}"a":1}`,
      `{"a"${character}:1}`,
      `{"a":${character}1}`,
      `{"a":1${character}}`,
    ]) {
      expect(decode(body)).toMatchObject({ code: 'NOT_JSON' });
    }
  });

  it.each([
    ['{"a" 1}', "expected ':' at character 5"],
    ['{ "a":"b', 'expected a string at character 6'],
    ['{"a":"\\u12g4"}', 'expected a string at character 5'],
    ['{"a":\n-}', 'expected a value at character 6'],
    ['{"a":1}\t\r\n]', 'expected the end at character 10'],
    [`{"a":"${'x'.repeat(60_000)}`, 'expected a string at character 5'],
  ])('says where %j is wrong', (body, because) => {
    expect(decode(body)).toMatchObject({ code: 'NOT_JSON', because });
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(decodeMembers(Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x7d]))).toMatchObject({
      code: 'NOT_UTF8',
    });
    expect(decodeMembers(Uint8Array.from([0x7b, 0x22, 0xc0, 0x80, 0x22, 0x7d]))).toMatchObject({
      code: 'NOT_UTF8',
    });
  });

  it('bounds bytes and members, nested ones included', () => {
    expect(decode(`{"a":"${'x'.repeat(BODY_BOUNDS.bytes)}"}`)).toMatchObject({ code: 'BODY_TOO_LARGE' });
    const many = (count: number): string =>
      `{${Array.from({ length: count }, (_, i) => `"m${i}":1`).join(',')}}`;
    expect(decode(many(64)).ok).toBe(true);
    expect(decode(many(65))).toMatchObject({ code: 'TOO_MANY_MEMBERS' });
    expect(decode(`{"a":[${Array(64).fill('1').join(',')}]}`)).toMatchObject({ code: 'TOO_MANY_MEMBERS' });
  });
});

describe('decodeMembers against JSON.parse', () => {
  it('accepts the same texts of flat objects, with the same meaning', () => {
    const value = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    );
    const name = fc.string({ unit: 'grapheme', maxLength: 8 });
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.tuple(name, value), { selector: ([n]) => n, maxLength: 20 }),
        fc.constantFrom(0, 2),
        (entries, indent) => {
          const text = `{${entries.map(([n, v]) => `${' '.repeat(indent)}${JSON.stringify(n)}:${JSON.stringify(v)}`).join(',\n')}}`;
          const decoded = decode(text);
          const parsed = new Map(Object.entries(JSON.parse(text) as Record<string, unknown>));
          expect(decoded.ok).toBe(true);
          if (!decoded.ok) return;
          for (const [n, member] of decoded.members) {
            const meant = parsed.get(n);
            expect(member.kind === 'string' ? member.text : JSON.parse(member.text)).toEqual(meant);
          }
          expect(decoded.members.size).toBe(parsed.size);
        },
      ),
    );
  });

  it('refuses every text that JSON.parse refuses', () => {
    const base = '{"appKey":"k","orderAmount":1.50,"list":[true,null],"s":"\\u0041"}';
    const wrongly = fc.check(
      fc.property(
        fc.nat(base.length),
        fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', '0', '-', 'e', ' ', 'x'),
        (at, character) => {
          const text = base.slice(0, at) + character + base.slice(at + 1);
          fc.pre(!isJson(text));
          return !decode(text).ok;
        },
      ),
      { numRuns: 500 },
    );
    expect(wrongly.counterexample).toBeNull();
    expect(wrongly.failed).toBe(false);
  });
});

describe('readObjects', () => {
  const bounds = { bytes: 65_536, members: 4096, depth: 4, numberCharacters: 80 };
  it('reads an array of objects, digits and all', () => {
    const read = readObjects('[{"address_to":"a","amount":2.10},{"amount":"3"}]', bounds);
    expect(read.ok && read.objects.map((each) => each.get('amount')?.text)).toEqual(['2.10', '3']);
  });

  it.each(['{}', '[1]', '[{}', '[{},]', '[{}] x', '', 'null'])('refuses %j', (text) => {
    expect(readObjects(text, bounds)).toMatchObject({ ok: false, code: 'NOT_JSON' });
  });
});
