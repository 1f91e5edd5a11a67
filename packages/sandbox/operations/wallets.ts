import { WALLET_TYPES, coinNamed } from '../coins.ts';
import { byDefault, listOf, optional, page, pageSize, required, text, whole } from '../parameters.ts';
import { Refusal } from '../refusal.ts';
import { matches, operation, pageOf } from './operation.ts';

const walletType = whole(1, WALLET_TYPES.length);

/** Section 4.8. `symbol` may name several coins, separated by commas. */
export const addressMapping = operation(
  {
    path: 'wallet/v2/addressMapping',
    parameters: {
      walletType: required(walletType),
      symbol: required(listOf(text)),
      uid: optional(whole()),
      page: byDefault(1, page),
      pageSize: byDefault(100, pageSize),
    },
  },
  ({ walletType: type, symbol: symbols, uid, page: number, pageSize: size }, { state }) =>
    symbols.map((symbol) => {
      if (coinNamed(symbol) === undefined) throw new Refusal('70007', `there is no coin ${symbol}`);
      const own = state.addresses.filter(
        (each) => each.walletType === type && each.symbol === symbol && matches(each.uid, uid),
      );
      const mapped = state.walletSymbols.find((each) => each.walletType === type && each.symbol === symbol);
      return {
        symbol,
        count: own.length,
        pageSize: size,
        page: number,
        list: pageOf(own, number, size).map((each) => ({
          uid: each.uid,
          address: each.address,
          walletUid: each.walletUid,
          tag: each.tag,
        })),
        walletSymbol: mapped?.walletSymbol ?? '',
      };
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
      page: byDefault(1, page),
      pageSize: byDefault(100, pageSize),
    },
  },
  ({ walletType: type, symbol, walletSymbol, page: number, pageSize: size }, { state }) => {
    const own = state.walletSymbols.filter(
      (each) =>
        each.walletType === type && matches(each.symbol, symbol) && matches(each.walletSymbol, walletSymbol),
    );
    return {
      count: own.length,
      page: number,
      pageSize: size,
      walletType: type,
      list: pageOf(own, number, size).map((each) => ({
        symbol: each.symbol,
        walletSymbol: each.walletSymbol,
      })),
    };
  },
);
