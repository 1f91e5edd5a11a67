import { z } from 'zod';
import { subjectOf } from '../../callback/callback.ts';
import { orderMembersOf } from '../order-members.ts';
import { defineRule } from './rule.ts';

export const expectedOrder = defineRule({
  name: 'expected-order',
  summary: 'Only what was announced beforehand passes: an order under the same id, with the same members.',
  notes: [
    'Orders are announced by the merchant’s back end, or with `countersign orders expect`, under the id that the callback will have: `appOrderId` or `request_id`.',
    'An order names a payment’s userId, symbol, amount and the scheme that it will be signed with; a withdrawal’s symbol, amount and `to` or `outputs`, and perhaps from, memo and transfer_id; a web3 transaction’s to, symbol, amount, input_data and, where that is not empty, interactive_contract, and perhaps from.',
    'Every member that the order names must be the same in the callback; members that it does not name may be anything, but for the memo of a withdrawal: one that was not announced must not be there. Call data or a contract announced as the empty text must be missing.',
    'A withdrawal to several addresses agrees only with an order that names all of them, with their amounts.',
    'An approval uses the order up: it holds for repeats and later questions about the same subject, and for nothing else.',
    'An order that was cancelled, has expired or was used before refuses. A refusal does not stand: once an order is announced, the next repeat is decided afresh.',
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
        - { source: shop, payment: '11321', members: { userId: '12345', symbol: USDT1742, amount: '100', scheme: rsa }, expires: 2026-03-02T12:00:00Z }
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
        - { source: shop, payment: '1', members: { userId: '12345', symbol: USDT1742, amount: '100', scheme: rsa }, expires: 2026-03-02T12:00:00Z }
        - { source: shop, payment: '2', members: { userId: '12345', symbol: USDT1742, amount: '100', scheme: rsa }, expires: 2026-03-02T12:00:00Z }
    callbacks:
      - source: shop
        payment: { appOrderId: '1', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '101' }
        scheme: rsa
        expect: { verdict: FAILURE, rule: expected-order#1, because: differs from the announced order in amount 101 }
      - source: shop
        payment: { appOrderId: '2', userId: '12345', payCoinSymbol: USDT1742, orderAmount: '100' }
        scheme: md5
        expect: { verdict: FAILURE, rule: expected-order#1, because: differs from the announced order in scheme md5 }
  - test: an order that has expired is refused
    now: 2026-03-02T12:00:00Z
    given:
      orders:
        - { source: shop, payment: '11321', members: { userId: '12345', symbol: USDT1742, amount: '100', scheme: rsa }, expires: 2026-03-02T12:00:00Z }
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
        claims: [{ type: 'order', members }],
        afresh: true,
      };
    },
  }),
});
