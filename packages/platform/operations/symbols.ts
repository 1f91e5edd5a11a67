import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { amount, fields, integer, list, note, record, text } from '../readings.ts';

/** Section 2.16. */
const symbol = record({
  coinSymbol: text,
  contractAddress: note,
  ...fields(integer, 'showPrecision isQuote isOpen depositOpen withdrawOpen otcOpen'),
  tokenBase: note,
  depositConfirm: integer,
  name: note,
  withdrawFee: amount,
  innerWithdrawFee: amount,
});

export const symbols = defineOperation({
  section: '4.18',
  name: 'symbols.list',
  command: 'symbols',
  path: 'symbol/openSymbolList',
  summary: 'List the coins of the platform.',
  parameters: z.strictObject({}),
  example: {},
  data: record({ symbolList: list(symbol) }),
  empty: { symbolList: [] },
  record: symbol,
  reads: true,
  records: (data) => data.symbolList,
});
