import { decimalText, readDecimal } from '../decimal.ts';
import { type Json, exactNumber } from '../json.ts';
import { byDefault, listOf, oneOf, optional, page, pageSize, required, text, whole } from '../parameters.ts';
import type { State } from '../state.ts';
import { DAY_MS } from '../time.ts';
import { isWithin, matches, newestFirst, operation, pageOf } from './operation.ts';

const UNIT = 10n ** 18n;

/** A share of an amount, rounded down to 18 decimal places. */
function share(amount: string, rate: string): string {
  return decimalText(((readDecimal(amount) ?? 0n) * (readDecimal(rate) ?? 0n)) / UNIT);
}

/** Section 4.7. */
export const brokerBonuses = operation(
  {
    path: 'record/agent_user_bonus',
    parameters: {
      uid: optional(whole()),
      pid: optional(whole()),
      ctimeStart: optional(whole()),
      ctimeEnd: optional(whole()),
      page: byDefault(1, page),
      pageSize: byDefault(10, pageSize),
      feeCoinName: optional(text),
    },
  },
  ({ uid, pid, ctimeStart, ctimeEnd, feeCoinName, page: number, pageSize: size }, { state }) => {
    const found = newestFirst(
      state.brokerBonuses.filter(
        (each) =>
          matches(each.uid, uid) &&
          matches(each.pid, pid) &&
          matches(each.feeSymbol, feeCoinName) &&
          isWithin(each.createdAtMs, ctimeStart, ctimeEnd),
      ),
      ({ createdAtMs }) => createdAtMs,
    );
    const { users } = state;
    return {
      count: found.length,
      list: pageOf(found, number, size).map((each) => brokerBonusJson(each, users)),
    };
  },
);

function brokerBonusJson(bonus: State['brokerBonuses'][number], users: State['users']): Json {
  const user = users.find(({ uid }) => uid === bonus.uid);
  return {
    symbol: bonus.symbol,
    amount: exactNumber(bonus.amount),
    roleId: 1,
    fee: exactNumber(bonus.fee),
    scale: exactNumber('0.2'),
    feeSum: exactNumber(bonus.fee),
    pid: bonus.pid,
    usdtRate: exactNumber('1'),
    mtime: bonus.createdAtMs,
    feeSymbol: bonus.feeSymbol,
    usdtAmount: exactNumber(bonus.amount),
    scaleStr: '20%',
    uid: bonus.uid,
    companyId: 1,
    phoneNumber: user?.mobileNumber ?? '',
    rate: exactNumber('1'),
    amountStr: bonus.amount,
    ctime: bonus.createdAtMs,
    id: bonus.id,
    brokerageType: 1,
    brokerageStats: 1,
    email: user?.email ?? '',
  };
}

/** Section 4.20. `uid` and `pid` are both described as the invitee's UID, and both filter by it. */
export const coAgentBonuses = operation(
  {
    path: 'record/co_agent_user_bonus',
    parameters: {
      coin: optional(text),
      ctimeStart: optional(whole()),
      ctimeEnd: optional(whole()),
      page: byDefault(1, page),
      pageSize: byDefault(10, pageSize),
      uid: optional(whole()),
      pid: optional(whole()),
      superUid: optional(whole()),
      status: optional(whole(0, 3)),
      levelType: optional(whole(1, 2)),
      userType: optional(whole(1, 2)),
      bonusType: optional(whole(1, 2)),
    },
  },
  (values, { state }) => {
    const found = newestFirst(
      state.coAgentBonuses.filter(
        (each) =>
          matches(each.coin, values.coin) &&
          isWithin(each.timeMs, values.ctimeStart, values.ctimeEnd) &&
          matches(each.subUid, values.uid) &&
          matches(each.subUid, values.pid) &&
          matches(each.superUid, values.superUid) &&
          matches(each.status, values.status) &&
          matches(each.subLevel, values.levelType) &&
          matches(each.userType, values.userType) &&
          matches(each.bonusType, values.bonusType),
      ),
      ({ timeMs }) => timeMs,
    );
    return {
      count: found.length,
      list: pageOf(found, values.page, values.pageSize).map((each) => ({
        selfVolume: each.selfVolume,
        amount: each.amount,
        subVolume: each.subVolume,
        scale: exactNumber('0.3'),
        remark: '',
        subUid: each.subUid,
        subAccount: `user-${each.subUid}`,
        uid: each.uid,
        superUid: each.superUid,
        nickname: `user-${each.uid}`,
        id: each.id,
        userType: each.userType,
        time: each.timeMs,
        bonusType: each.bonusType,
        subLevel: each.subLevel,
        coin: each.coin,
        status: each.status,
      })),
    };
  },
);

