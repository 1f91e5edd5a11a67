import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Callback, Kind } from '../../../src/callback/callback.ts';
import { type Evaluated, compileExpression } from '../../../src/policy/expression/compile.ts';
import { factsAt } from '../../../src/policy/facts.ts';
import { AMOUNT_SCALE } from '../../../src/values/amount.ts';
import { A, B, outputs, payment, transfer, web3 } from '../callbacks.ts';

const FACTS = factsAt(0, { scheme: 'rsa' });
const CALLBACKS: Readonly<Record<Kind, Callback>> = {
  payment: payment(),
  transfer: transfer({ amount: '3', memo: 'm', ...outputs([A, '1'], [B, '2']) }),
  web3: web3(),
};

function asked(text: string, callback: Callback): Evaluated | 'fault' {
  const compiled = compileExpression(text, { kind: callback.kind, hasMovements: false });
  return compiled.ok ? compiled.expression.evaluate(callback, FACTS) : 'fault';
}

describe('an expression reaches nothing but the names it is given', () => {
  const PARTS = [
    'constructor',
    '__proto__',
    'prototype',
    'toString',
    'valueOf',
    'units',
    'text',
    'hasOwnProperty',
    'length',
  ];
  const OF = ['amount', 'userId', '[userId]', "'a'", '1', 'true', 'size(userId)'];

  it.each(PARTS.flatMap((part) => OF.map((of) => [of, part] as const)))('%s has no %s', (of, part) => {
    for (const text of [
      `${of}.${part} == ${of}`,
      `${of}.${part}() == ${of}`,
      `${of}['${part}'] == ${of}`,
      `${of}.${part}.${part} == 'x' || userId == '1'`,
      `${part} == userId`,
      `${part}(userId) == userId`,
      `given(${part})`,
      `{'${part}': userId}.${part} == userId`,
      `userId in {'${part}': 1}`,
    ]) {
      expect([text, asked(text, CALLBACKS.payment)]).toEqual([text, 'fault']);
    }
  });

  it.each(PARTS)('an output has no %s', (part) => {
    for (const text of [
      `outputs[0].${part} == outputs[0].to`,
      `outputs[0].to.${part} == 'x'`,
      `outputs[0].amount.${part} == 1`,
      `outputs['${part}'].to == to`,
      `outputs.all(o, o.${part} == to)`,
      `outputs.all(o, o['${part}'] == to)`,
      `outputs.all(${part}, ${part}.${part} == to)`,
      `outputs.${part}.all(o, true)`,
    ]) {
      expect([text, asked(text, CALLBACKS.transfer)]).toEqual([text, 'fault']);
    }
  });

  it.each([
    'cel.bind(x, userId, x == userId)',
    "google.protobuf.Timestamp == type(userId) || userId == '1'",
    'optional.of(userId).hasValue()',
    'optional.none().orValue(userId) == userId',
    "dyn(userId) == '1'",
    'type(userId) == string',
    'string == type(userId)',
    "string(amount) == '100'",
    "timestamp('2026-01-01T00:00:00Z') < timestamp('2027-01-01T00:00:00Z') || userId == '1'",
    "duration('1h') < duration('2h') || userId == '1'",
    "bytes('a') == bytes(userId)",
    "int(userId) > 5 && double('1.5') > 1.0",
    'uint(userId) > 5u',
    'has(userId.x)',
    "has({'a': userId}.a)",
    "userId.split('').size() > 1",
    "userId.lowerAscii() == '1'",
    "['a', 'b'].join(userId) == '1'",
    "b'{}'.json() == {} || userId == '1'",
    "userId.matches('.*')",
    'userId.?x.hasValue()',
    '[userId][?0].hasValue()',
    'userId ? true : true',
    'null == null || userId == null',
    'google',
    'cel',
    'optional',
    'this',
    'globalThis',
    'process',
    'undefined',
  ])('%s is a fault', (text) => {
    for (const callback of Object.values(CALLBACKS)) expect(asked(text, callback)).toBe('fault');
  });

  it('leaves the callback, and everything else, as it was', () => {
    const callback = CALLBACKS.transfer;
    const before = structuredClone(callback);
    const prototypes = [Object, Array, String, Function, Map].map((each) =>
      Reflect.ownKeys(each.prototype).map(String).join(),
    );
    for (const text of [
      'outputs.filter(o, o.amount > 1).map(o, o.to) == [to]',
      "outputs.all(o, o.to != from) && sum(outputs.map(o, o.amount)) == amount && type == 'sign_start'",
    ]) {
      asked(text, callback);
    }
    expect(callback).toEqual(before);
    expect(
      [Object, Array, String, Function, Map].map((each) =>
        Reflect.ownKeys(each.prototype).map(String).join(),
      ),
    ).toEqual(prototypes);
  });

  it('finds no member on a polluted prototype', () => {
    const everything: object = Object.prototype;
    Object.defineProperty(everything, 'memo', { value: 'x', configurable: true, writable: true });
    try {
      const answered = asked("given(memo) || memo == 'x'", transfer());
      expect(answered).toMatchObject({ holds: false, error: 'memo is missing' });
    } finally {
      Reflect.deleteProperty(everything, 'memo');
    }
  });
});

