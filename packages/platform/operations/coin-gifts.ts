import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { milliseconds, page, word } from '../parameters.ts';
import { amount, count, flag, id, integer, list, note, orNull, record, stamp, text } from '../readings.ts';

/** Section 2.12, in the platform's spelling. */
const gift = record({
  uid: id,
  symbol: text,
  ctimeStr: stamp,
  amount,
  typeName: note,
  ctime: integer.describe('In milliseconds.'),
  opUid: id,
});

const gifts = record({
  uid: orNull(id),
  presentRecordList: list(gift),
  persentTypeArr: list(record({ present_type: text, used: flag, title: note })),
  count,
  pageSize: count,
  page: count,
  type: note,
  ctimeStart: orNull(integer),
  ctimeEnd: orNull(integer),
});

export const coinGifts = defineOperation({
  section: '4.13',
  name: 'coinGifts.list',
  command: 'coin-gifts',
  path: 'record/presentCoinList',
  summary: 'List the coins that users were given.',
  parameters: z.strictObject({
    uid: word.optional().describe('The UID of the user.'),
    ctimeStart: milliseconds.optional().describe('The earliest gift, in milliseconds or as an instant.'),
    ctimeEnd: milliseconds.optional().describe('The latest gift, in milliseconds or as an instant.'),
    page,
  }),
  example: { uid: '12345' },
  data: gifts,
  empty: { presentRecordList: [], persentTypeArr: [], count: '0', pageSize: '0', page: '0' },
  record: gift,
  reads: true,
  paging: {
    page: 'page',
    records: (data) => data.presentRecordList,
    count: (data) => data.count,
    // No key: a gift has no id of its own.
  },
});
