import { describe, expect, it } from 'vitest';
import { proposalFromJson } from '../../src/policy/proposal.ts';
import { parseAmount } from '../../src/values/amount.ts';

/** A proposal as the journal has it. */
const WRITTEN = {
  revision: 'a'.repeat(64),
  approves: true,
  results: [['payments', 'window-limit#1', 'claim', 'room for 100', { window: '24h' }]],
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
  retryable: false,
  prices: 0,
  validFromMs: 0,
  validUntilMs: 9_007_199_254_740_991,
};

describe('a proposal in the journal', () => {
  it('is read, with the flags that are left out', () => {
    expect(proposalFromJson(WRITTEN)).toMatchObject({
      results: [{ policy: 'payments', rule: 'window-limit#1', mode: 'enforce', verdict: 'claim' }],
      claims: [
        { type: 'window', retryable: false, amount: parseAmount('100'), max: parseAmount('10000.5') },
        { type: 'list', retryable: false },
      ],
    });
  });

  it.each([
    ['retryable that is no truth value', { ...WRITTEN, retryable: 'no' }],
    ['prices that are no version', { ...WRITTEN, prices: '3' }],
    ['no word on whether it is retryable', { ...WRITTEN, retryable: undefined }],
    ['no version of the prices', { ...WRITTEN, prices: undefined }],
    ['a result as an object', { ...WRITTEN, results: [{ policy: 'payments', rule: 'window-limit#1' }] }],
    ['prices of nothing', { ...WRITTEN, prices: null }],
    ['a claim without a result', { ...WRITTEN, claims: [{ ...WRITTEN.claims[1], result: undefined }] }],
    ['no approval', { ...WRITTEN, approves: undefined }],
    ['something unknown', { ...WRITTEN, aged: true }],
  ])('is not read with %s', (_, detail) => {
    expect(() => proposalFromJson(detail)).toThrow('holds no proposal that can be read');
  });
});
