import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { names, word } from '../parameters.ts';
import { amount, id, list, note, text, record } from '../readings.ts';

const PRECISION = /^(.+)Precision$/;

const account = record({ uid: id, balance: amount, tag: note, type: id });

/** Section 2.3. Each coin has a member of its own, such as `btcPrecision`; they are read into `precision`. */
const assetsOfUser = z
  .preprocess(
    (value: unknown): unknown => {
      if (typeof value !== 'object' || value === null) return value;
      const members = Object.entries(value);
      const precision = members.flatMap(([name, digits]) => {
        const coin = PRECISION.exec(name)?.[1];
        return coin === undefined ? [] : [[coin, digits] as const];
      });
      return { ...value, precision: Object.fromEntries(precision) };
    },
    record({
      accounts: list(account),
      precision: z.record(z.string(), text).meta({ derived: true }),
    }),
  )
  .meta({ patternProperties: { [PRECISION.source]: { $ref: '#/$defs/Text' } } });

export const assets = defineOperation({
  section: '4.14',
  name: 'assets.search',
  command: 'assets',
  path: 'ouser/userAccounts',
  summary: 'Show the balances of a user in several coins.',
  parameters: z.strictObject({
    openId: word.optional().describe('The openId of the user.'),
    userId: word.optional().describe('The UID of the user.'),
    coinSymbols: names.describe('The coins, with commas between them, as configured in the exchange.'),
    assetType: word.optional().describe('The type of account; 201 is the balance of the general account.'),
  }),
  oneOf: ['openId', 'userId'],
  example: { userId: '12345', coinSymbols: 'USDT1742,BTC', assetType: '201' },
  data: assetsOfUser,
  empty: { accounts: [] },
  record: account,
  reads: true,
  records: (data) => data.accounts,
});
