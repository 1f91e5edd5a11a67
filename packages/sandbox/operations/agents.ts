import { PAIRS } from '../coins.ts';
import { multiplyDecimals } from '../decimal.ts';
import { exactNumber } from '../json.ts';
import { listOf, oneOf, optional, paging, required, text, whole } from '../parameters.ts';
import { FIRST_UID, USERS, amountUpTo, coinAt, idAt, seeded, uidAt, usersOf } from '../seed.ts';
import { DAY_MS } from '../time.ts';
import { counted, isWithin, matches, operation } from './operation.ts';

const BROKER_BONUSES = seeded(({ times, random, hoursAgo }) =>
  times(45).map((at) => {
    const own = random('bonus', at);
    const [fee, amount, ctime] = [amountUpTo(own, 2, 6), amountUpTo(own, 1, 6), hoursAgo(1 + at * 7)];
    return {
      symbol: PAIRS[at % 2]?.symbol ?? PAIRS[0].symbol,
      amount: exactNumber(amount),
      roleId: 1,
      fee: exactNumber(fee),
      scale: exactNumber('0.2'),
      feeSum: exactNumber(fee),
      pid: FIRST_UID,
      usdtRate: exactNumber('1'),
      mtime: ctime,
      feeSymbol: coinAt(at),
      usdtAmount: exactNumber(amount),
      scaleStr: '20%',
      uid: uidAt(1 + (at % 4)),
      companyId: 1,
      rate: exactNumber('1'),
      amountStr: amount,
      ctime,
      id: idAt(at),
      brokerageType: 1,
      brokerageStats: 1,
    };
  }),
);

/** Section 4.7. */
export const brokerBonuses = operation(
  {
    path: 'record/agent_user_bonus',
    parameters: {
      uid: optional(whole()),
      pid: optional(whole()),
      ctimeStart: optional(whole()),
      ctimeEnd: optional(whole()),
      ...paging(10),
      feeCoinName: optional(text),
    },
  },
  ({ uid, pid, ctimeStart, ctimeEnd, feeCoinName, ...asked }, { state }) => {
    const found = BROKER_BONUSES(state).filter(
      (each) =>
        matches(each, { uid, pid, feeSymbol: feeCoinName }) && isWithin(each.ctime, ctimeStart, ctimeEnd),
    );
    const withUser = found.map((each) => {
      const user = usersOf(state).find((one) => one.uid === each.uid);
      return { ...each, phoneNumber: user?.mobileNumber ?? '', email: user?.email ?? '' };
    });
    return counted(withUser, asked);
  },
);

const CO_AGENT_BONUSES = seeded(({ times, random, hoursAgo }) =>
  times(48).map((at) => {
    const own = random('co-agent', at);
    const [uid, subUid] = [uidAt(1 + (at % 4)), uidAt(5 + (at % 12))];
    return {
      selfVolume: amountUpTo(own, 900),
      amount: amountUpTo(own, 9, 4),
      subVolume: amountUpTo(own, 900),
      scale: exactNumber('0.3'),
      remark: '',
      subUid,
      subAccount: `user-${subUid}`,
      uid,
      superUid: FIRST_UID,
      nickname: `user-${uid}`,
      id: idAt(at),
      userType: own.pick([1, 2]),
      time: hoursAgo(1 + at * 6),
      bonusType: own.pick([1, 2]),
      subLevel: 1 + (at % 2),
      coin: coinAt(at),
      status: at % 4,
    };
  }),
);

/** Section 4.20. `uid` and `pid` are both described as the invitee's UID, and both filter by it. */
export const coAgentBonuses = operation(
  {
    path: 'record/co_agent_user_bonus',
    parameters: {
      coin: optional(text),
      ctimeStart: optional(whole()),
      ctimeEnd: optional(whole()),
      ...paging(10),
      uid: optional(whole()),
      pid: optional(whole()),
      superUid: optional(whole()),
      status: optional(whole(0, 3)),
      levelType: optional(whole(1, 2)),
      userType: optional(whole(1, 2)),
      bonusType: optional(whole(1, 2)),
    },
  },
  ({ ctimeStart, ctimeEnd, page, pageSize, uid, pid, levelType, ...values }, { state }) => {
    const found = CO_AGENT_BONUSES(state).filter(
      (each) =>
        matches(each, { ...values, subUid: uid, subLevel: levelType }) &&
        matches(each, { subUid: pid }) &&
        isWithin(each.time, ctimeStart, ctimeEnd),
    );
    return counted(found, { page, pageSize });
  },
);

const AGENT_USERS = seeded(({ times, random, nowMs }) =>
  times(40).map((at) => {
    const own = random('agent', at);
    return {
      itemDate: nowMs - (nowMs % DAY_MS) - Math.floor(at / USERS) * DAY_MS,
      uid: String(uidAt(at)),
      coin: 'USDT1742',
      tradeAmount: amountUpTo(own, 90_000),
      feeAmount: amountUpTo(own, 90),
    };
  }),
);

/** Section 4.21. */
export const agentUsers = operation(
  {
    path: 'futures/agentUser',
    form: 'bare',
    parameters: { uids: required(listOf(whole())) },
  },
  ({ uids }, { state }) => {
    const list = AGENT_USERS(state).filter(({ uid }) => uids.includes(Number(uid)));
    return { count: String(list.length), list };
  },
);

/** Records of section 2.17. The rules behind the values other than the fees are not published. */
const FEE_SHARES = seeded(({ times, random, nowMs }) =>
  times(42)
    .map((at) => {
      const own = random('fee', at);
      const { symbol, base, quote } = PAIRS[at % PAIRS.length] ?? PAIRS[0];
      const status = own.pick(['0', '1', '3', '3']);
      const [baseFee, quoteFee] = [amountUpTo(own, 2, 6), amountUpTo(own, 100, 4)];
      const rate = own.pick(['0.1', '0.2', '0.35']);
      const [baseRebate, quoteRebate] = [multiplyDecimals(baseFee, rate), multiplyDecimals(quoteFee, rate)];
      const itemDate = String(nowMs - (nowMs % DAY_MS) - (at % 14) * DAY_MS);
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
        itemDate,
        remark: '',
        qouteConvertValue: quoteFee,
        baseRebateFeeValue: baseRebate,
        sumConvertValue: quoteFee,
        rebateConvertValue: quoteRebate,
        volumeDivideRate: '0',
        quoteRate: '1',
        rateTime: itemDate,
        rebateRate: rate,
        rebate: null,
        countTime: itemDate,
        qouteConvertValueStr: quoteFee,
        billingStatus: status,
        baseValueSub: baseRebate,
      };
    })
    .sort((a, b) => Number(b.itemDate) - Number(a.itemDate)),
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
      ...paging(10),
      billstatus: optional(oneOf('0', '1', '3', '-999')),
    },
  },
  ({ symbol, itemDateStart, itemDateEnd, billstatus, ...asked }, { state, nowMs }) => {
    const isOpen = itemDateStart === undefined && itemDateEnd === undefined;
    const fromMs = isOpen ? nowMs - LATEST_MS : itemDateStart;
    const status = billstatus === '-999' ? undefined : billstatus;
    const found = FEE_SHARES(state).filter(
      (each) =>
        matches(each, { symbol, billingStatus: status }) &&
        isWithin(Number(each.itemDate), fromMs, itemDateEnd),
    );
    return counted(found, asked);
  },
);
