import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { milliseconds, page, pageSize, word } from '../parameters.ts';
import { amount, count, fields, id, integer, list, note, record, text } from '../readings.ts';

/** Section 2.6. Its units and rules of calculation are not documented. */
const share = record({
  symbol: text,
  amount,
  roleId: id,
  ...fields(amount, 'fee scale feeSum'),
  pid: id,
  usdtRate: amount,
  mtime: integer.describe('In milliseconds.'),
  feeSymbol: text,
  usdtAmount: amount,
  scaleStr: note,
  uid: id,
  companyId: id,
  phoneNumber: note,
  rate: amount,
  amountStr: note,
  ctime: integer.describe('In milliseconds.'),
  id,
  brokerageType: integer,
  brokerageStats: integer,
  email: note,
});

export const brokerShares = defineOperation({
  section: '4.7',
  name: 'brokerShares.list',
  command: 'broker-shares',
  path: 'record/agent_user_bonus',
  summary: 'List the shares of brokers in fees.',
  parameters: z.strictObject({
    uid: word.optional().describe('The UID of the user.'),
    pid: word.optional().describe('The UID of the parent.'),
    ctimeStart: milliseconds.optional().describe('The earliest creation, in milliseconds or as an instant.'),
    ctimeEnd: milliseconds.optional().describe('The latest creation, in milliseconds or as an instant.'),
    pageSize: pageSize(10, 1000),
    page,
    feeCoinName: word.optional().describe('The coin of the fee.'),
  }),
  example: { uid: '12345' },
  data: record({ count, list: list(share) }),
  empty: { count: '0', list: [] },
  record: share,
  reads: true,
  paging: {
    page: 'page',
    size: 'pageSize',
    records: (data) => data.list,
    count: (data) => data.count,
    key: (each) => each.id,
  },
});
