import { GIFT_TYPES, PAIRS, SCENES } from '../coins.ts';
import { multiplyDecimals, subtractDecimals } from '../decimal.ts';
import {
  byDefault,
  listOf,
  optional,
  page,
  pageSize,
  paging,
  refuse,
  required,
  text,
  whole,
} from '../parameters.ts';
import { Refusal } from '../refusal.ts';
import { amountUpTo, coinAt, idAt, seeded, uidAt } from '../seed.ts';
import type { State } from '../state.ts';
import { DAY_MS } from '../time.ts';
import { counted, isWithin, matches, operation, pageOf } from './operation.ts';

/*
 * Seeded records, newest first. They are as they are answered, without the times that are written in the
 * platform's time zone.
 */

const ORDERS = seeded(({ times, random, hoursAgo }) =>
  times(120).map((at) => {
    const own = random('order', at);
    const { symbol, showSymbol, price } = PAIRS[at % 2] ?? PAIRS[0];
    const status = own.pick([2, 2, 2, 3, 4, 1, 0, 5, 6]);
    const volume = amountUpTo(own, 3, 4);
    const dealVolume = status === 2 ? volume : '0';
    return {
      id: idAt(at),
      userId: uidAt(at),
      side: own.pick(['BUY', 'SELL']),
      orderType: own.pick([1, 1, 1, 2, 3]),
      status,
      source: own.pick([1, 2, 3, 6]),
      symbol,
      showSymbol,
      price,
      volume,
      avgPrice: status === 2 ? price : '0',
      dealMoney: multiplyDecimals(price, dealVolume),
      dealVolume,
      ctime: hoursAgo(1 + at * 2),
    };
  }),
);

const RANGE_MAX_MS = 7 * DAY_MS;

/** Section 4.3. */
export const orders = operation(
  {
    path: 'record/queryOrderPageByTime',
    parameters: {
      symbol: required(text),
      startDate: required(whole()),
      endDate: required(whole()),
      ...paging(20),
    },
  },
  ({ symbol, startDate, endDate, ...asked }, { state }) => {
    const symbols = PAIRS.map((each) => each.symbol);
    if (!symbols.some((each) => each === symbol)) refuse('symbol', `is none of ${symbols.join(', ')}`);
    if (endDate < startDate) refuse('endDate', 'is before startDate');
    if (endDate - startDate > RANGE_MAX_MS) refuse('endDate', 'is more than 7 days after startDate');
    const found = ORDERS(state).filter(
      (each) => each.symbol === symbol && isWithin(each.ctime, startDate, endDate),
    );
    return { ...counted(found, asked), ...asked };
  },
);

const OTHER_TRANSFERS = seeded(({ times, random, hoursAgo }) =>
  times(36).map((at) => ({
    id: idAt(at),
    uid: uidAt(at),
    amount: amountUpTo(random('transfer', at), 50),
    coinSymbol: coinAt(at),
    transactionScene: SCENES[at % SCENES.length] ?? SCENES[0],
    createdAtTime: hoursAgo(1 + at * 4),
    status: 1,
  })),
);

/** Section 4.10. */
export const otherTransfers = operation(
  {
    path: 'record/otherTransferList',
    parameters: {
      uid: optional(whole()),
      coinSymbol: optional(text),
      ...paging(10),
      transactionScene: required(text),
    },
  },
  ({ uid, coinSymbol, transactionScene, ...asked }, { state, zone }) => {
    if (!SCENES.some((scene) => scene === transactionScene)) {
      throw new Refusal('70009', `transactionScene is none of ${SCENES.join(', ')}`);
    }
    const found = OTHER_TRANSFERS(state).filter((each) =>
      matches(each, { uid, coinSymbol, transactionScene }),
    );
    return {
      financeList: pageOf(found, asked).map((each) => ({
        ...each,
        createTime: zone.textOf(each.createdAtTime),
      })),
    };
  },
);

