import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { milliseconds, oneOf, page, pageSize, word } from '../parameters.ts';
import { amount, count, fields, integer, list, note, orNull, record, text } from '../readings.ts';

/**
 * Section 2.17, in the platform's spelling. Its units and rules of calculation are not documented. The
 * specification calls `rebate` nullable without listing it.
 */
const feeShare = record({
  ...fields(text, 'symbol base quote'),
  qouteValueSub: amount,
  rebateRateSymbol: note,
  baseRebateFeeValueStr: note,
  ...fields(amount, 'maxDivideRate baseValueAll takerRate makerRate'),
  quoteRateSymbol: note,
  ...fields(amount, 'qouteFeeValue baseConvertValue qouteValueAll baseFeeValue'),
  baseRateSymbol: note,
  ...fields(amount, 'qouteRebateFeeValue baseRate incomeDivideRate'),
  itemDate: integer.describe('In milliseconds.'),
  remark: note,
  ...fields(amount, 'qouteConvertValue baseRebateFeeValue sumConvertValue rebateConvertValue'),
  ...fields(amount, 'volumeDivideRate quoteRate'),
  rateTime: integer.describe('In milliseconds.'),
  rebateRate: amount,
  countTime: integer.describe('In milliseconds.'),
  qouteConvertValueStr: note,
  billingStatus: text,
  baseValueSub: amount,
  rebate: orNull(amount),
});

export const feeShares = defineOperation({
  section: '4.19',
  name: 'feeShares.list',
  command: 'fee-shares',
  path: 'record/feeSharing_exchange_detail',
  summary: 'List how the fees of the exchange are shared, by pair and day.',
  notes: ['Without a time, the latest 7 days are listed. Reconcile on settled records (billstatus 3).'],
  parameters: z.strictObject({
    symbol: word.optional().describe('The trading pair.'),
    itemDateStart: milliseconds.optional().describe('The start, in milliseconds or as an instant.'),
    itemDateEnd: milliseconds.optional().describe('The end, in milliseconds or as an instant.'),
    pageSize: pageSize(10, 1000),
    page,
    billstatus: oneOf(['0', '1', '3', '-999'])
      .optional()
      .describe('0 statistic, 1 calculated, 3 settled accounts, -999 all.'),
  }),
  example: { billstatus: '3' },
  data: record({ count, list: list(feeShare) }),
  empty: { count: '0', list: [] },
  record: feeShare,
  reads: true,
  paging: {
    page: 'page',
    size: 'pageSize',
    records: (data) => data.list,
    count: (data) => data.count,
    // A record has no id of its own.
  },
});
