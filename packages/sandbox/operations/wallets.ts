import { COINS, WALLET_TYPES, coinNamed } from '../coins.ts';
import { listOf, optional, paging, required, text, whole } from '../parameters.ts';
import { Refusal } from '../refusal.ts';
import { USERS, seeded, uidAt } from '../seed.ts';
import { counted, matches, operation } from './operation.ts';

const walletType = whole(1, WALLET_TYPES.length);

const ADDRESSES = seeded(({ random }) =>
  WALLET_TYPES.flatMap((type) =>
    COINS.flatMap(({ symbol }) =>
      Array.from({ length: USERS }, (_, at) => ({
        type,
        symbol,
        record: {
          uid: uidAt(at),
          address: `0x${random(`address ${type} ${symbol}`, at).hex(40)}`,
          walletUid: 900_000 + at,
          tag: '',
        },
      })),
    ),
  ),
);

/** The same for each type of wallet. */
const WALLET_SYMBOLS = COINS.map(({ symbol, name, tokenBase }) => ({
  symbol,
  walletSymbol: name === tokenBase ? name : `${tokenBase}_${name}`,
}));

/** Section 4.8. `symbol` may name several coins, separated by commas. */
export const addressMapping = operation(
  {
    path: 'wallet/v2/addressMapping',
    parameters: {
      walletType: required(walletType),
      symbol: required(listOf(text)),
      uid: optional(whole()),
      ...paging(100),
    },
  },
  ({ walletType: type, symbol: symbols, uid, ...asked }, { state }) =>
    symbols.map((symbol) => {
      if (coinNamed(symbol) === undefined) throw new Refusal('70007', `there is no coin ${symbol}`);
      const own = ADDRESSES(state).filter(
        (each) => each.type === type && each.symbol === symbol && matches(each.record, { uid }),
      );
      const records = own.map(({ record }) => record);
      const mapped = WALLET_SYMBOLS.find((each) => each.symbol === symbol);
      return { symbol, ...counted(records, asked), ...asked, walletSymbol: mapped?.walletSymbol ?? '' };
    }),
);

/** Section 4.9. */
export const symbolMapping = operation(
  {
    path: 'wallet/symbolMapping',
    parameters: {
      walletType: required(walletType),
      symbol: optional(text),
      walletSymbol: optional(text),
      ...paging(100),
    },
  },
  ({ walletType: type, symbol, walletSymbol, ...asked }) => {
    const found = WALLET_SYMBOLS.filter((each) => matches(each, { symbol, walletSymbol }));
    return { ...counted(found, asked), ...asked, walletType: type };
  },
);
