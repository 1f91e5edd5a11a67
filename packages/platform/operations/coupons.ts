import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { names, oneOf, page, pageSize, stamp, word } from '../parameters.ts';
import { amount, count, fields, id, integer, known, list, record, text } from '../readings.ts';

/** Section 2.11. */
const coupon = record({
  id,
  sn: text.describe('The id of the activity.'),
  amount,
  uid: id,
  time: integer.describe('In milliseconds.'),
  ...fields(amount, 'amountSup amountUse amountBack'),
  status: known(1, 2, 3).describe('1 received, 2 to be recovered, 3 recovered.'),
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
    page: page.meta({ requiredBySpecification: true }),
    // The specification documents no default and no maximum.
    pageSize: pageSize(100, 1000).meta({ requiredBySpecification: true }),
  }),
  example: { status: '2' },
  data: record({ count, mapList: list(coupon) }),
  empty: { count: '0', mapList: [] },
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
