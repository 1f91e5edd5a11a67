import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CountersignError } from '../../../src/errors.ts';
import { listFileLine, parseListFile, entriesAsWritten } from '../../../src/policy/language/list-file.ts';

const XRP = 'rHb9CJAWyB4rj91VRWn96DkukG4bwdtyTh XRP';

describe('a list file', () => {
  it.each<[string, readonly string[]]>([
    [`${XRP} 12345 # the exchange`, [`${XRP} 12345`]],
    [`${XRP} order#7`, [`${XRP} order#7`]],
    [`"${XRP} order #7" # the exchange`, [`${XRP} order #7`]],
    [`  "${XRP} order #7"\r`, [`${XRP} order #7`]],
    ['"#7"', ['#7']],
    ['"\\"quoted\\" \\u0041"', ['"quoted" A']],
    ['say "hello" # there', ['say "hello"']],
    ['"  "\n""\n#"', []],
    ['5 # left out\u2028666', ['5']],
    ['# left out\u2029666\n# left out\r666\n5', ['5']],
    ['0xAB ETH\n"0xab ETH"\n0xAB ETH', ['0xAB ETH', '0xab ETH']],
  ])('%j holds %j', (text, entries) => {
    expect(entriesAsWritten('a.txt', text)).toEqual(entries);
  });

  it('holds comparable values, sorted and each once', () => {
    expect(parseListFile('a.txt', '"0xAB ETH"\n5\n0xab ETH\n"5"\n0XAB 0Xcd')).toEqual([
      '0xab 0xcd',
      '0xab ETH',
      '5',
    ]);
  });

  it.each([
    ['"half', 'the second quotation mark is missing'],
    ['"half\\"', 'the second quotation mark is missing'],
    ['"one" two', 'something follows'],
    ['"one"# two', 'something follows'],
    ['"\\x"', 'JSON'],
    ['"a\tb"', 'JSON'],
  ])('with the line %j is refused, with the cure', (line, said) => {
    const read = (): unknown => parseListFile('a.txt', `1\n${line}\n`);
    expect(read).toThrow(CountersignError);
    expect(read).toThrow(/a\.txt:2: the line begins with a quotation mark.*; write a value/);
    expect(read).toThrow(said);
  });

  it('has a fault for each line that can not be read, up to ten', () => {
    const read = (lines: readonly string[]): readonly string[] => {
      try {
        parseListFile('a.txt', lines.join('\n'));
      } catch (thrown) {
        return String(thrown).split('\n');
      }
      throw new Error('nothing was thrown');
    };
    const found = read(['"half', '1', '"one" two', '', '"other']);
    expect(found.map((line) => /a\.txt:\d+/.exec(line)?.[0])).toEqual(['a.txt:1', 'a.txt:3', 'a.txt:5']);
    expect(read(Array.from({ length: 50 }, () => '"half'))).toHaveLength(10);
  });

  it('gives back whatever value it is given', () => {
    const value = fc
      .oneof(fc.string({ minLength: 1 }), fc.string({ unit: fc.constantFrom('#', '"', ' ', 'a', '\\') }))
      .map((text) => text.replaceAll('\uFEFF', '').trim())
      .filter((text) => text !== '' && !/\p{Cc}/u.test(text));
    fc.assert(
      fc.property(value, (text) => {
        expect(entriesAsWritten('a.txt', `${listFileLine(text)} # 2025-06-15`)).toEqual([text]);
      }),
      { numRuns: 500 },
    );
  });
});
