import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { day, integer, oneOf, page, pageSize, stamp } from '../parameters.ts';
import { amount, count, id, known, list, note, record, text } from '../readings.ts';

/** Section 2.15. */
const billRecord = record({
  merchantUserId: id,
  appOrderId: text,
  payCoinSymbol: text,
  orderAmount: amount,
  orderType: known(1, 11).describe('1 payment order, 11 transfer order.'),
  userId: id,
  openId: note,
  createTime: text.describe("In a form and a time zone that the specification doesn't name."),
  payTime: note.describe('In the form of createTime.'),
});

export const bill = defineOperation({
  section: '4.17',
  name: 'bill.list',
  command: 'bill',
  path: 'opay/merchantBillingDay',
  summary: 'List the payment and transfer orders that the platform billed.',
  notes: [
    'Without day, startDate and endDate, the platform lists its current day.',
    'startDate and endDate together replace day.',
  ],
  parameters: z
    .strictObject({
      orderType: oneOf(['1', '11'])
        .optional()
        .describe('1 payment orders, 11 transfer orders; both if it is left out.'),
      day: day.optional().describe("A day of the platform's time zone, yyyy-MM-dd."),
      userId: integer.optional().describe('The UID of the user who paid.'),
      startDate: stamp.optional().describe('The start, yyyy-MM-dd HH:mm:ss.'),
      endDate: stamp.optional().describe('The end, yyyy-MM-dd HH:mm:ss.'),
      pageNum: page,
      pageSize: pageSize(2000, 2000),
    })
    .meta({ dependentRequired: { startDate: ['endDate'], endDate: ['startDate'] } }),
  numbers: ['userId'],
  example: { day: '2026-03-02', orderType: '1' },
  data: record({ count, list: list(billRecord) }),
  empty: { count: '0', list: [] },
  record: billRecord,
  reads: true,
  paging: {
    page: 'pageNum',
    size: 'pageSize',
    records: (data) => data.list,
    count: (data) => data.count,
    // No key: an order that is billed twice is two records.
  },
  check({ startDate, endDate }) {
    if ((startDate === undefined) !== (endDate === undefined)) {
      return 'only one of startDate and endDate is given; give both, or day';
    }
    return startDate !== undefined && endDate !== undefined && startDate > endDate
      ? 'endDate is before startDate; exchange the two'
      : undefined;
  },
});
