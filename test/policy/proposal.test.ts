import { describe, expect, it } from 'vitest';
import { proposalFromJson } from '../../src/policy/proposal.ts';
import { parseAmount } from '../../src/values/amount.ts';

/** A proposal as it was written before there were `retryable` and `prices`. */
const OLDER = {
  revision: 'a'.repeat(64),
  approves: true,
  results: [
    {
      policy: 'payments',
      rule: 'window-limit#1',
      mode: 'enforce',
      verdict: 'claim',
      because: 'room for 100',
      values: { window: '24h' },
    },
  ],
  claims: [
    {
      type: 'window',
      key: '0'.repeat(32),
      amount: '100',
      max: '10000.5',
      window: { type: 'rolling', lengthMs: 86_400_000, bucketMs: 60_000 },
      result: 0,
      decides: true,
    },
    {
      type: 'list',
      list: 'blocked',
      values: ['7'],
      must: 'hold-none',
      result: 0,
      decides: true,
    },
  ],
  validFromMs: 0,
  validUntilMs: 9_007_199_254_740_991,
};

describe('a proposal of an entry that an earlier version wrote', () => {
  it('is read: every refusal stood then, and no rule knew prices', () => {
    expect(proposalFromJson(OLDER)).toMatchObject({
      retryable: false,
      prices: 0,
      claims: [
        { type: 'window', retryable: false, amount: parseAmount('100'), max: parseAmount('10000.5') },
        { type: 'list', retryable: false },
      ],
    });
  });

  it.each([
    ['retryable that is no truth value', { ...OLDER, retryable: 'no' }],
    ['prices that are no version', { ...OLDER, prices: '3' }],
    ['prices of nothing', { ...OLDER, prices: null }],
    ['a claim without a result', { ...OLDER, claims: [{ ...OLDER.claims[1], result: undefined }] }],
    ['no approval', { ...OLDER, approves: undefined }],
    ['something unknown', { ...OLDER, aged: true }],
  ])('is not read with %s', (_, detail) => {
    expect(() => proposalFromJson(detail)).toThrow('holds no proposal that can be read');
  });
});
