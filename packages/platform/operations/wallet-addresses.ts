import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { integer, oneOf, page, pageSize, word } from '../parameters.ts';
import { count, id, list, note, record, text, wholeList } from '../readings.ts';

export const walletType = oneOf(['1', '2', '3', '4']);

const user = { uid: id, address: text, walletUid: id, tag: note };

/** Section 2.7, one element for each symbol. */
const mapping = record({
  symbol: text,
  count,
  pageSize: count,
  page: count,
  list: list(record(user)),
  walletSymbol: text,
});

export const walletAddresses = defineOperation({
  section: '4.8',
  name: 'walletAddresses.list',
  command: 'wallet-addresses',
  path: 'wallet/v2/addressMapping',
  summary: 'List the wallet addresses of users for a symbol.',
  parameters: z.strictObject({
    walletType: walletType.describe('1 custody, 2 wapi, 3 third-party custody provider, 4 custody mpc.'),
    symbol: word.describe('The symbol on the platform.'),
    uid: integer.optional().describe('The UID of the user.'),
    page,
    // No maximum is documented; this is the one of the other operations.
    pageSize: pageSize(100, 1000),
  }),
  numbers: ['walletType', 'uid', 'page', 'pageSize'],
  example: { walletType: '1', symbol: 'USDT1742' },
  // A symbol that can't be read would hide the number of its records.
  data: wholeList(mapping),
  record: record({ symbol: text, walletSymbol: text, ...user }),
  reads: true,
  paging: {
    page: 'page',
    size: 'pageSize',
    records: (data) =>
      data.flatMap(({ symbol, walletSymbol, list: users }) =>
        users.map((each) => ('unreadable' in each ? each : { symbol, walletSymbol, ...each })),
      ),
    count: (data) => data.reduce((sum, each) => sum + each.count, 0),
    key: ({ symbol, uid, address, tag }) => JSON.stringify([symbol, uid, address, tag]),
  },
});
