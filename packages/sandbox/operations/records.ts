import { GIFT_TYPES, PAIRS, SCENES } from '../coins.ts';
import { decimalText, readDecimal, subtractDecimals } from '../decimal.ts';
import type { Json } from '../json.ts';
import { byDefault, listOf, optional, page, pageSize, refuse, required, text, whole } from '../parameters.ts';
import { Refusal } from '../refusal.ts';
import { DAY_MS } from '../time.ts';
import { isWithin, matches, newestFirst, operation, pageOf, userNamed } from './operation.ts';
import { otcTradeJson } from './otc-trade.ts';

const RANGE_MAX_MS = 7 * DAY_MS;

/** Section 4.3. */
export const orders = operation(
  {
    path: 'record/queryOrderPageByTime',
    parameters: {
      symbol: required(text),
      startDate: required(whole()),
      endDate: required(whole()),
      page: byDefault(1, page),
      pageSize: byDefault(20, pageSize),
    },
  },
  ({ symbol, startDate, endDate, page: number, pageSize: size }, { state }) => {
    const pair = PAIRS.find((each) => each.symbol === symbol);
    if (pair === undefined) refuse('symbol', `is none of ${PAIRS.map((each) => each.symbol).join(', ')}`);
    if (endDate < startDate) refuse('endDate', 'is before startDate');
    if (endDate - startDate > RANGE_MAX_MS) refuse('endDate', 'is more than 7 days after startDate');
    const found = newestFirst(
      state.orders.filter((each) => each.symbol === symbol && isWithin(each.createdAtMs, startDate, endDate)),
      ({ createdAtMs }) => createdAtMs,
    );
    return {
      count: found.length,
      page: number,
      pageSize: size,
      list: pageOf(found, number, size).map(({ createdAtMs, ...order }) => ({
        id: order.id,
        userId: order.userId,
        side: order.side,
        orderType: order.orderType,
        status: order.status,
        source: order.source,
        symbol,
        showSymbol: PAIRS.find((each) => each.symbol === symbol)?.showSymbol ?? symbol,
        price: order.price,
        volume: order.volume,
        avgPrice: order.dealVolume === '0' ? '0' : order.price,
        dealMoney: product(order.price, order.dealVolume),
        dealVolume: order.dealVolume,
        ctime: createdAtMs,
      })),
    };
  },
);

const PRODUCT_UNIT = 10n ** 18n;

/** The exact product of two decimals with at most nine decimal places each. */
function product(a: string, b: string): string {
  const units = ((readDecimal(a) ?? 0n) * (readDecimal(b) ?? 0n)) / PRODUCT_UNIT;
  return decimalText(units);
}

/** Section 4.10. */
export const otherTransfers = operation(
  {
    path: 'record/otherTransferList',
    parameters: {
      uid: optional(whole()),
      coinSymbol: optional(text),
      page: byDefault(1, page),
      pageSize: byDefault(10, pageSize),
      transactionScene: required(text),
    },
  },
  ({ uid, coinSymbol, page: number, pageSize: size, transactionScene }, { state, zone }) => {
    if (!SCENES.some((scene) => scene === transactionScene)) {
      throw new Refusal('70009', `transactionScene is none of ${SCENES.join(', ')}`);
    }
    const found = newestFirst(
      state.otherTransfers.filter(
        (each) =>
          each.transactionScene === transactionScene &&
          matches(each.uid, uid) &&
          matches(each.coinSymbol, coinSymbol),
      ),
      ({ createdAtMs }) => createdAtMs,
    );
    return {
      financeList: pageOf(found, number, size).map(({ createdAtMs, ...each }) => ({
        id: each.id,
        uid: each.uid,
        amount: each.amount,
        coinSymbol: each.coinSymbol,
        createTime: zone.textOf(createdAtMs),
        transactionScene,
        createdAtTime: createdAtMs,
        status: each.status,
      })),
    };
  },
);

