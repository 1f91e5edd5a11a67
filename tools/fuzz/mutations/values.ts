import { type Random, digits } from '../random.ts';

/** Numbers as JSON has them and as it does not. */
export const oddNumbers: readonly [string, ...string[]] = [
  '1e3',
  '1.0',
  '-0',
  '01',
  '+1',
  '1e400',
  '1E+2',
  '1e-2',
  '0',
  '0.0',
  '0e0',
  '0e999999999',
  '1e-999999999',
  '1e0000000000000000001',
  '100e-1',
  '-1',
  '-1.0',
  '-1e0',
  '-10e-1',
  '-2',
  'NaN',
  'Infinity',
  '-Infinity',
  '0x10',
  '1_000',
  '1,000',
  '.5',
  '5.',
  '1.2.3',
  '1e',
  '1e+',
  '--1',
  '1 ',
  ' 1',
  '\u0661',
  '\uff11',
  '1n',
  '9007199254740993',
  '0.1',
  '0.30000000000000004',
  '9'.repeat(36),
  '9'.repeat(37),
  `0.${'0'.repeat(35)}1`,
  `0.${'0'.repeat(36)}1`,
  `1.${'0'.repeat(36)}`,
  `1.${'0'.repeat(40)}`,
  `1${'0'.repeat(78)}`,
  `1${'0'.repeat(79)}`,
  `1${'0'.repeat(80)}`,
  `0.${'1'.repeat(79)}`,
  `${'0'.repeat(20)}1`,
];

const FRAGMENTS: readonly [string, ...string[]] = [
  '\\u0000',
  '\\ud800',
  '\\udc00\\ud800',
  '\\ud83d\\ude00',
  '\\uD83D\\uDE00',
  'e\u0301',
  '\u00e9',
  '\uff21',
  '\u202e',
  '\u200b',
  '\u00a0',
  '\u2028',
  '\ufeff',
  '\\ufeff',
  '\\n',
  '\\t',
  '\\r\\n',
  '\t',
  '\n',
  '\0',
  ' ',
  '\\',
  '\\x41',
  '\\u12',
  '\\u00g0',
  '\\/',
  '\\u0022',
  '",":"',
  'İ',
  'ß',
  'K',
  '\u007f',
  '\u0085',
  '😀',
  'time1522055680',
  'userId1',
  'orderAmount5',
  'payCoinSymbolX',
  'appOrderId1',
];

/** JSON of a text with something odd in it, which may make it no JSON. */
export function oddTexts(random: Random, text: string): string {
  const plain = JSON.stringify(text).slice(1, -1);
  const at = random.below(plain.length + 1);
  switch (random.below(6)) {
    case 0:
      return '""';
    case 1:
      return `"${plain.repeat(1 + random.below(40))}"`;
    case 2:
      return `"${digits(random, random.pick([9, 10, 11, 13, 64, 128, 129]))}"`;
    case 3:
      return `"${random.pick(FRAGMENTS)}"`;
    default:
      return `"${plain.slice(0, at)}${random.pick(FRAGMENTS)}${plain.slice(at)}"`;
  }
}

const VALUES: readonly [string, ...string[]] = [
  'null',
  'true',
  'false',
  '{}',
  '[]',
  '[1]',
  '["a"]',
  '{"a":1}',
  '{"a":1,"a":1}',
  '{"a":{"b":{"c":1}}}',
  '{"a":{"b":{"c":{"d":1}}}}',
  '[[[1]]]',
  '[[[[1]]]]',
  '{"__proto__":{"userId":"1"}}',
  'undefined',
  'nul',
  'True',
  'NULL',
  "'a'",
  '/**/1',
  '"x"',
  '"1"',
  '1',
  '',
];

/** Any JSON value, and some that are none. */
export function valueOf(random: Random): string {
  switch (random.below(8)) {
    case 0:
      return random.pick(oddNumbers);
    case 1:
      return `[${Array.from({ length: random.below(80) }, () => '1').join(',')}]`;
    case 2: {
      const depth = random.pick([2, 3, 4, 5, 500, 20_000]);
      return `${'['.repeat(depth)}${']'.repeat(random.oneIn(3) ? 0 : depth)}`;
    }
    default:
      return random.pick(VALUES);
  }
}
