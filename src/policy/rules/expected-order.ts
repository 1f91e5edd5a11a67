import { z } from 'zod';
import { subjectOf } from '../../callback/callback.ts';
import { orderMembersOf, otherOrderTexts } from '../order-members.ts';
import { defineRule } from './rule.ts';

export const expectedOrder = defineRule({
  name: 'expected-order',
  summary: 'A callback must match an order that was announced before, with the same id and the same members.',
  notes: [
    'The merchant’s back end announces orders, or an operator does with `countersign orders ' +
      'expect`. The id is the `appOrderId` or `request_id` of the callback.',
    'An order for a payment names userId, symbol, amount and the scheme of the signature.',
    'An order for a withdrawal names symbol, amount and `to` or `outputs`. It may also name ' +
      'from, memo and transfer_id.',
    'An order for a web3 transaction names to, symbol, amount and input_data. If input_data is ' +
      'not empty, it also names interactive_contract. It may also name from.',
    'Each member that the order names must be equal in the callback. The others may have any ' +
      'value, with one exception: if the order for a withdrawal names no memo, the callback must ' +
      'not have one.',
    'If the order has the empty text for input_data or interactive_contract, the callback must lack it.',
    'A withdrawal to several addresses only matches an order that names all of them, with their amounts.',
    'An order names an address in any of its spellings, if the asset table names the chain of the asset. The ' +
      'callback is refused if its `to` is not an address of that chain.',
    'An approval uses the order up: it then holds only for repeats and later questions about ' +
      'the same subject.',
    'A cancelled, expired or used order refuses. A refusal is not final: the next repeat after ' +
      'an announcement is decided again.',
  ],
  callbacks: ['payment', 'transfer', 'web3'],
  parameters: z.strictObject({}),
  example: `policy: announced-payments
callback: payment
when: { source: shop }
rules:
  - expected-order: {}
`,
  cases: `tests:
  - test: a payment that was announced passes, and so does its repeat
    now: 2026-03-02T10:00:00Z
    given:
      orders:
        - { source: shop, payment: '11321',
            members: { userId: '12345', symbol: USDT1742, amount: '100', scheme: rsa },
            expires: 2026-03-02T12:00:00Z }
    callbacks:
      - source: shop
        payment: { appOrderId: '11321', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        scheme: rsa
        expect: SUCCESS
      - source: shop
        after: 1m
        payment: { appOrderId: '11321', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        scheme: rsa
        expect: SUCCESS
  - test: a payment that nobody announced is refused
    now: 2026-03-02T10:00:00Z
    callbacks:
      - source: shop
        payment: { appOrderId: '11321', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        scheme: rsa
        expect: { verdict: FAILURE, rule: expected-order#1, because: no such order was announced }
  - test: another amount, or another scheme, is refused
    now: 2026-03-02T10:00:00Z
    given:
      orders:
        - { source: shop, payment: '1',
            members: { userId: '12345', symbol: USDT1742, amount: '100', scheme: rsa },
            expires: 2026-03-02T12:00:00Z }
        - { source: shop, payment: '2',
            members: { userId: '12345', symbol: USDT1742, amount: '100', scheme: rsa },
            expires: 2026-03-02T12:00:00Z }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '101' }
        scheme: rsa
        expect:
          { verdict: FAILURE, rule: expected-order#1,
            because: differs from the announced order in amount 101 }
      - source: shop
        payment: { appOrderId: '2', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        scheme: md5
        expect:
          { verdict: FAILURE, rule: expected-order#1,
            because: differs from the announced order in scheme md5 }
  - test: an order that has expired is refused
    now: 2026-03-02T12:00:00Z
    given:
      orders:
        - { source: shop, payment: '11321',
            members: { userId: '12345', symbol: USDT1742, amount: '100', scheme: rsa },
            expires: 2026-03-02T12:00:00Z }
    callbacks:
      - source: shop
        payment: { appOrderId: '11321', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        scheme: rsa
        expect: { verdict: FAILURE, rule: expected-order#1, because: has expired }
`,
  compile: () => ({
    evaluate: (callback, { scheme }) => {
      const subject = subjectOf(callback);
      const members = orderMembersOf(callback, scheme);
      const { amount = '', symbol = '' } = members;
      return {
        verdict: 'claim',
        because: `an announced order for ${subject} that agrees with it`,
        values: { subject, amount, symbol },
        claims: [{ type: 'order', members, also: otherOrderTexts(callback) }],
        retryable: true,
      };
    },
  }),
});
