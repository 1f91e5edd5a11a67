import { describe, expect, it } from 'vitest';
import type { Callback } from '../../../src/callback/callback.ts';
import { amountTextOf } from '../../../src/policy/language/members.ts';
import { A, B, outputs, payment, transfer, web3 } from '../callbacks.ts';

describe('the text of an amount', () => {
  it.each<[string, Callback, string]>([
    ['a payment, as short as it goes', payment({ orderAmount: '1.500' }), '1.5'],
    ['a withdrawal', transfer({ amount: '2E-3' }), '0.002'],
    ['a withdrawal to several, its sum', transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) }), '3'],
    ['a web3 transaction of nothing', web3({ amount: '0.0' }), '0'],
    ['one without a limit', web3({ amount: '-1' }), 'unlimited'],
  ])('of %s', (_whose, callback, text) => {
    expect(amountTextOf(callback)).toBe(text);
  });

  it('is of the amount itself where the values have none', () => {
    expect(amountTextOf({ ...payment({ orderAmount: '7.10' }), values: new Map() })).toBe('7.1');
    expect(amountTextOf({ amount: 'unlimited', values: new Map() })).toBe('unlimited');
  });
});
