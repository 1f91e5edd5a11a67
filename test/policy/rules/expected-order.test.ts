import { describe, expect, it } from 'vitest';
import type { Callback } from '../../../src/callback/callback.ts';
import { A, B, C, judged, outputs, payment, ruleFaults, transfer, web3 } from '../callbacks.ts';

function claimed(callback: Callback, scheme?: string): unknown {
  const { claims } = judged('expected-order: {}', callback, { facts: { scheme } });
  expect(claims).toHaveLength(1);
  return claims[0]?.type === 'order' ? claims[0].members : undefined;
}

describe('expected-order', () => {
  it('claims an order for the subject, and is decided again each time', () => {
    const { result, claims, proposal } = judged('expected-order: {}', payment({ orderAmount: '1.50' }), {
      facts: { scheme: 'rsa' },
    });
    expect(result).toMatchObject({
      verdict: 'claim',
      because: 'an announced order for payment:o-1 that agrees with it',
      values: { subject: 'payment:o-1', amount: '1.5', symbol: 'USDT1742' },
    });
    expect(claims).toEqual([
      {
        type: 'order',
        result: 0,
        decides: true,
        retryable: true,
        members: { userId: '12345', symbol: 'USDT1742', amount: '1.5', scheme: 'rsa' },
      },
    ]);
    expect(proposal.approves).toBe(true);
  });

  it('leaves out a scheme that is not known, so that an order which names one does not agree', () => {
    expect(claimed(payment())).toEqual({ userId: '12345', symbol: 'USDT1742', amount: '100' });
  });

  it('compares all of a withdrawal, in comparable form', () => {
    expect(claimed(transfer({ memo: 'M 1' }), 'rsa')).toEqual({
      from: C,
      to: A.toLowerCase(),
      memo: 'M 1',
      amount: '1.5',
      symbol: 'ETH',
      transfer_id: '7',
    });
    expect(claimed(transfer({ transfer_id: '', withdraw_id: '' }))).toEqual({
      from: C,
      to: A.toLowerCase(),
      memo: '',
      amount: '1.5',
      symbol: 'ETH',
    });
  });

  it('names every address of a withdrawal to several, so that an order for one of them never agrees', () => {
    const callback = transfer({ amount: '3', ...outputs([B, '1'], [A, '1.50'], [B, '0.5']) });
    const [a, b] = [A.toLowerCase(), B.toLowerCase()];
    const members = claimed(callback);
    expect(members).toMatchObject({ to: `${a} ${b}`, outputs: `${a} 1.5\n${b} 1.5`, amount: '3' });
    expect(members).toMatchObject({ outputs: callback.terms['outputs'] });
  });

  it('has no outputs where they pay one address alone', () => {
    const callback = transfer({ amount: '3', ...outputs([A, '1'], [A, '2']) });
    expect(claimed(callback)).not.toHaveProperty('outputs');
    expect(claimed(callback)).toMatchObject({ to: A.toLowerCase(), amount: '3' });
  });

  it('compares a web3 transaction with its call data, also where it has none', () => {
    expect(claimed(web3({ input_data: '0xA9059CBB', amount: -1 }))).toEqual({
      from: C,
      to: A.toLowerCase(),
      amount: 'unlimited',
      symbol: 'ETH',
      input_data: '0xa9059cbb',
      interactive_contract: B.toLowerCase(),
    });
    expect(claimed(web3({ input_data: '', interactive_contract: '' }))).toMatchObject({
      input_data: '',
      interactive_contract: '',
    });
  });

  it.each(['{ require: [from] }', '{ mode: strict }', '{ scheme: rsa }', 'yes', '[userId]'])(
    'takes no parameters: %s is a fault',
    (parameters) => {
      expect(ruleFaults(`expected-order: ${parameters}`)).toHaveLength(1);
    },
  );
});
