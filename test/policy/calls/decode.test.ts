import fc from 'fast-check';
import { decodeAbiParameters, encodeAbiParameters, parseAbiParameters } from 'viem/utils';
import { describe, expect, it } from 'vitest';
import { decodeArguments } from '../../../src/policy/calls/decode.ts';
import { type AbiParameter, type Value, formatTypes, readParameters } from '../../../src/policy/calls/abi.ts';
import { tablesOf, string } from '../../cases.ts';

const SHAPES = [
  'address a',
  'uint8 a, int16 b, bool c, bytes3 d, uint256 e',
  'bytes a, string b',
  'uint256[] a, address b',
  '(address x, uint256 y)[] a',
  '(bytes x, (bool p, string q) y)[2] a, uint8[3] b',
  'bytes[] a, bytes[][] b',
  'uint48[2][] a, string[2] b, int256 c',
  '((address token, uint160 amount, uint48 expiration, uint48 nonce) details, address spender, uint256 deadline) a, bytes b',
];

const inputsOf = (shape: string): readonly AbiParameter[] => {
  const text: string = shape;
  return parseAbiParameters(text);
};

/** Any value of a type, as viem takes it. */
function valueOf({ type, components = [] }: AbiParameter): fc.Arbitrary<unknown> {
  const array = /^(.+)\[(\d*)\]$/.exec(type);
  if (array !== null) {
    const item = valueOf({ type: array[1] ?? '', components });
    const length =
      array[2] === '' ? { maxLength: 3 } : { minLength: Number(array[2]), maxLength: Number(array[2]) };
    return fc.array(item, length);
  }
  const bytes = (length: number, max = length): fc.Arbitrary<string> =>
    fc
      .uint8Array({ minLength: length, maxLength: max })
      .map((each) => `0x${Buffer.from(each).toString('hex')}`);
  if (type === 'tuple') return fc.tuple(...components.map(valueOf));
  if (type === 'address') return bytes(20);
  if (type === 'bool') return fc.boolean();
  if (type === 'string') return fc.string({ unit: 'binary', maxLength: 40 });
  if (type === 'bytes') return bytes(0, 70);
  if (type.startsWith('bytes')) return bytes(Number(type.slice(5)));
  const bits = Number(/\d+$/.exec(type)?.[0]);
  return type.startsWith('u')
    ? fc.bigInt({ min: 0n, max: 2n ** BigInt(bits) - 1n })
    : fc.bigInt({ min: -(2n ** BigInt(bits - 1)), max: 2n ** BigInt(bits - 1) - 1n });
}

const sample = fc.oneof(
  ...SHAPES.map((shape) => {
    const inputs = inputsOf(shape);
    return fc.tuple(fc.constant(inputs), fc.tuple(...inputs.map(valueOf)));
  }),
);

describe('call data is decoded', () => {
  it('to exactly what was encoded, by a number of reads that the data bounds', () => {
    fc.assert(
      fc.property(sample, ([inputs, values]) => {
        const hex = encodeAbiParameters(inputs, values).slice(2);
        const decoded = decodeArguments(readParameters(inputs), hex);
        expect(decoded).toEqual({ ok: true, values, words: hex.length / 64, trailing: '' });
      }),
    );
  });

  it('if and only if encoding the result again gives the same bytes', () => {
    fc.assert(
      fc.property(sample, fc.nat(), fc.integer({ min: 1, max: 255 }), ([inputs, values], at, flip) => {
        const bytes = Buffer.from(encodeAbiParameters(inputs, values).slice(2), 'hex');
        const place = at % bytes.length;
        bytes[place] = (bytes[place] ?? 0) ^ flip;
        const hex = bytes.toString('hex');
        const decoded = decodeArguments(readParameters(inputs), hex);
        const same = decoded.ok
          ? encodeAbiParameters(inputs, decoded.values) === `0x${hex}`
          : !isCanonicalToViem(inputs, hex);
        expect({ same, bounded: decoded.words <= hex.length / 64 }).toEqual({ same: true, bounded: true });
      }),
      { numRuns: 300 },
    );
  });

  it('never from bytes at random, however they are shaped, and never by a throw', () => {
    const some = fc.uint8Array({ maxLength: 400 });
    fc.assert(
      fc.property(fc.constantFrom(...SHAPES), some, (shape, bytes) => {
        const inputs = inputsOf(shape);
        const hex = Buffer.from(bytes).toString('hex');
        const decoded = decodeArguments(readParameters(inputs), hex);
        expect(!decoded.ok || encodeAbiParameters(inputs, decoded.values) === `0x${hex}`).toBe(true);
      }),
    );
  });
});

/**
 * Whether viem reads it and writes the same bytes again. Its texts lose what is no UTF-8, so they are never
 * the same then.
 */
function isCanonicalToViem(inputs: readonly AbiParameter[], hex: string): boolean {
  try {
    return encodeAbiParameters(inputs, decodeAbiParameters(inputs, `0x${hex}`)) === `0x${hex}`;
  } catch {
    return false;
  }
}

const word = (value: bigint | number): string => BigInt(value).toString(16).padStart(64, '0');
const words = (...values: readonly (bigint | number)[]): string => values.map(word).join('');

const rowsOf = tablesOf(new URL('cases/decode.yaml', import.meta.url));

