import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { PAYMENT_MEMBERS, PAYMENT_OPTIONAL } from '../../src/callback/payment.ts';
import { type EmptyValues, canonicalString } from '../../src/signature/canonical.ts';
import { compileAmbiguityCheck } from '../../src/signature/ambiguity.ts';
import { membersOf, payment } from './sources.ts';

const check = compileAmbiguityCheck({ grammar: PAYMENT_MEMBERS, optional: PAYMENT_OPTIONAL });

function judge(body: Readonly<Record<string, unknown>>, emptyValues: EmptyValues = 'keep'): string {
  const canonical = canonicalString(membersOf(body), emptyValues);
  if (!canonical.ok) return canonical.code;
  const ambiguous = check(canonical, String(body['appKey']));
  return ambiguous === undefined ? 'unique' : ambiguous.because.replace(/^.*?: /, `${ambiguous.code}: `);
}

describe('a signed text with one reading', () => {
  const unique: readonly Readonly<Record<string, unknown>>[] = [
    payment,
    { ...payment, time: '1522055680' },
    { ...payment, time: '1522055680123' },
    { ...payment, orderAmount: 100.5, userId: 12345 },
    { ...payment, appOrderId: 'overtime-7' },
    { ...payment, appOrderId: 'orderAmount' },
    { ...payment, appOrderId: '1orderAmount2' },
    { ...payment, appOrderId: 'userId1', payCoinSymbol: 'timeuserId' },
    { ...payment, time: null },
    { ...payment, appOrderId: 'a'.repeat(128) },
  ];
  it.each(unique)('%j', (body) => {
    expect(judge(body)).toBe('unique');
  });
});

describe('an ambiguous signed text', () => {
  const { orderAmount: _, ...amountless } = payment;
  const refused: readonly [string, Readonly<Record<string, unknown>>, string][] = [
    ['a stranger', { ...payment, note: 'x' }, '"note" is not a member of a payment confirmation'],
    [
      'a stranger beside a name within a value, so that the names are as many as they should be',
      { ...payment, appOrderId: 'time1', note: 'x' },
      '"note" is not a member of a payment confirmation',
    ],
    ['a stranger at the end', { ...payment, zone: 'x' }, '"zone" is not a member of a payment confirmation'],
    [
      "a stranger named like an object's own",
      { ...payment, constructor: 'x' },
      '"constructor" is not a member of a payment confirmation',
    ],
    [
      'an order that has swallowed the amount',
      { ...amountless, appOrderId: '11321orderAmount100' },
      'orderAmount is missing',
    ],
    [
      'an amount that ends in an order of its own',
      { ...payment, appOrderId: '1', orderAmount: '5orderAmount100' },
      'orderAmount has a value that is not allowed',
    ],
    [
      'an order id that holds all that follows',
      { ...payment, appOrderId: '1orderAmount2payCoinSymbolX' },
      'without separators, it can also be read with another appOrderId',
    ],
    [
      'a symbol that holds an amount and a symbol of its own',
      { ...payment, payCoinSymbol: 'AorderAmount3payCoinSymbolB' },
      'without separators, it can also be read with another appOrderId',
    ],
    [
      'a time in the symbol',
      { ...payment, payCoinSymbol: 'USDTtime1522055680' },
      'payCoinSymbol has a value that is not allowed',
    ],
    ['an empty time', { ...payment, time: '' }, 'time has a value that is not allowed'],
    ['a time of 11 digits', { ...payment, time: '15220556801' }, 'time has a value that is not allowed'],
    ['a user id with a letter', { ...payment, userId: '12a' }, 'userId has a value that is not allowed'],
    ['an amount with a sign', { ...payment, orderAmount: -5 }, 'orderAmount has a value that is not allowed'],
    [
      'an order id of 129',
      { ...payment, appOrderId: 'a'.repeat(129) },
      'appOrderId has a value that is not allowed',
    ],
    [
      '64 KiB',
      { ...payment, appOrderId: 'orderAmount1'.repeat(5000) },
      'appOrderId has a value that is not allowed',
    ],
  ];
  it.each(refused)('%s', (_what, body, because) => {
    const judged = judge(body);
    expect(judged).toContain(because);
    expect(judged).toMatch(/^SIGN_AMBIGUOUS: /);
  });
});

it('an empty time that is skipped counts as no time', () => {
  expect(judge({ ...payment, time: '' }, 'skip')).toBe('unique');
});

it('no two bodies that are accepted have one signed text', () => {
  // Values made of the names themselves and a few characters, where an overlap would show first.
  const piece = fc.constantFrom(
    'orderAmount',
    'payCoinSymbol',
    'time',
    'userId',
    '1',
    '1522055680',
    'X',
    '.',
    '-',
  );
  const value = fc.array(piece, { minLength: 1, maxLength: 5 }).map((pieces) => pieces.join(''));
  const digits = fc.stringMatching(/^[1-9]\d{0,12}$/);
  const body = fc.record(
    {
      appKey: fc.constant('demoKey'),
      appOrderId: value,
      orderAmount: digits,
      payCoinSymbol: value.map((text) => `X${text}`),
      time: fc.constantFrom('1522055680', '1522055680123'),
      userId: digits,
    },
    { requiredKeys: ['appKey', 'appOrderId', 'orderAmount', 'payCoinSymbol', 'userId'] },
  );
  let accepted = 0;
  fc.assert(
    fc.property(body, (one) => {
      if (judge(one) !== 'unique') return;
      accepted++;
      const canonical = canonicalString(membersOf(one), 'keep');
      if (!canonical.ok) throw new Error(canonical.because);
      // Every split of the text at the defined names, by brute force.
      const names = ['appOrderId', 'orderAmount', 'payCoinSymbol', 'time', 'userId'];
      const bodies = splits(canonical.text.slice('appKeydemoKey'.length), names).map((split) => ({
        appKey: 'demoKey',
        ...Object.fromEntries(split),
      }));
      expect(bodies.filter((other) => judge(other) === 'unique')).toEqual([one]);
    }),
    { numRuns: 300 },
  );
  expect(accepted).toBeGreaterThan(20);
});

/** All ways to cut a text into some of the names, in their order, each with what follows it. */
function splits(text: string, names: readonly string[]): (readonly [string, string])[][] {
  if (text === '') return [[]];
  return names.flatMap((name, at) => {
    if (!text.startsWith(name)) return [];
    const ends = Array.from({ length: text.length - name.length + 1 }, (_, more) => name.length + more);
    return ends.flatMap((end) =>
      splits(text.slice(end), names.slice(at + 1)).map((rest) => [
        [name, text.slice(name.length, end)] as const,
        ...rest,
      ]),
    );
  });
}
