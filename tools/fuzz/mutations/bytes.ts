import { type Random, anyOf, bytesOf } from '../random.ts';
import type { Past } from './members.ts';

/*
 * Mutations of a body's bytes, which know nothing of JSON but where its tokens are.
 */

type Mutation = (random: Random, body: Buffer, past: Past) => Buffer;

const at = (random: Random, body: Buffer): number => random.below(body.length + 1);

const inserted = (body: Buffer, from: number, bytes: Uint8Array, over = 0): Buffer =>
  Buffer.concat([body.subarray(0, from), bytes, body.subarray(from + over)]);

const TOKENS = new Set(Buffer.from('{}[]:,"'));

/** A place beside a token, where a blank would be in order. */
function between(random: Random, body: Buffer): number {
  const places = [...body.keys()].filter((index) => TOKENS.has(body[index] ?? 0));
  return (anyOf(random, places) ?? 0) + random.below(2);
}

const BLANKS: readonly [string, ...string[]] = [' ', '\t', '\r', '\n', ' \r\n\t '];
const NO_BLANKS: readonly [string, ...string[]] = [
  '\u000b',
  '\u000c',
  '\u0085',
  '\u00a0',
  '\u2028',
  '\u3000',
  '\ufeff',
  '\0',
  '/**/',
  '//\n',
  ',',
];

const NOT_UTF8: readonly [readonly number[], ...(readonly number[])[]] = [
  [0xc0, 0x80],
  [0xc1, 0xa1],
  [0xe0, 0x81, 0xa1],
  [0xed, 0xa0, 0x80],
  [0xf0, 0x80, 0x81, 0xa1],
  [0xf4, 0x90, 0x80, 0x80],
  [0xf8, 0x88, 0x80, 0x80, 0x80],
  [0x80],
  [0xff],
  [0xfe, 0xff],
  [0xe2, 0x82],
  [0xef, 0xbb],
];

export const byteMutations: Readonly<Record<string, Mutation>> = {
  'a bit flipped': (random, body) => {
    const copy = Buffer.from(body);
    const index = random.below(body.length);
    copy[index] = (copy[index] ?? 0) ^ (1 << random.below(8));
    return copy;
  },
  'a byte changed': (random, body) => inserted(body, random.below(body.length), bytesOf(random, 1), 1),
  'bytes inserted': (random, body) => inserted(body, at(random, body), bytesOf(random, 1 + random.below(4))),
  'bytes dropped': (random, body) => inserted(body, at(random, body), Buffer.alloc(0), 1 + random.below(8)),
  truncated: (random, body) => body.subarray(0, at(random, body)),
  'something after it': (random, body) =>
    Buffer.concat([body, Buffer.from(random.pick(['}', '\0', '\n', '  ', ',', 'x', '{}', body.toString()]))]),
  'something before it': (random, body) =>
    Buffer.concat([
      Buffer.from(random.pick(['\ufeff', ' ', '\n', '\0', '[', '{', ")]}',\n", '\u00a0'])),
      body,
    ]),
  'a piece twice': (random, body) => {
    const [one, other] = [at(random, body), at(random, body)].toSorted((a, b) => a - b);
    return inserted(body, one ?? 0, body.subarray(one, other));
  },
  'spliced with another': (random, body, { bodies }) => {
    const other = anyOf(random, bodies) ?? body;
    const from = at(random, body);
    return Buffer.concat([
      body.subarray(0, from),
      other.subarray(random.oneIn(2) ? from : random.below(other.length + 1)),
    ]);
  },
  'spliced at a comma': (random, body, { bodies }) => {
    const [one, other] = [
      body.toString('latin1'),
      Buffer.from(anyOf(random, bodies) ?? body).toString('latin1'),
    ];
    const before = one.split(',');
    const after = other.split(',');
    const joined = [
      ...before.slice(0, 1 + random.below(before.length)),
      ...after.slice(1 + random.below(after.length)),
    ].join(',');
    return Buffer.from(joined.endsWith('}') ? joined : `${joined}}`, 'latin1');
  },
  'blanks between': (random, body) => inserted(body, between(random, body), Buffer.from(random.pick(BLANKS))),
  'what is no blank between': (random, body) =>
    inserted(body, between(random, body), Buffer.from(random.pick(NO_BLANKS))),
  'what is no UTF-8': (random, body) => inserted(body, at(random, body), Buffer.from(random.pick(NOT_UTF8))),
  'a letter overlong': (random, body) => {
    const index = random.below(body.length);
    const code = body[index] ?? 0;
    return inserted(body, index, Buffer.from([0xc0 | (code >> 6), 0x80 | (code & 0x3f)]), 1);
  },
  'UTF-16': (_random, body) => Buffer.from(body.toString('utf8'), 'utf16le'),
  'an object around it': (random, body) =>
    Buffer.from(
      random.pick([`{"body":${body.toString()}}`, `[${body.toString()}]`, JSON.stringify(body.toString())]),
    ),
  'up to 64 KiB': (random, body) =>
    Buffer.concat([body, Buffer.alloc(Math.max(0, 65_534 + random.below(5) - body.length), 0x20)]),
  'chance alone': (random) => bytesOf(random, random.below(300)),
};
