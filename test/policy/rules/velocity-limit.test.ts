import { describe, expect, it } from 'vitest';
import { parseAmount } from '../../../src/values/amount.ts';
import { A, B, judged, outputs, payment, ruleFaults, transfer, web3 } from '../callbacks.ts';

describe('velocity-limit', () => {
  it('claims one of so many approvals', () => {
    const { result, claims } = judged('velocity-limit: { per: [userId], window: 1m, max: 10 }', payment());
    expect(result).toMatchObject({
      verdict: 'claim',
      because: '1 more for userId 12345 in 1m, of at most 10',
    });
    expect(claims).toMatchObject([
      { amount: parseAmount('1'), max: parseAmount('10'), window: { lengthMs: 60_000, bucketMs: 1000 } },
    ]);
  });

  it('counts by source where nothing else is said', () => {
    const keyOf = (rule: string): unknown => judged(rule, payment()).claims[0];
    expect(judged('velocity-limit: { window: 1m, max: 10 }', payment()).result.because).toContain(
      'source shop',
    );
    expect(keyOf('velocity-limit: { per: [source], window: 1m, max: 10 }')).toEqual(
      keyOf('velocity-limit: { window: 1m, max: 10 }'),
    );
  });

  it('counts an unlimited amount like any other', () => {
    expect(judged('velocity-limit: { window: 1m, max: 10 }', web3({ amount: -1 })).claims).toHaveLength(1);
    expect(
      judged('velocity-limit: { per: [to], window: 1m, max: 10 }', web3({ amount: -1 })).claims,
    ).toHaveLength(1);
  });

  it('counts a withdrawal once, or once for each address that it pays', () => {
    const callback = transfer({ amount: '3', ...outputs([A, '1'], [B, '2']) });
    expect(judged('velocity-limit: { window: 1m, max: 10 }', callback).claims).toHaveLength(1);
    const each = judged('velocity-limit: { per: [to], window: 1m, max: 10 }', callback).claims;
    expect(each).toMatchObject([{ amount: parseAmount('1') }, { amount: parseAmount('1') }]);
  });

  it('refuses a callback that lacks a member it counts by', () => {
    expect(
      judged(
        'velocity-limit: { per: [interactive_contract], window: 1m, max: 1 }',
        web3({ interactive_contract: '' }),
      ).result,
    ).toMatchObject({
      verdict: 'refuse',
      because: 'interactive_contract is missing, by which this rule counts',
    });
  });

  it.each(['0', '-1', '1.5', '1e3', '1000000000000', 'ten', ''])('%s is no number of approvals', (max) => {
    const faults = ruleFaults(`velocity-limit: { window: 1m, max: "${max}" }`);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain('write a whole number above zero, like 10');
  });
});
