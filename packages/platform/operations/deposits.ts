import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { page, pageSize, word } from '../parameters.ts';
import { amount, fields, id, integer, list, note, record, text } from '../readings.ts';

/** Section 2.4. */
const deposit = record({
  symbol: text,
  id,
  uid: id.describe('The UID of the user, which may be negative.'),
  createdAt: integer.describe('Since the epoch. The unit is not documented.'),
  addressTo: note,
  amount,
  txid: note,
  status: integer.describe('Its values are not documented.'),
  depositType: integer.describe('Its values are not documented.'),
  ...fields(note, 'statusDesc mobileNumber email'),
  riskLevel: integer.describe('Its values are not documented.'),
});

export const deposits = defineOperation({
  section: '4.5',
  name: 'deposits.list',
  command: 'deposits',
  path: 'user/depositRecord',
  summary: 'List the deposits of a user.',
  parameters: z.strictObject({
    openId: word.optional().describe('The openId of the user.'),
    userId: word.optional().describe('The UID of the user.'),
    mobileNumber: word.optional().describe('The mobile number of the user.'),
    email: word.optional().describe('The e-mail address of the user.'),
    pageSize: pageSize(20, 1000),
    pageNumber: page,
  }),
  oneOf: ['openId', 'userId', 'mobileNumber', 'email'],
  example: { userId: '12345' },
  data: list(deposit),
  record: deposit,
  reads: true,
  paging: {
    page: 'pageNumber',
    size: 'pageSize',
    records: (data) => data,
    key: (each) => each.id,
  },
});
