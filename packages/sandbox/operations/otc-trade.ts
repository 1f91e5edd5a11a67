import { decimalText, readDecimal } from '../decimal.ts';
import { type Json, exactNumber } from '../json.ts';
import type { State } from '../state.ts';
import { DAY_MS } from '../time.ts';

/** A record of section 2.10, with its advert. */
export function otcTradeJson(trade: State['otcTrades'][number]): Json {
  return {
    sidCid: 1,
    totalPrice: trade.totalPrice,
    payTime: trade.paidAtMs,
    advert: advertJson(trade),
    buyerId: trade.buyerId,
    adsOwner: trade.sellerId,
    adsId: trade.id + 1,
    buyerComment: '',
    sellerComment: '',
    buyerCommentGrade: 0,
    payCoin: 'CNY',
    volume: trade.volume,
    bidCid: 1,
    sequence: `T${trade.id}`,
    feeAmount: null,
    sellerCommnetGrade: 0,
    coinSymbol: trade.coinSymbol,
    sellerId: trade.sellerId,
    createTime: trade.createdAtMs,
    price: trade.price,
    id: trade.id,
    status: trade.status,
    isBlockTrade: 0,
  };
}

/** The advert has numbers for amounts and rates. */
function advertJson({
  id,
  sellerId,
  coinSymbol,
  price,
  volume,
  createdAtMs,
}: State['otcTrades'][number]): Json {
  const beginMs = createdAtMs - DAY_MS;
  const twice = exactNumber(decimalText(2n * (readDecimal(volume) ?? 0n)));
  return {
    id: id + 1,
    userId: sellerId,
    status: 1,
    side: 'SELL',
    coin: coinSymbol,
    country: 'CN',
    paycoin: 'CNY',
    payment: 'bank',
    bankname: '',
    priceRate: exactNumber('1'),
    priceRateType: 0,
    price: exactNumber(price),
    volume: twice,
    feeRate: exactNumber('0'),
    minTrade: exactNumber('10'),
    maxTrade: exactNumber('50000'),
    beginDate: beginMs,
    endDate: createdAtMs + DAY_MS,
    limitTime: 15,
    terms: '',
    description: '',
    authType: 1,
    minvolume: exactNumber('1'),
    sell: exactNumber('0'),
    beginTime: '00:00',
    endTime: '23:59',
    ctime: beginMs,
    personalFeeDiscount: exactNumber('1'),
    dealVolume: exactNumber(volume),
    muid: sellerId,
    mtime: createdAtMs,
    autoReply: '',
    openType: 0,
    numberCode: '86',
    companyId: 1,
    isBlockTrade: 0,
    lastPrice: exactNumber(price),
    initMaxTrade: exactNumber('50000'),
  };
}