/** Section 4.21. */
export const agentUsers = operation(
  {
    path: 'futures/agentUser',
    form: 'bare',
    parameters: { uids: required(listOf(whole())) },
  },
  ({ uids }, { state }) => {
    const found = state.agentUsers.filter(({ uid }) => uids.includes(uid));
    return {
      count: String(found.length),
      list: found.map(({ itemDate, uid, coin, tradeAmount, feeAmount }) => ({
        itemDate,
        uid: String(uid),
        coin,
        tradeAmount,
        feeAmount,
      })),
    };
  },
);

/** The latest days that are given if no time is (section 8). */
const LATEST_MS = 7 * DAY_MS;

/** Section 4.19. */
export const feeShares = operation(
  {
    path: 'record/feeSharing_exchange_detail',
    parameters: {
      symbol: optional(text),
      itemDateStart: optional(whole()),
      itemDateEnd: optional(whole()),
      page: byDefault(1, page),
      pageSize: byDefault(10, pageSize),
      billstatus: optional(oneOf('0', '1', '3', '-999')),
    },
  },
  ({ symbol, itemDateStart, itemDateEnd, billstatus, page: number, pageSize: size }, { state, nowMs }) => {
    const isOpen = itemDateStart === undefined && itemDateEnd === undefined;
    const fromMs = isOpen ? nowMs - LATEST_MS : itemDateStart;
    const status = billstatus === undefined || billstatus === '-999' ? undefined : Number(billstatus);
    const found = newestFirst(
      state.feeShares.filter(
        (each) =>
          matches(each.symbol, symbol) &&
          matches(each.status, status) &&
          isWithin(each.itemDateMs, fromMs, itemDateEnd),
      ),
      ({ itemDateMs }) => itemDateMs,
    );
    return { count: found.length, list: pageOf(found, number, size).map(feeShareJson) };
  },
);

/**
 * A record of section 2.17. The fees are the state's; the rules behind the other values are not published.
 */
function feeShareJson(each: State['feeShares'][number]): Json {
  const { symbol, base, quote, rate, baseFee, quoteFee, status } = each;
  const [baseRebate, quoteRebate] = [share(baseFee, rate), share(quoteFee, rate)];
  const atMs = String(each.itemDateMs);
  return {
    symbol,
    base,
    quote,
    qouteValueSub: quoteRebate,
    rebateRateSymbol: 'USDT',
    baseRebateFeeValueStr: baseRebate,
    maxDivideRate: '0.5',
    baseValueAll: baseFee,
    takerRate: '0.002',
    makerRate: '0.001',
    quoteRateSymbol: 'USDT',
    qouteFeeValue: quoteFee,
    baseConvertValue: baseFee,
    qouteValueAll: quoteFee,
    baseFeeValue: baseFee,
    baseRateSymbol: 'USDT',
    qouteRebateFeeValue: quoteRebate,
    baseRate: '1',
    incomeDivideRate: rate,
    itemDate: atMs,
    remark: '',
    qouteConvertValue: quoteFee,
    baseRebateFeeValue: baseRebate,
    sumConvertValue: quoteFee,
    rebateConvertValue: quoteRebate,
    volumeDivideRate: '0',
    quoteRate: '1',
    rateTime: atMs,
    rebateRate: rate,
    rebate: null,
    countTime: atMs,
    qouteConvertValueStr: quoteFee,
    billingStatus: String(status),
    baseValueSub: baseRebate,
  };
}