/** Section 4.11. `pageNumber` is the size of a page. */
export const otcTrades = operation(
  {
    path: 'user/v2/otcTradeRecord',
    form: 'message',
    parameters: {
      openId: optional(text),
      userId: optional(whole()),
      mobileNumber: optional(text),
      email: optional(text),
      page: byDefault(1, page),
      pageNumber: byDefault(1000, pageSize),
      startTime: optional(whole()),
      endTime: optional(whole()),
    },
  },
  (values, { state }): Json => {
    const { openId, userId, mobileNumber, email, startTime, endTime } = values;
    const { uid } = userNamed(state, { openId, uid: userId, mobileNumber, email });
    const found = newestFirst(
      state.otcTrades.filter(
        ({ buyerId, sellerId, createdAtMs }) =>
          (buyerId === uid || sellerId === uid) && isWithin(createdAtMs, startTime, endTime),
      ),
      ({ createdAtMs }) => createdAtMs,
    );
    return pageOf(found, values.page, values.pageNumber).map(otcTradeJson);
  },
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
  ({ uid: uids, timeStart, timeEnd, sn, status, page: number, pageSize: size }, { state, zone }) => {
    const instant = (written: string | undefined, name: string): number | undefined => {
      if (written === undefined) return undefined;
      return zone.instantOf(written) ?? refuse(name, 'is not written as yyyy-MM-dd HH:mm:ss');
    };
    const [fromMs, untilMs] = [instant(timeStart, 'timeStart'), instant(timeEnd, 'timeEnd')];
    const found = newestFirst(
      state.coupons.filter(
        (each) =>
          (uids === undefined || uids.includes(each.uid)) &&
          isWithin(each.timeMs, fromMs, untilMs) &&
          matches(each.sn, sn) &&
          matches(each.status, status),
      ),
      ({ timeMs }) => timeMs,
    );
    return {
      count: found.length,
      mapList: pageOf(found, number, size).map((each) => ({
        id: each.id,
        sn: each.sn,
        amount: each.amount,
        uid: each.uid,
        time: each.timeMs,
        amountSup: each.amountSup,
        amountUse: each.amountUse,
        amountBack: each.amountBack,
        status: each.status,
        coin: each.coin,
      })),
    };
  },
);

/** Section 4.16. Only what is to be recovered can be, so each coupon is recovered once. */
export const recoverCoupon = operation(
  {
    path: 'futures/coupon/recovery',
    parameters: { id: required(whole()) },
  },
  ({ id }, { state }) => {
    const coupon = state.coupons.find((each) => each.id === id);
    if (coupon === undefined) return refuse('id', 'is not a coupon');
    if (coupon.status === 3) throw new Refusal('10015', `coupon ${id} was already recovered`);
    if (coupon.status !== 2) throw new Refusal('10015', `coupon ${id} is not to be recovered`);
    coupon.status = 3;
    coupon.amountBack = subtractDecimals(coupon.amount, coupon.amountUse);
    return null;
  },
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
    const found = newestFirst(
      state.gifts.filter(
        (each) => matches(each.uid, uid) && isWithin(each.createdAtMs, ctimeStart, ctimeEnd),
      ),
      ({ createdAtMs }) => createdAtMs,
    );
    return {
      uid: uid ?? null,
      presentRecordList: pageOf(found, number, GIFTS_PAGE).map((each) => ({
        uid: String(each.uid),
        symbol: each.symbol,
        ctimeStr: zone.textOf(each.createdAtMs),
        amount: each.amount,
        typeName: each.typeName,
        ctime: each.createdAtMs,
        opUid: each.opUid,
      })),
      persentTypeArr: GIFT_TYPES.map(({ present_type, title }) => ({
        present_type,
        used: found.some(({ typeName }) => typeName === present_type),
        title,
      })),
      count: found.length,
      pageSize: GIFTS_PAGE,
      page: number,
      type: null,
      ctimeStart: ctimeStart ?? null,
      ctimeEnd: ctimeEnd ?? null,
    };
  },
);
