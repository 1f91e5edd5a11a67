import { describe, expect, it } from 'vitest';
import type { Callback, Kind } from '../../../src/callback/callback.ts';
import { evaluate } from '../../../src/policy/evaluate.ts';
import { factsAt } from '../../../src/policy/facts.ts';
import { A, B, NOON, judged, onePolicy, payment, release, ruleFaults, transfer, web3 } from '../callbacks.ts';
import { tablesOf, string } from '../../cases.ts';
import { asCallback } from '../callbacks.ts';

const rule = (require: string, because?: string): string =>
  `expression: ${JSON.stringify(because === undefined ? { require } : { require, because })}`;

const verdict = (require: string, callback: Callback): string =>
  judged(rule(require), callback).result.verdict;

const faults = (require: string, kind: Kind = 'payment'): readonly string[] =>
  ruleFaults(rule(require), kind);

const rowsOf = tablesOf(new URL('cases/expression.yaml', import.meta.url), { A, B });

describe('an expression that is true', () => {
  it.each(rowsOf('passes', string, asCallback))('passes: %s', (require, callback) => {
    expect(judged(rule(require), callback).result).toMatchObject({ verdict: 'pass' });
  });

  it('knows how a payment was signed, where that is known', () => {
    const inForce = release(onePolicy(rule("scheme in ['rsa', 'rsa-envelope']")));
    // The scheme is not among the terms: the same payment may come again, signed as it should be.
    expect(evaluate(inForce, payment(), factsAt(NOON, { scheme: 'md5' })).retryable).toBe(true);
    expect(
      evaluate(release(onePolicy(rule("amount < decimal('1')"))), payment(), factsAt(NOON)).retryable,
    ).toBe(false);
    const approves = (scheme: string | undefined): boolean =>
      evaluate(inForce, payment(), factsAt(NOON, { scheme })).approves;
    expect([approves('rsa'), approves('md5'), approves(undefined)]).toEqual([true, false, false]);
  });
});

describe('anything but true', () => {
  it.each(rowsOf('refused', string, asCallback))('refuses: %s', (require, callback) => {
    expect(judged(rule(require), callback).result).toMatchObject({ verdict: 'refuse' });
  });

  it.each(rowsOf('without-value', string, asCallback, string))(
    'refuses %s as it has no value',
    (require, callback, error) => {
      const { result } = judged(rule(require), callback);
      expect(result.verdict).toBe('refuse');
      expect(result.because).toContain(error);
    },
  );

  it.each(rowsOf('reported', string, asCallback, string))(
    'an error counts only where it matters: %s',
    (require, callback, expected) => {
      expect(verdict(require, callback)).toBe(expected);
    },
  );

  it('says what it asked for, and what was required', () => {
    const { result, proposal } = judged(rule("amount <= 50 && userId != '666'"), payment());
    expect(result).toMatchObject({
      because: "it is required that amount <= 50 && userId != '666'",
      values: { amount: '100', userId: '12345' },
    });
    expect(proposal).toMatchObject({ approves: false, retryable: false });
  });

  it('says it in the words of the policy', () => {
    const { result } = judged(
      rule('amount <= 50 && given(memo)', 'large ones are paid by hand'),
      transfer({ amount: '51' }),
    );
    expect(result.because).toBe('large ones are paid by hand');
    expect(result.values).toEqual({ amount: '51', memo: 'none' });
    expect(judged(rule("memo == '1'", 'no memo, no money'), transfer()).result.because).toBe(
      'no memo, no money (memo is missing)',
    );
  });

  it('keeps what it tells short', () => {
    const { result } = judged(
      rule(`input_data.endsWith('1') ${"|| input_data.endsWith('2') ".repeat(20)}`),
      web3({ input_data: `0x${'a'.repeat(60_000)}` }),
    );
    expect(result.because.length).toBeLessThan(200);
    expect(result.values['input_data']).toHaveLength(100);
  });
});

describe('a fault of an expression', () => {
  it.each(rowsOf('faults', string, string))('%s', (require, fault) => {
    const found = faults(require);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain('rules[0].expression.require: at character ');
    expect(found[0]).toContain(fault);
  });

  it.each(rowsOf('withdrawal-faults', string, string))('of one for withdrawals: %s', (require, fault) => {
    const found = faults(require, 'transfer');
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(fault);
  });

  it.each(rowsOf('parameter-faults', string, string))('of its parameters: %s', (written, fault) => {
    expect(ruleFaults(written).join('\n')).toContain(fault);
  });

  it('is one of each bound, and the bound itself is none', () => {
    const filled = (characters: number): string => 'amount < 5'.padEnd(characters);
    expect(faults(filled(2000))).toEqual([]);
    expect(faults(filled(2001))[0]).toContain('is not valid');
    const sum = (terms: number): string => `${'1+'.repeat(terms - 1)}amount<5`;
    expect(faults(sum(249))).toEqual([]);
    expect(faults(sum(250))[0]).toContain('Exceeded maxAstNodes (500); write it shorter');
    const nested = (depth: number): string => `${'('.repeat(depth)}amount < 5${')'.repeat(depth)}`;
    expect(faults(nested(19))).toEqual([]);
    expect(faults(nested(20))[0]).toContain('Exceeded maxDepth (20)');
    const listed = (elements: number): string => `amount in [${'1,'.repeat(elements)}]`;
    expect(faults(listed(200))).toEqual([]);
    expect(faults(listed(201))[0]).toContain('Exceeded maxListElements (200)');
  });
});
