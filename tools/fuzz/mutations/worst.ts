import { type Draft, type Entry, entry, meant } from '../draft.ts';
import { type Random, anyOf } from '../random.ts';

/*
 * The worst that a grammar may be given: what a regular expression that goes back would take for ever over.
 */

const LONG = 60_000;

/** Values, as JSON, that are long and end wrongly. */
const worstValues: Readonly<Record<string, string>> = {
  'digits and a letter': JSON.stringify(`${'1'.repeat(LONG)}x`),
  'zeros after a point': JSON.stringify(`0.${'0'.repeat(LONG)}`),
  'zeros before a point': JSON.stringify(`${'0'.repeat(LONG)}.1`),
  points: JSON.stringify('1.'.repeat(LONG / 2)),
  exponents: JSON.stringify('1e'.repeat(LONG / 2)),
  'a long exponent': JSON.stringify(`1e${'9'.repeat(LONG)}`),
  'names of members': JSON.stringify('orderAmount1'.repeat(LONG / 12)),
  'all names of members': JSON.stringify('orderAmount1payCoinSymbolX'.repeat(4)),
  'as many names as fit': JSON.stringify('orderAmount1'.repeat(10)),
  'short names': JSON.stringify('time1522055680'.repeat(9)),
  times: JSON.stringify('time1522055680'.repeat(LONG / 14)),
  'users in a symbol': JSON.stringify(`X${'userId1'.repeat(9)}`),
  blanks: JSON.stringify(`${' '.repeat(LONG)}x`),
  'line breaks': JSON.stringify('\n'.repeat(LONG / 2)),
  'base64 and a blank': JSON.stringify(`${'A'.repeat(LONG)} `),
  'base64 of blocks': JSON.stringify('A'.repeat(343 * 160)),
  padding: JSON.stringify('='.repeat(LONG)),
  'hexadecimal and a letter': JSON.stringify(`0x${'a'.repeat(LONG)}g`),
  hexadecimal: JSON.stringify(`0x${'aB'.repeat(LONG / 2)}`),
  'commas and colons': JSON.stringify(',:'.repeat(LONG / 2)),
  backslashes: JSON.stringify('\\'.repeat(LONG / 2)),
  escapes: `"${'\\u0061'.repeat(LONG / 6)}"`,
  'surrogate pairs': JSON.stringify('😀'.repeat(LONG / 4)),
  'combining marks': JSON.stringify(`a${'\u0301'.repeat(LONG / 2)}`),
  'control characters': JSON.stringify('\u0001'.repeat(LONG / 6)),
  'zero-width joiners': JSON.stringify('\u200d'.repeat(LONG / 3)),
  brackets: '['.repeat(LONG),
  'brackets and braces': '[{"a":'.repeat(LONG / 6),
  'brackets in a text': JSON.stringify('['.repeat(LONG)),
  'a long number': '1'.repeat(LONG),
  'a long fraction': `0.${'1'.repeat(LONG)}`,
  'a long list': `[${'1,'.repeat(LONG / 2)}1]`,
  'a list of outputs': JSON.stringify(`[${'{"address_to":"x","amount":1},'.repeat(1200)}{}]`),
  'outputs that are long': JSON.stringify(
    `[{"address_to":"${'x'.repeat(LONG / 2)}","amount":"${'1'.repeat(LONG / 3)}"}]`,
  ),
  'a list of lists': JSON.stringify(`[${'[],'.repeat(LONG / 4)}[]]`),
  'names in an object': `{${Array.from({ length: 4000 }, (_, at) => `"m${at}":1`).join(',')}}`,
  'one name in an object': `{${'"m":1,'.repeat(8000)}"m":1}`,
};

/** One member with such a value, or one more. */
export function worstOf(
  random: Random,
  draft: Draft,
): { readonly label: string; readonly entries: readonly Entry[] } {
  const [label, value] = anyOf(random, Object.entries(worstValues)) ?? ['none', '1'];
  const member = anyOf(random, draft.entries);
  if (random.oneIn(10) || member === undefined) {
    return {
      label,
      entries: [...draft.entries, { name: value.startsWith('"') ? value : '"x"', value: '1' }],
    };
  }
  const others = draft.entries.filter((each) => each !== member);
  const name = random.oneIn(6)
    ? random.pick(['outputs', 'sign', 'data', 'time', 'memo'])
    : meant(member.name);
  return { label, entries: [...others.filter((each) => meant(each.name) !== name), entry(name, value)] };
}
