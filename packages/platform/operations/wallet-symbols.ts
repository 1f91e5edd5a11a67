import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { page, pageSize, word } from '../parameters.ts';
import { count, known, list, record, text } from '../readings.ts';
import { walletType } from './wallet-addresses.ts';

/** Section 2.8. */
const mapping = record({ symbol: text, walletSymbol: text });

export const walletSymbols = defineOperation({
  section: '4.9',
  name: 'walletSymbols.list',
  command: 'wallet-symbols',
  path: 'wallet/symbolMapping',
  summary: 'List which symbol of a wallet belongs to which symbol of the platform.',
  parameters: z.strictObject({
    walletType: walletType.describe('1 custody, 2 wapi, 3 third-party custody provider, 4 custody mpc.'),
    symbol: word.optional().describe('The symbol on the platform.'),
    walletSymbol: word.optional().describe('The symbol in the wallet.'),
    page,
    // No maximum is documented; this is the one of the other operations.
    pageSize: pageSize(100, 1000),
  }),
  numbers: ['walletType', 'page', 'pageSize'],
  example: { walletType: '1' },
  data: record({
    count,
    page: count,
    pageSize: count,
    walletType: known(1, 2, 3, 4).describe(
      '1 custody, 2 wapi, 3 third-party custody provider, 4 custody mpc.',
    ),
    list: list(mapping),
  }),
  empty: { count: '0', page: '0', pageSize: '0', walletType: '0', list: [] },
  record: mapping,
  reads: true,
  paging: {
    page: 'page',
    size: 'pageSize',
    records: (data) => data.list,
    count: (data) => data.count,
    key: ({ symbol, walletSymbol }) => JSON.stringify([symbol, walletSymbol]),
  },
});
