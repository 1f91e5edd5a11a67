import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { USER_NAMES, milliseconds, page, pageSize, userNames } from '../parameters.ts';
import { amount, fields, id, integer, list, note, orNull, record, text } from '../readings.ts';

/** The specification only says which members an advert has, and which kinds of values. */
const advert = record({
  id: orNull(id),
  userId: orNull(id),
  status: orNull(integer),
  ...fields(note, 'side coin country paycoin payment bankname'),
  priceRate: orNull(amount),
  priceRateType: note,
  ...fields(orNull(amount), 'price volume feeRate minTrade maxTrade'),
  beginDate: orNull(integer),
  endDate: orNull(integer),
  ...fields(note, 'limitTime terms description authType'),
  minvolume: orNull(amount),
  sell: orNull(amount),
  beginTime: note,
  endTime: note,
  ctime: orNull(integer),
  personalFeeDiscount: orNull(amount),
  dealVolume: orNull(amount),
  muid: orNull(id),
  mtime: orNull(integer),
  ...fields(note, 'autoReply openType numberCode'),
  companyId: orNull(id),
  isBlockTrade: orNull(integer),
  lastPrice: orNull(amount),
  initMaxTrade: orNull(amount),
});

/** Section 2.10, in the platform's spelling. */
const trade = record({
  sidCid: id,
  totalPrice: amount,
  payTime: orNull(integer),
  advert: orNull(advert),
  ...fields(id, 'buyerId adsOwner adsId'),
  buyerComment: note,
  sellerComment: note,
  buyerCommentGrade: orNull(integer),
  payCoin: text,
  volume: amount,
  bidCid: id,
  sequence: text,
  feeAmount: orNull(amount),
  sellerCommnetGrade: orNull(integer),
  coinSymbol: text,
  sellerId: id,
  createTime: integer.describe('In milliseconds.'),
  price: amount,
  id,
  status: integer.describe('Its values are not documented.'),
  isBlockTrade: integer,
});

export const otcTrades = defineOperation({
  section: '4.11',
  name: 'otcTrades.list',
  command: 'otc-trades',
  path: 'user/v2/otcTradeRecord',
  summary: 'List the OTC trades of a user.',
  notes: ['pageNumber is the number of records on a page, as the specification uses the name.'],
  parameters: z.strictObject({
    ...userNames,
    page,
    pageNumber: pageSize(1000, 1000),
    startTime: milliseconds.optional().describe('The start, in milliseconds or as an instant.'),
    endTime: milliseconds.optional().describe('The end, in milliseconds or as an instant.'),
  }),
  oneOf: USER_NAMES,
  example: { userId: '12345' },
  data: list(trade),
  record: trade,
  reads: true,
  paging: {
    page: 'page',
    size: 'pageNumber',
    records: (data) => data,
    key: (each) => each.id,
  },
});
