import { type Entry, entry, meant } from '../draft.ts';
import { type Random, anyOf, shuffled } from '../random.ts';
import { oddNumbers, oddTexts, valueOf } from './values.ts';

/*
 * Mutations of a callback's members, before or after it is signed.
 */

/** What a mutation may use beside the members: those of callbacks that went before. */
export interface Past {
  readonly entries: readonly (readonly Entry[])[];
  readonly bodies: readonly Uint8Array[];
}

type Mutation = (random: Random, entries: readonly Entry[], past: Past) => readonly Entry[];

const replaced = (entries: readonly Entry[], at: number, by: readonly Entry[]): readonly Entry[] =>
  entries.flatMap((each, index) => (index === at ? by : [each]));

/** One member, changed into some. */
const ofOne =
  (change: (random: Random, member: Entry, past: Past) => readonly Entry[]): Mutation =>
  (random, entries, past) => {
    const at = random.below(entries.length);
    const member = entries[at];
    return member === undefined ? entries : replaced(entries, at, change(random, member, past));
  };

const valued = (change: (random: Random, value: string, past: Past, name: string) => string): Mutation =>
  ofOne((random, { name, value }, past) => [{ name, value: change(random, value, past, name) }]);

const named = (change: (random: Random, name: string) => string): Mutation =>
  ofOne((random, { name, value }) => [{ name: change(random, meant(name)), value }]);