const COUPONS = seeded(({ times, random, hoursAgo }) =>
  times(30).map((at) => {
    const own = random('coupon', at);
    const amount = own.whole(10, 100);
    const used = own.whole(0, amount);
    /** 1 received, 2 to be recovered, 3 recovered. */
    const status = (at % 3) + 1;
    return {
      id: idAt(at),
      sn: `activity-${1 + (at % 3)}`,
      amount: String(amount),
      uid: uidAt(at),
      time: hoursAgo(1 + at * 6),
      amountSup: '0',
      amountUse: String(used),
      amountBack: status === 3 ? String(amount - used) : '0',
      status,
      coin: 'USDT1742',
    };
  }),
);

const couponsOf = (state: State) =>
  COUPONS(state).map((each) =>
    state.recoveredCoupons.includes(each.id)
      ? { ...each, status: 3, amountBack: subtractDecimals(each.amount, each.amountUse) }
      : each,
  );

/** Section 4.12. */
export const coupons = operation(
  {
    path: 'futures/coupon/recordList',
    parameters: {
      uid: optional(listOf(whole())),
      timeStart: optional(text),
      timeEnd: optional(text),
      sn: optional(text),
      status: optional(whole(1, 3)),
      page: required(page),
      pageSize: required(pageSize),
    },
  },
  ({ uid: uids, timeStart, timeEnd, sn, status, ...asked }, { state, zone }) => {
    const instant = (written: string | undefined, name: string): number | undefined => {
      if (written === undefined) return undefined;
      return zone.instantOf(written) ?? refuse(name, 'is not written as yyyy-MM-dd HH:mm:ss');
    };
    const [fromMs, untilMs] = [instant(timeStart, 'timeStart'), instant(timeEnd, 'timeEnd')];
    const found = couponsOf(state).filter(
      (each) =>
        (uids === undefined || uids.includes(each.uid)) &&
        isWithin(each.time, fromMs, untilMs) &&
        matches(each, { sn, status }),
    );
    return { count: found.length, mapList: pageOf(found, asked) };
  },
);

/** Section 4.16. Only what is to be recovered can be, so each coupon is recovered once. */
export const recoverCoupon = operation(
  {
    path: 'futures/coupon/recovery',
    parameters: { id: required(whole()) },
  },
  ({ id }, { state }) => {
    const coupon = couponsOf(state).find((each) => each.id === id);
    if (coupon === undefined) return refuse('id', 'is not a coupon');
    if (coupon.status === 3) throw new Refusal('10015', `coupon ${id} was already recovered`);
    if (coupon.status !== 2) throw new Refusal('10015', `coupon ${id} is not to be recovered`);
    state.recoveredCoupons.push(id);
    return null;
  },
);

const GIFTS = seeded(({ times, random, hoursAgo }) =>
  times(250).map((at) => {
    const own = random('gift', at);
    return {
      uid: uidAt(at),
      symbol: coinAt(at),
      amount: amountUpTo(own, 5),
      typeName: own.pick([GIFT_TYPES[0].present_type, GIFT_TYPES[1].present_type]),
      ctime: hoursAgo(1 + at),
      opUid: 0,
    };
  }),
);

const GIFTS_PAGE = 100;

/** Section 4.13. The size of a page is fixed. */
export const gifts = operation(
  {
    path: 'record/presentCoinList',
    parameters: {
      uid: optional(whole()),
      ctimeStart: optional(whole()),
      ctimeEnd: optional(whole()),
      page: byDefault(1, page),
    },
  },
  ({ uid, ctimeStart, ctimeEnd, page: number }, { state, zone }) => {
    const asked = { page: number, pageSize: GIFTS_PAGE };
    const found = GIFTS(state).filter(
      (each) => matches(each, { uid }) && isWithin(each.ctime, ctimeStart, ctimeEnd),
    );
    return {
      uid: uid ?? null,
      presentRecordList: pageOf(found, asked).map((each) => ({
        ...each,
        uid: String(each.uid),
        ctimeStr: zone.textOf(each.ctime),
      })),
      persentTypeArr: GIFT_TYPES.map(({ present_type, title }) => ({
        present_type,
        used: found.some(({ typeName }) => typeName === present_type),
        title,
      })),
      count: found.length,
      ...asked,
      type: null,
      ctimeStart: ctimeStart ?? null,
      ctimeEnd: ctimeEnd ?? null,
    };
  },
);