describe('whatever is written', () => {
  const token = fc.constantFrom(
    'amount',
    'userId',
    'memo',
    'to',
    'outputs',
    'o',
    'type',
    'TYPE',
    'unlimited',
    'speedUp',
    'scheme',
    'symbol',
    "'1'",
    "'0xAB'",
    '""',
    '1',
    '2.5',
    '1e3',
    '9223372036854775807',
    '99999999999999999999',
    'true',
    'false',
    'null',
    '5u',
    '==',
    '!=',
    '<',
    '<=',
    '>',
    '+',
    '-',
    '*',
    '/',
    '%',
    '&&',
    '||',
    '!',
    'in',
    '?',
    ':',
    '.',
    ',',
    '(',
    ')',
    '[',
    ']',
    '{',
    '}',
    'decimal(',
    'given(',
    'size(',
    'sum(',
    'dyn(',
    'outputs.all(o, ',
    'outputs.map(o, ',
    'outputs.filter(o, ',
    'o.to',
    'o.amount',
    '.size()',
    '.contains(',
    '.matches(',
    'constructor',
    '__proto__',
    '\\',
    '`',
    "b'",
    "r'",
    '//',
    '\n',
    '\u0000',
    '🦊',
  );

  it('is a fault, or has an answer and never throws', () => {
    fc.assert(
      fc.property(fc.array(token, { maxLength: 25 }), fc.constantFrom(' ', ''), (tokens, gap) => {
        for (const callback of Object.values(CALLBACKS)) {
          const answered = asked(tokens.join(gap), callback);
          expect(answered === 'fault' || typeof answered.holds === 'boolean').toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  /** Expressions of sound types, so that most of them have a value. */
  const { bool } = fc.letrec<{ bool: string; number: string }>((tie) => ({
    bool: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom(
        "userId == '12345'",
        "symbol in ['A', 'USDT1742']",
        "userId.contains('9')",
        'given(scheme)',
      ),
      fc
        .tuple(tie('number'), fc.constantFrom('<', '<=', '==', '!=', '>', '>='), tie('number'))
        .map((each) => each.join(' ')),
      fc.tuple(tie('bool'), fc.constantFrom('&&', '||'), tie('bool')).map((each) => `(${each.join(' ')})`),
      tie('bool').map((each) => `!(${each})`),
    ),
    number: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom('amount', "decimal('0.1')", "decimal('33.3')"),
      fc
        .tuple(tie('number'), fc.constantFrom('+', '-', '*'), tie('number'))
        .map((each) => `(${each.join(' ')})`),
    ),
  }));

  it('compares as exact numbers do', () => {
    const amounts = fc.tuple(
      fc.bigInt({ min: 1n, max: 10n ** 20n }),
      fc.bigInt({ min: 1n, max: 10n ** 20n }),
    );
    fc.assert(
      fc.property(amounts, fc.constantFrom('<', '<=', '==', '!=', '>', '>='), ([a, b], operator) => {
        const written = (units: bigint): string => {
          const digits = units.toString().padStart(19, '0');
          return `${digits.slice(0, -18).replace(/^0+(?=\d)/, '')}.${digits.slice(-18)}`;
        };
        const answered = asked(
          `amount * 3 - amount ${operator} decimal('${written(b)}') * 2`,
          payment({ orderAmount: written(a) }),
        );
        const expected = { '<': a < b, '<=': a <= b, '==': a === b, '!=': a !== b, '>': a > b, '>=': a >= b }[
          operator
        ];
        expect(answered).toMatchObject({ holds: expected, error: undefined });
      }),
      { numRuns: 300 },
    );
  });

  it('the negation never holds as well, and one of them does unless there is an error', () => {
    fc.assert(
      fc.property(bool, (text) => {
        const [yes, no] = [asked(text, CALLBACKS.payment), asked(`!(${text})`, CALLBACKS.payment)];
        if (yes === 'fault' || no === 'fault') return;
        expect(yes.holds && no.holds).toBe(false);
        expect(yes.error).toBe(no.error);
        expect(yes.holds || no.holds).toBe(yes.error === undefined);
      }),
      { numRuns: 300 },
    );
  });
});

describe('its cost is bounded', () => {
  const many = (count: number): Callback => {
    const paid = Array.from({ length: count }, (_, index) => [index === 0 ? A : `a${index}`, '1'] as const);
    return transfer({ amount: String(count), ...outputs(...paid) });
  };

  it('by the outputs times what is asked of each', () => {
    const heavy = `outputs.all(o, ${Array.from({ length: 49 }, () => 'o.amount < 5').join(' && ')} && true)`;
    // 49 comparisons of four nodes each, 49 conjunctions, and `true`.
    expect(asked(heavy, many(406))).toMatchObject({ holds: true });
    expect(asked(heavy, many(407))).toMatchObject({
      holds: false,
      error: `407 outputs make ${407 * 246} steps, more than 100000`,
    });
    expect(asked(`!${heavy}`, many(407))).toMatchObject({ holds: false });
    expect(asked('outputs.all(o, o.amount <= 1)', many(1000))).toMatchObject({ holds: true });
  });

  it('also where it looks through the longest call data again and again', () => {
    const callback = web3({ input_data: `0x${'a'.repeat(65_000)}` });
    const search = Array.from({ length: 60 }, () => "input_data.contains('AAAAAB')").join('||');
    expect(asked(`!(${search})`, callback)).toMatchObject({ holds: true });
  });

  it('and no number grows on and on', () => {
    const power = Array.from({ length: 100 }, () => 'amount').join('*');
    const amount = '9'.repeat(AMOUNT_SCALE);
    expect(asked(`${power} > 0`, payment({ orderAmount: amount }))).toMatchObject({
      holds: false,
      error: 'a number has more than 72 digits before the point',
    });
  });
});
