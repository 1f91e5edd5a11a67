import { COINS, coinNamed } from '../coins.ts';
import type { Json } from '../json.ts';
import {
  byDefault,
  listOf,
  optional,
  page,
  pageSize,
  refuse,
  required,
  text,
  userNames,
  whole,
} from '../parameters.ts';
import { Refusal } from '../refusal.ts';
import { FIRST_UID, amountUpTo, coinAt, idAt, seeded, uidAt } from '../seed.ts';
import { DAY_MS } from '../time.ts';
import { operation, pageOf, userNamed } from './operation.ts';

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

const DEPOSITS = seeded(({ times, random, hoursAgo }) =>
  times(90).map((at) => {
    const own = random('deposit', at);
    return {
      symbol: coinAt(at),
      id: idAt(at),
      uid: at % 3 === 0 ? FIRST_UID : uidAt(at),
      createdAt: hoursAgo(1 + at * 3),
      addressTo: `0x${own.hex(40)}`,
      amount: amountUpTo(own, 20, 4),
      ...(at % 7 !== 0 && { txid: `0x${own.hex(64)}` }),
      depositType: own.pick([0, 1]),
    };
  }),
);

/** Section 4.5. */
export const deposits = operation(
  {
    path: 'user/depositRecord',
    form: 'message',
    parameters: {
      ...userNames,
      pageNumber: byDefault(1, page),
      pageSize: byDefault(20, pageSize),
    },
  },
  ({ userId, pageNumber, pageSize: size, ...names }, { state }): Json => {
    const { uid, mobileNumber, email } = userNamed(state, { ...names, uid: userId });
    const added = state.deposits.map(({ createdAtMs, ...each }) => ({
      ...each,
      createdAt: createdAtMs,
      depositType: 1,
    }));
    const own = [...added, ...DEPOSITS(state)]
      .filter((each) => each.uid === uid)
      .sort((a, b) => b.createdAt - a.createdAt);
    return pageOf(own, { page: pageNumber, pageSize: size }).map((each) => ({
      ...each,
      status: 1,
      statusDesc: 'success',
      mobileNumber,
      email,
      riskLevel: 0,
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
