import fc from 'fast-check';
import { decodeAbiParameters, encodeAbiParameters, parseAbiParameters } from 'viem/utils';
import { describe, expect, it } from 'vitest';
import { decodeArguments } from '../../../src/policy/calls/decode.ts';
import { type AbiParameter, formatTypes, readParameters } from '../../../src/policy/calls/abi.ts';
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

const decode = (inputs: readonly AbiParameter[], hex: string, trailingMax?: number) =>
  decodeArguments({ inputs, parameters: readParameters(inputs) }, hex, trailingMax);

describe('call data is decoded', () => {
  it('to exactly what was encoded', () => {
    fc.assert(
      fc.property(sample, ([inputs, values]) => {
        const hex = encodeAbiParameters(inputs, values).slice(2);
        expect(decode(inputs, hex)).toEqual({ ok: true, values, trailing: '' });
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
        const decoded = decode(inputs, hex);
        expect(decoded.ok).toBe(isCanonicalToViem(inputs, hex));
        // Each refusal names the argument.
        const isNamed = decoded.ok || decoded.argument !== '' || decoded.because.includes('bytes follow');
        expect(isNamed).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('never from bytes at random, however they are shaped, and never by a throw', () => {
    const some = fc.uint8Array({ maxLength: 400 });
    fc.assert(
      fc.property(fc.constantFrom(...SHAPES), some, (shape, bytes) => {
        const inputs = inputsOf(shape);
        const hex = Buffer.from(bytes).toString('hex');
        expect(decode(inputs, hex).ok).toBe(isCanonicalToViem(inputs, hex));
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
/** A list of so many offsets to one list of so many offsets to one place. */
const offsets = (outer: number, inner: number): string =>
  words(0x20, outer) + word(outer * 32).repeat(outer) + word(inner) + word(inner * 32).repeat(inner);

const rowsOf = tablesOf(new URL('cases/decode.yaml', import.meta.url));

describe('hostile data is refused', () => {
  it.each(rowsOf('hostile', string, string, string, string))('%s', (_, shape, hex, because) => {
    const decoded = decode(shape === '' ? [] : inputsOf(shape), hex);
    expect(decoded).toMatchObject({ ok: false, because });
  });

  // Whoever follows such offsets reads the same bytes again and again.
  it.each<[string, string, string, string]>([
    [
      'to long bytes',
      'bytes[][] a',
      offsets(200, 40) + word(25_000) + '11'.repeat(25_000),
      'the data ends within a.1.1',
    ],
    [
      'to one list',
      'uint256[][] a',
      words(0x20, 1000) + word(0x20).repeat(1020),
      'the offset of a.1 is 32 and must be 32000',
    ],
    [
      'that lead back',
      `uint256${'[]'.repeat(16)} a`,
      words(0x20, 1).repeat(16) + word(0x20).repeat(980),
      '31328 bytes follow the last argument',
    ],
    [
      'to fixed lists',
      'bytes[1024][64][] a',
      words(0x20, 1) + word(0x20).repeat(1000),
      'the offset of a.1.1 is 32 and must be 2048',
    ],
  ])('where it first shares an offset: %s', (_, shape, hex, because) => {
    expect(decode(inputsOf(shape), hex)).toMatchObject({ ok: false, because });
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
    expect(decode([parameter], hex)).toMatchObject({ ok: true, values: [value] });
    expect(decode([parameter], hex.slice(64))).toMatchObject({ ok: false });
  });
});

const within = (depth: number, value: unknown): unknown => (depth === 0 ? value : [within(depth - 1, value)]);

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
