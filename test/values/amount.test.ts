import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatAmount, parseAmount } from '../../src/values/amount.ts';

const UNIT = 10n ** 36n;

describe('parseAmount', () => {
  it.each([
    ['0', 0n],
    ['1', UNIT],
    ['1.50', (15n * UNIT) / 10n],
    ['167230.4978', (1_672_304_978n * UNIT) / 10_000n],
    ['1E-8', UNIT / 100_000_000n],
    ['2e3', 2000n * UNIT],
    [`0.${'0'.repeat(35)}1`, 1n],
    [`${'9'.repeat(36)}.${'9'.repeat(36)}`, 10n ** 72n - 1n],
  ])('reads %s exactly', (text, units) => {
    expect(parseAmount(text)).toBe(units);
  });

  it.each([
    '',
    ' 1',
    '1 ',
    '+1',
    '-1',
    '-0',
    '01',
    '00',
    '.5',
    '1.',
    '1e',
    '1e400',
    '1e-40',
    '1e37',
    'NaN',
    'Infinity',
    '0x10',
    '1_000',
    '1,000',
    '\uff11\uff12',
    '\u0661',
    '1\n',
    '9'.repeat(37),
    `0.${'0'.repeat(36)}1`,
    '1e9999',
    '1.5.0',
    'null',
  ])('refuses %j', (text) => {
    expect(parseAmount(text)).toBeUndefined();
  });

  it('comes back from its own text, whatever the amount', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 72n - 1n }), (amount) => {
        expect(parseAmount(formatAmount(amount))).toBe(amount);
      }),
    );
  });

  it('is the shortest text, without an exponent', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 36n - 1n }), fc.nat({ max: 36 }), (digits, places) => {
        const text = formatAmount(digits * 10n ** BigInt(places));
        expect(text).toMatch(/^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/);
      }),
    );
  });

  it.each([
    [0n, '0'],
    [1n, `0.${'0'.repeat(35)}1`],
    [UNIT - 1n, `0.${'9'.repeat(36)}`],
    [UNIT, '1'],
    [10n * UNIT, '10'],
    [100n * UNIT + UNIT / 10n, '100.1'],
    [10n ** 72n - 1n, `${'9'.repeat(36)}.${'9'.repeat(36)}`],
    [10n ** 80n, `1${'0'.repeat(44)}`],
  ])('%s units are %s', (units, text) => {
    expect(formatAmount(units)).toBe(text);
  });

  it('gives equal amounts one text', () => {
    expect(['1.50', '1.5', '15e-1', '1.500'].map((text) => formatAmount(parseAmount(text) ?? -1n))).toEqual(
      Array(4).fill('1.5'),
    );
  });
});
