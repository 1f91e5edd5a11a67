import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { names, oneOf, page, pageSize, stamp, word } from '../parameters.ts';
import { amount, count, id, integer, list, record, text } from '../readings.ts';

/** Section 2.11. */
const coupon = record({
  id,
  sn: text,
  amount,
  uid: id,
  time: integer,
  amountSup: amount,
  amountUse: amount,
  amountBack: amount,
  status: integer,
  coin: text,
});

export const coupons = defineOperation({
  section: '4.12',
  name: 'coupons.list',
  command: 'coupons',
  path: 'futures/coupon/recordList',
  summary: 'List the futures coupons of users.',
  parameters: z.strictObject({
    uid: names.optional().describe('The UIDs of users, with commas between them.'),
    timeStart: stamp.optional().describe('The earliest claim, yyyy-MM-dd HH:mm:ss.'),
    timeEnd: stamp.optional().describe('The latest claim, yyyy-MM-dd HH:mm:ss.'),
    sn: word.optional().describe('The id of the activity.'),
    status: oneOf(['1', '2', '3']).optional().describe('1 received, 2 to be recovered, 3 recovered.'),
    page,
    // The specification requires it, and documents no default and no maximum.
    pageSize: pageSize(100, 1000),
  }),
  example: { status: '2' },
  data: record({ count, mapList: list(coupon) }),
  record: coupon,
  reads: true,
  paging: {
    page: 'page',
    size: 'pageSize',
    records: (data) => data.mapList,
    count: (data) => data.count,
    key: (each) => each.id,
  },
});
