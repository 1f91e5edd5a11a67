import { COINS, coinNamed } from '../coins.ts';
import type { Json } from '../json.ts';
import { byDefault, listOf, optional, page, pageSize, refuse, required, text, whole } from '../parameters.ts';
import { Refusal } from '../refusal.ts';
import { DAY_MS } from '../time.ts';
import { newestFirst, operation, pageOf, userNamed } from './operation.ts';

/** Account types of section 3.2. */
const TYPES = ['201', '202', '207', '210', '217', '218', '230', '221'];

/** The samples show longer numbers built on the type: here, followed by the number of the coin. */
function shownType(type: string, coin: string): string {
  return `${type}${String(1 + COINS.findIndex(({ symbol }) => symbol === coin)).padStart(4, '0')}`;
}

/** Section 4.4. */
export const accountsChanged = operation(
  {
    path: 'ouser/batchQueryUserAccountsByUpdateTime',
    parameters: { updateTime: required(whole()) },
  },
  ({ updateTime }, { state, nowMs }) => {
    if (updateTime < nowMs - DAY_MS) refuse('updateTime', 'is more than 24 hours ago');
    return {
      accounts: state.accounts
        .filter(({ updatedAtMs }) => updatedAtMs >= updateTime)
        .map(({ id, uid, coin, type, balance, updatedAtMs }) => ({
          id: String(id),
          uid: String(uid),
          balance,
          type: shownType(type, coin),
          coin,
          showName: coinNamed(coin)?.name ?? coin,
          updateTime: String(updatedAtMs),
        })),
    };
  },
);

/** Section 4.14. Each requested coin also has a member such as `btcPrecision`. */
export const userAccounts = operation(
  {
    path: 'ouser/userAccounts',
    parameters: {
      openId: optional(text),
      userId: optional(whole()),
      coinSymbols: required(listOf(text)),
      assetType: optional(text),
    },
  },
  ({ openId, userId, coinSymbols, assetType }, { state }) => {
    const { uid } = userNamed(state, { openId, uid: userId });
    if (assetType !== undefined && !TYPES.includes(assetType)) {
      throw new Refusal('50014', `assetType ${assetType} is unknown; give one of ${TYPES.join(', ')}`);
    }
    const coins = coinSymbols.map((symbol) => {
      const coin = coinNamed(symbol);
      if (coin === undefined) throw new Refusal('70007', `there is no coin ${symbol}`);
      return coin;
    });
    const accounts = state.accounts.filter(
      (each) =>
        each.uid === uid &&
        coinSymbols.includes(each.coin) &&
        (assetType === undefined || each.type === assetType),
    );
    return {
      accounts: accounts.map(({ balance, coin, type }) => ({
        uid: String(uid),
        balance,
        tag: coin,
        type: shownType(type, coin),
      })),
      ...Object.fromEntries(
        coins.map(({ symbol, precision }) => [`${symbol.toLowerCase()}Precision`, String(precision)]),
      ),
    };
  },
);

/** Section 4.5. */
export const deposits = operation(
  {
    path: 'user/depositRecord',
    form: 'message',
    parameters: {
      openId: optional(text),
      userId: optional(whole()),
      mobileNumber: optional(text),
      email: optional(text),
      pageNumber: byDefault(1, page),
      pageSize: byDefault(20, pageSize),
    },
  },
  ({ openId, userId, mobileNumber, email, pageNumber, pageSize: size }, { state }): Json => {
    const user = userNamed(state, { openId, uid: userId, mobileNumber, email });
    const own = newestFirst(
      state.deposits.filter(({ uid }) => uid === user.uid),
      ({ createdAtMs }) => createdAtMs,
    );
    return pageOf(own, pageNumber, size).map(({ txid, createdAtMs, ...deposit }) => ({
      symbol: deposit.symbol,
      id: deposit.id,
      uid: deposit.uid,
      createdAt: createdAtMs,
      addressTo: deposit.addressTo,
      amount: deposit.amount,
      ...(txid !== undefined && { txid }),
      status: deposit.status,
      depositType: deposit.depositType,
      statusDesc: 'success',
      mobileNumber: user.mobileNumber,
      email: user.email,
      riskLevel: deposit.riskLevel,
    }));
  },
);

/** Section 4.18. */
export const openSymbols = operation(
  {
    path: 'symbol/openSymbolList',
    parameters: {},
  },
  () => ({
    symbolList: COINS.map(({ symbol, name, precision, contractAddress, tokenBase, withdrawFee }) => ({
      coinSymbol: symbol,
      contractAddress,
      showPrecision: precision,
      isQuote: name === 'USDT' || name === 'BTC' ? 1 : 0,
      isOpen: 1,
      depositOpen: 1,
      withdrawOpen: 1,
      otcOpen: name === 'USDT' ? 1 : 0,
      tokenBase,
      depositConfirm: 12,
      name,
      withdrawFee,
      innerWithdrawFee: '0',
    })),
  }),
);
