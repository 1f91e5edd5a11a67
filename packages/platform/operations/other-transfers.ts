import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { page, pageSize, phrase, word } from '../parameters.ts';
import { amount, id, integer, list, record, stamp, text } from '../readings.ts';

/** Section 2.9. */
const transfer = record({
  id,
  uid: id,
  amount,
  coinSymbol: text,
  createTime: stamp,
  transactionScene: text,
  createdAtTime: integer.describe('In milliseconds.'),
  status: integer.describe('Its values are not documented.'),
});

export const otherTransfers = defineOperation({
  section: '4.10',
  name: 'otherTransfers.list',
  command: 'other-transfers',
  path: 'record/otherTransferList',
  summary: 'List the other transfers of a scene.',
  parameters: z.strictObject({
    uid: word.optional().describe('The UID of the user.'),
    coinSymbol: word.optional().describe('The coin.'),
    pageSize: pageSize(10, 1000),
    page,
    transactionScene: phrase.describe('The scene.'),
  }),
  example: { transactionScene: 'SCENE' },
  data: record({ financeList: list(transfer) }),
  empty: { financeList: [] },
  record: transfer,
  reads: true,
  paging: {
    page: 'page',
    size: 'pageSize',
    records: (data) => data.financeList,
    key: (each) => each.id,
  },
});
