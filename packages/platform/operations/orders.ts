import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { milliseconds, page, pageSize, word } from '../parameters.ts';
import { amount, count, integer, id, known, list, note, orNull, record, text } from '../readings.ts';

/** The longest range of one request (section 8): 7 days. */
const RANGE_MS = 7 * 24 * 60 * 60 * 1000;

/** Section 2.1. */
const order = record({
  id,
  userId: id,
  side: text.pipe(z.string()).meta({ tsType: "Known<'BUY' | 'SELL'>" }).describe('BUY or SELL.'),
  orderType: known(1, 2, 3).describe('1 regular, 2 margin, 3 cross margin.'),
  type: orNull(known(1, 2, 3)).describe(
    'The entrust type: 1 limit, 2 market, 3 stop; null if the record does not have it.',
  ),
  status: known(0, 1, 2, 3, 4, 5, 6).describe(
    '0 init, 1 new, 2 filled, 3 partly filled, 4 cancelled, 5 pending cancellation, 6 expired.',
  ),
  source: known(1, 2, 3).describe('1 web, 2 app, 3 API. A sample has 6, which is not documented.'),
  symbol: text.describe('The trading pair, such as btcusdt.'),
  showSymbol: note.describe('The name of the pair for display.'),
  price: amount.describe('The price of the order.'),
  volume: amount.describe('The quantity of the order.'),
  avgPrice: amount.describe('The average price of the deals.'),
  dealMoney: amount.describe('The amount of the deals.'),
  dealVolume: amount.describe('The quantity of the deals.'),
  ctime: integer.describe('When the order was created, in milliseconds.'),
});

export const orders = defineOperation({
  section: '4.3',
  name: 'orders.list',
  command: 'orders',
  path: 'record/queryOrderPageByTime',
  summary: 'List the trading orders of a pair in a range of time.',
  notes: ['One request covers at most 7 days.'],
  clientNotes: ['An iteration splits a longer range by itself.'],
  parameters: z.strictObject({
    symbol: word.describe('The trading pair, such as btcusdt.'),
    startDate: milliseconds.describe('The start, in milliseconds or as an instant.'),
    endDate: milliseconds.describe('The end, in milliseconds or as an instant.'),
    page,
    pageSize: pageSize(20, 1000),
  }),
  numbers: ['startDate', 'endDate', 'page', 'pageSize'],
  example: { symbol: 'btcusdt', startDate: '2026-03-01T00:00:00Z', endDate: '2026-03-02T00:00:00Z' },
  data: record({ count, page: count, pageSize: count, list: list(order) }),
  empty: { count: '0', page: '0', pageSize: '0', list: [] },
  record: order,
  reads: true,
  paging: {
    page: 'page',
    size: 'pageSize',
    records: (data) => data.list,
    count: (data) => data.count,
    key: (each) => each.id,
    range: { start: 'startDate', end: 'endDate', mostMs: RANGE_MS },
  },
  check({ startDate, endDate }) {
    const lengthMs = Number(endDate) - Number(startDate);
    if (lengthMs < 0) return 'endDate is before startDate; exchange the two';
    return lengthMs > RANGE_MS
      ? 'the range from startDate to endDate is longer than 7 days; write a shorter one, or read all pages'
      : undefined;
  },
});
