import { decimalText } from '../decimal.ts';
import { type Json, exactNumber } from '../json.ts';
import { byDefault, optional, page, pageSize, userNames, whole } from '../parameters.ts';
import { idAt, seeded, uidAt } from '../seed.ts';
import { DAY_MS } from '../time.ts';
import { isWithin, operation, pageOf, userNamed } from './operation.ts';

const HUNDREDTH = 10n ** 16n;

/** Records of section 2.10, newest first, each with its advert, which has numbers for amounts and rates. */
const OTC_TRADES = seeded(({ times, random, hoursAgo }) =>
  times(40).map((at) => {
    const own = random('otc', at);
    const [cents, count] = [BigInt(own.whole(680, 720)), BigInt(own.whole(10, 5000))];
    const [price, id, createTime] = [decimalText(cents * HUNDREDTH), idAt(2 * at), hoursAgo(1 + at * 5)];
    return {
      sidCid: 1,
      totalPrice: decimalText(cents * count * HUNDREDTH),
      payTime: at % 4 === 0 ? null : createTime + 60_000,
      advert: {
        id: id + 1,
        userId: uidAt(at + 1),
        status: 1,
        side: 'SELL',
        coin: COIN,
        country: 'CN',
        paycoin: 'CNY',
        payment: 'bank',
        bankname: '',
        priceRate: 1,
        priceRateType: 0,
        price: exactNumber(price),
        volume: exactNumber(String(2n * count)),
        feeRate: 0,
        minTrade: 10,
        maxTrade: 50_000,
        beginDate: createTime - DAY_MS,
        endDate: createTime + DAY_MS,
        limitTime: 15,
        terms: '',
        description: '',
        authType: 1,
        minvolume: 1,
        sell: 0,
        beginTime: '00:00',
        endTime: '23:59',
        ctime: createTime - DAY_MS,
        personalFeeDiscount: 1,
        dealVolume: exactNumber(String(count)),
        muid: uidAt(at + 1),
        mtime: createTime,
        autoReply: '',
        openType: 0,
        numberCode: '86',
        companyId: 1,
        isBlockTrade: 0,
        lastPrice: exactNumber(price),
        initMaxTrade: 50_000,
      },
      buyerId: uidAt(at),
      adsOwner: uidAt(at + 1),
      adsId: id + 1,
      buyerComment: '',
      sellerComment: '',
      buyerCommentGrade: 0,
      payCoin: 'CNY',
      volume: String(count),
      bidCid: 1,
      sequence: `T${id}`,
      feeAmount: null,
      sellerCommnetGrade: 0,
      coinSymbol: COIN,
      sellerId: uidAt(at + 1),
      createTime,
      price,
      id,
      status: own.pick([1, 2, 3, 4]),
      isBlockTrade: 0,
    };
  }),
);

const COIN = 'USDT1742';

/** Section 4.11. `pageNumber` is the size of a page. */
export const otcTrades = operation(
  {
    path: 'user/v2/otcTradeRecord',
    form: 'message',
    parameters: {
      ...userNames,
      page: byDefault(1, page),
      pageNumber: byDefault(1000, pageSize),
      startTime: optional(whole()),
      endTime: optional(whole()),
    },
  },
  ({ userId, startTime, endTime, pageNumber, page: number, ...names }, { state }): Json => {
    const { uid } = userNamed(state, { ...names, uid: userId });
    const found = OTC_TRADES(state).filter(
      ({ buyerId, sellerId, createTime }) =>
        (buyerId === uid || sellerId === uid) && isWithin(createTime, startTime, endTime),
    );
    return pageOf(found, { page: number, pageSize: pageNumber });
  },
);
