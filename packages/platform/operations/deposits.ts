import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { USER_NAMES, page, pageSize, userNames } from '../parameters.ts';
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
    ...userNames,
    pageSize: pageSize(20, 1000),
    pageNumber: page,
  }),
  oneOf: USER_NAMES,
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