/** JSON of a text with some of its characters escaped. */
function escaped(random: Random, text: string): string {
  const letters = Array.from(text, (letter) => {
    const json = JSON.stringify(letter).slice(1, -1);
    if (!random.oneIn(3) || letter.length > 1) return json;
    const code = letter.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${random.oneIn(2) ? code.toUpperCase() : code}`;
  });
  return `"${letters.join('')}"`;
}

function misspelt(random: Random, name: string): string {
  const other = random.pick([
    name.toLowerCase(),
    name.toUpperCase(),
    `${name} `,
    `${name}\0`,
    ` ${name}`,
    name.slice(1),
    `${name}s`,
    name.replace('_', '-'),
    name.replace(/[a-z]/, (letter) => String.fromCodePoint((letter.codePointAt(0) ?? 0) + 0xfee0)),
    name.replace('a', 'а'),
    `${name}\u0301`,
    '',
    '__proto__',
    'constructor',
    'sign',
    'time',
  ]);
  return JSON.stringify(other);
}

const STRANGERS = [
  'memo',
  '__proto__',
  'constructor',
  'toString',
  'note',
  '',
  'zone',
  'appKey2',
  'sign',
  'Sign',
  'data',
  'app_id',
];

/** Members that only one of the co-signer's callbacks has. */
const KIND_MARKS = ['transfer_id', 'withdraw_id', 'trans_id', 'main_chain_symbol', 'input_data'];

const outputs = (random: Random, value: string): string => {
  const list = meant(value);
  const items = list.startsWith('[') ? list.slice(1, -1) : '';
  return JSON.stringify(
    random.pick([
      `[${items},${items}]`,
      `[${items}`,
      `[${items},]`,
      `{"0":${items}}`,
      `[${items}] `,
      `\ufeff[${items}]`,
      `[[${items}]]`,
      '[]',
      '[{}]',
      '[null]',
      `[${items.replace('amount', 'Amount')}]`,
      `[${items.replace('"amount"', '"amount":"1","amount"')}]`,
      `[${items.replace('}', ',"extra":[[1]]}')}]`,
      `[${items},{"address_to":"x","amount":"-1"}]`,
      `[${items},{"address_to":"x","amount":"0"}]`,
      `[${Array.from({ length: 1 + random.below(2000) }, () => items).join(',')}]`,
    ]),
  );
};

/** Every mutation by its name; those that mean nothing are there so that a wrong FAILURE is found too. */
export const memberMutations: Readonly<Record<string, Mutation>> = {
  'another order': (random, entries) => shuffled(random, entries),
  'escapes in a name': named(escaped),
  'escapes in a value': valued((random, value) =>
    value.startsWith('"') ? escaped(random, meant(value)) : value,
  ),
  'a member renamed': named(misspelt),
  'a member twice': ofOne((random, { name, value }) => [
    { name, value },
    {
      name: random.oneIn(2) ? name : escaped(random, meant(name)),
      value: random.oneIn(2) ? value : valueOf(random),
    },
  ]),
  'a member dropped': ofOne(() => []),
  'a member added': (random, entries) => [
    ...entries,
    entry(random.pick(['x', ...STRANGERS]), valueOf(random)),
  ],
  'a null added': (random, entries) => [
    ...entries,
    entry(random.pick(['x', ...KIND_MARKS, ...STRANGERS]), 'null'),
  ],
  'a number in an odd form': valued((random) => random.pick(oddNumbers)),
  'a text in an odd form': valued((random, value) => oddTexts(random, meant(value))),
  'an odd number as a text': valued((random) => JSON.stringify(random.pick(oddNumbers))),
  'text for number, number for text': valued((_random, value) =>
    value.startsWith('"') ? meant(value) : JSON.stringify(value),
  ),
  'an odd value': valued(valueOf),
  'values exchanged': (random, entries) => {
    const [one, other] = [random.below(entries.length), random.below(entries.length)];
    const [a, b] = [entries[one], entries[other]];
    if (a === undefined || b === undefined) return entries;
    return entries.map(({ name, value }, at) => ({
      name,
      value: at === one ? b.value : at === other ? a.value : value,
    }));
  },
  'the value of another callback': valued((random, value, { entries }, name) => {
    const other = anyOf(random, entries)?.find((each) => each.name === name);
    return other?.value ?? value;
  }),
  'members of another callback': (random, entries, past) => [
    ...entries.slice(0, random.below(entries.length + 1)),
    ...(anyOf(random, past.entries) ?? []).slice(random.below(6)),
  ],
  'many members': (random, entries) => [
    ...entries,
    ...Array.from({ length: 50 + random.below(20) }, (_, at) => entry(`m${at}`, '1')),
  ],
  'odd outputs': (random, entries) => {
    const own = entries.find(({ name }) => name === '"outputs"');
    const rest = entries.filter((each) => each !== own);
    return [...rest, entry('outputs', outputs(random, own?.value ?? '"[]"'))];
  },
  'hexadecimal in another case': valued((random, value) =>
    /^"0x/i.test(value)
      ? `"${random.oneIn(4) ? '0X' : '0x'}${random.oneIn(2) ? value.slice(3, -1).toUpperCase() : value.slice(3, -1).toLowerCase()}"`
      : value,
  ),
  'another type': (random, entries) =>
    entries.map((each) =>
      each.name === '"type"'
        ? {
            ...each,
            value: random.pick([
              '"sign_start"',
              '"sign_prepare"',
              '"sign_success"',
              '"verify_public_hash"',
              '"SIGN_START"',
              '"sign_start "',
              '["sign_start"]',
              'null',
            ]),
          }
        : each,
    ),
  'an amount about the limit': (random, entries) =>
    entries.map((each) => (/amount/i.test(each.name) ? { ...each, value: aboutLimit(random) } : each)),
};

function aboutLimit(random: Random): string {
  const limit = random.pick(['1000', '10', '5.5']);
  const amount = random.pick([
    limit,
    limit.includes('.') ? `${limit}000` : `${limit}.0`,
    `${limit}${limit.includes('.') ? '' : '.'}${'0'.repeat(30)}1`,
    `${limit}${limit.includes('.') ? '' : '.'}${'0'.repeat(34)}1`,
    `${limit}1`,
    `${limit.slice(0, -1)}4.${'9'.repeat(35)}`,
    `${limit}e0`,
    `${limit}e1`,
    `${limit}E-1`,
    `0${limit}`,
    `-${limit}`,
  ]);
  return random.oneIn(2) ? amount : JSON.stringify(amount);
}
