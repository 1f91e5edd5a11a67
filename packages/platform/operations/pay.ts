import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { amount, word } from '../parameters.ts';

export const pay = defineOperation({
  section: '4.2',
  name: 'payments.create',
  command: 'pay',
  path: 'opay/transferToMerchantAuth',
  summary: 'Debit a user, after the platform has asked the merchant for confirmation.',
  notes: [
    'appOrderId is always yours, and must be unique across the board.',
    'Only hybrid-cloud SaaS-plus merchants may use it.',
  ],
  clientNotes: [
    'It is never sent twice by itself.',
    'After the outcome `unknown`, look the payment up in the bill before you pay again.',
  ],
  parameters: z.strictObject({
    userId: word.describe('The UID of the user who pays.'),
    appOrderId: word.describe('Your id of the order.'),
    orderAmount: amount.describe('The exact amount.'),
    payCoinSymbol: word.describe('The coin of the payment.'),
  }),
  example: { userId: '12345', appOrderId: '11321', orderAmount: '100', payCoinSymbol: 'USDT1742' },
  data: z.unknown().describe("The specification doesn't show its members."),
  reads: false,
});