describe('hostile data costs no more reads than it has words', () => {
  it.each(rowsOf('hostile', string, string, string, string))('%s', (_, shape, hex, because) => {
    const decoded = decodeArguments(readParameters(shape === '' ? [] : inputsOf(shape)), hex);
    expect(decoded).toMatchObject({ ok: false, because });
    expect(decoded.words).toBeLessThanOrEqual(Math.floor(hex.length / 64));
  });

  it('a whole callback of it as well', () => {
    const bomb = words(0x20, 1000) + word(0x20).repeat(1020);
    const decoded = decodeArguments(readParameters(inputsOf('bytes[][][] a')), bomb);
    expect(decoded.ok).toBe(false);
    expect(decoded.words).toBeLessThan(10);
    const list: readonly Value[] = Array.from({ length: 1000 }, () => 1n);
    const honest = decodeArguments(
      readParameters(inputsOf('uint256[] a')),
      words(0x20, 1000) + word(1).repeat(1000),
    );
    expect(honest).toEqual({ ok: true, values: [list], words: 1002, trailing: '' });
  });
});

/** A value in so many tuples. */
const nested = (depth: number): AbiParameter =>
  depth === 0
    ? { name: 'value', type: 'uint256' }
    : { name: 'in', type: 'tuple', components: [nested(depth - 1)] };

describe('types nested 16 deep', () => {
  it.each<[string, AbiParameter, (value: bigint) => unknown]>([
    ['lists', { name: 'a', type: `uint256${'[]'.repeat(16)}` }, (value) => within(16, value)],
    ['tuples', nested(16), (value) => within(16, value)],
    [
      'lists of tuples',
      { name: 'a', type: `tuple${'[]'.repeat(8)}`, components: [nested(7)] },
      (value) => within(16, value),
    ],
  ])('are decoded: %s', (_, parameter, valueOfDepth) => {
    const value = valueOfDepth(7n);
    const hex = encodeAbiParameters([parameter], [value]).slice(2);
    const decoded = decodeArguments(readParameters([parameter]), hex);
    expect(decoded).toMatchObject({ ok: true, values: [value], words: hex.length / 64 });
    expect(decodeArguments(readParameters([parameter]), hex.slice(64))).toMatchObject({ ok: false });
  });

  it('cost no more reads than the data has words, also if their offsets lead back', () => {
    const [list] = readParameters([{ name: 'a', type: `uint256${'[]'.repeat(16)}` }]);
    const back = decodeArguments(
      list === undefined ? [] : [list],
      words(0x20, 1).repeat(16) + words(0x20, 0),
    );
    expect(back.ok).toBe(false);
    const wide = decodeArguments(list === undefined ? [] : [list], words(0x20, 500) + word(0x20).repeat(500));
    expect(wide.ok).toBe(false);
    expect(wide.words).toBeLessThan(10);
  });
});

const within = (depth: number, value: unknown): unknown => (depth === 0 ? value : [within(depth - 1, value)]);

describe('bytes behind the arguments', () => {
  const inputs = inputsOf('address a, bytes b');
  const hex = encodeAbiParameters(inputs, [`0x${'11'.repeat(20)}`, '0x1234']).slice(2);
  const decode = (more: string, trailingMax: number) =>
    decodeArguments(readParameters(inputs), hex + more, trailingMax);

  it('are given as they are, up to the bound', () => {
    expect(decode('', 4)).toMatchObject({ ok: true, trailing: '' });
    expect(decode('0a', 4)).toMatchObject({ ok: true, trailing: '0a' });
    expect(decode('00000000', 4)).toMatchObject({ ok: true, trailing: '00000000' });
  });

  it.each<[string, string, number, string]>([
    ['a byte above the bound', '0000000000', 4, '5 bytes follow the last argument; at most 4 are allowed'],
    ['a byte where none is allowed', '00', 0, '1 bytes follow the last argument'],
    [
      'a second call',
      'a9059cbb' + '00'.repeat(64),
      64,
      '68 bytes follow the last argument; at most 64 are allowed',
    ],
  ])('refuse %s', (_, more, max, because) => {
    expect(decode(more, max)).toMatchObject({ ok: false, because, argument: '' });
  });

  it('leave the arguments as strict as before: no offset may lead into them', () => {
    const parameters = readParameters(inputs);
    const moved = hex.slice(0, 64) + word(0x60) + hex.slice(128);
    expect(decodeArguments(parameters, moved + '0'.repeat(64), 32)).toMatchObject({
      ok: false,
      because: 'the offset of b is 96 and must be 64',
    });
    const longer = hex.slice(0, 128) + word(33) + hex.slice(192);
    expect(decodeArguments(parameters, longer, 32)).toMatchObject({ ok: false });
  });
});

describe('types', () => {
  it.each(SHAPES)('%s is written as in a signature', (shape) => {
    const types = formatTypes(readParameters(inputsOf(shape)));
    expect(types).toBe(`(${shape.replaceAll(/ \w+(?=[,)]|$)/g, '').replaceAll(' ', '')})`);
  });

  it.each<[AbiParameter, string]>([
    [{ type: 'function' }, 'not a supported type'],
    [{ type: 'fixed128x18' }, 'not a supported type'],
    [{ type: 'uint7' }, 'not a supported type'],
    [{ type: 'uint264' }, 'not a supported type'],
    [{ type: 'uint0' }, 'not a supported type'],
    [{ type: 'bytes0' }, 'not a supported type'],
    [{ type: 'bytes33' }, 'not a supported type'],
    [{ type: 'ADDRESS' }, 'not a supported type'],
    [{ type: 'uint256[0]' }, 'an array of 0 items'],
    [{ type: 'uint256[1025]' }, 'an array of 1025 items'],
    [{ type: 'uint256[1000][1000]' }, 'too large'],
    [{ type: 'tuple' }, 'no members'],
    [{ type: 'tuple', components: [] }, 'no members'],
    [{ type: `uint256${'[]'.repeat(17)}` }, 'more than 16 deep'],
    [nested(17), 'more than 16 deep'],
  ])('%o is refused', (parameter, because) => {
    expect(() => readParameters([parameter])).toThrow(because);
  });
});
