import { describe, expect, it } from 'vitest';
import { closestMatch } from '../../src/values/closest-match.ts';

describe('the closest match', () => {
  const known = ['amount-limit', 'window-limit', 'deny-list', 'to', 'from'];

  it.each([
    ['amout-limit', 'amount-limit'],
    ['Window_Limit', 'window-limit'],
    ['denylist', 'deny-list'],
    ['form', 'from'],
    ['amount-limit', 'amount-limit'],
    ['from-whom-it-came', 'from'],
  ])('finds what %s was meant to be', (word, meant) => {
    expect(closestMatch(word, known)).toBe(meant);
  });

  it.each(['', 'expected-order', 'x', 'amount', 'together', 'a'.repeat(100_000)])(
    'has no idea what else %s could be',
    (word) => {
      expect(closestMatch(word, known)).toBeUndefined();
    },
  );

  it('finds nothing among nothing', () => {
    expect(closestMatch('amount', [])).toBeUndefined();
  });
});
