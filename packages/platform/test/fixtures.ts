import type { Platform } from '../client.ts';
import { exampleData } from '../examples.ts';

/** One operation: a call, what must be sent, an answer with every field of section 2, and its reading. */
export interface Fixture {
  readonly command: string;
  readonly call: (platform: Platform) => Promise<unknown>;
  /** The parameters with their JSON kinds. A bigint is a JSON number that JavaScript's numbers can't hold. */
  readonly sent: Readonly<Record<string, unknown>>;
  /** The JSON text of `data`: that of packages/platform/examples.ts, unless the row has its own. */
  readonly data: string;
  readonly read: unknown;
  /**
   * The members that may be missing. `a.*` is every member of `a`, `^a` is only the member at the top, and
   * `~a` is one whose absence leaves it out of the reading.
   */
  readonly optional: readonly string[];
}

/** An id above 2^53, and what a JavaScript number would make of it. */
export const BIG = '9007199254740993123';

interface Row extends Pick<Fixture, 'command' | 'call' | 'sent'> {
  readonly data?: string;
  /** The members that are read as numbers. All others are read exactly as they are written. */
  readonly numbers?: string;
  /** What is read otherwise, such as members that are read into another one. */
  readonly read?: unknown;
  readonly optional?: readonly string[];
}

const rows: readonly Row[] = [
  {
    command: 'exchange-code',
    call: (platform) => platform.tokens.exchange({ code: 'code-that-works-once' }),
    sent: { appKey: 'key-of-the-shop', code: 'code-that-works-once' },
    numbers: 'expireIn',
  },
  {
    command: 'refresh-token',
    call: (platform) => platform.tokens.refresh({ openId: 'o-1', token: 't-1', refreshToken: 'r-1' }),
    sent: { openId: 'o-1', token: 't-1', refreshToken: 'r-1' },
    numbers: 'expireIn',
  },
  {
    command: 'pay',
    call: (platform) =>
      platform.payments.create({
        userId: 12345,
        appOrderId: '11321',
        orderAmount: '100.50',
        payCoinSymbol: 'USDT1742',
      }),
    sent: { userId: '12345', appOrderId: '11321', orderAmount: '100.50', payCoinSymbol: 'USDT1742' },
    data: `{"anything":[1.50,"x",null,true]}`,
    optional: ['*'],
  },
  {
    command: 'orders',
    call: (platform) =>
      platform.orders.list({
        symbol: 'btcusdt',
        startDate: '2026-03-01T00:00:00Z',
        endDate: 1772409600000,
        pageSize: 1000,
      }),
    sent: { symbol: 'btcusdt', startDate: 1772323200000, endDate: 1772409600000, page: 1, pageSize: 1000 },
    numbers: 'count page pageSize orderType type status source ctime',
    optional: ['showSymbol', 'type'],
  },
  {
    command: 'accounts',
    call: (platform) => platform.accounts.listChanged({ updateTime: '2026-03-02T10:00:00Z' }),
    sent: { updateTime: 1772445600000 },
    numbers: 'updateTime',
    optional: ['showName'],
  },
  {
    command: 'deposits',
    call: (platform) => platform.deposits.list({ userId: '10001' }),
    sent: { userId: '10001', pageSize: '20', pageNumber: '1' },
    numbers: 'createdAt status depositType riskLevel',
    optional: ['addressTo', 'txid', 'statusDesc', 'mobileNumber', 'email'],
  },
  {
    command: 'invitations',
    call: (platform) => platform.invitations.list({ uid: 10001, emailOrPhone: '+86 15000000000' }),
    sent: { uid: '10001', emailOrPhone: '+86 15000000000', page: '1', pageSize: '100' },
    numbers: 'levelOneCount levelTwoCount level',
    optional: ['nickname', 'inviteCode', 'invitedNickname', 'invitedCode', 'phone', 'email', 'childLevel'],
  },
  {
    command: 'broker-shares',
    call: (platform) =>
      platform.brokerShares.list({
        uid: '10001',
        pid: 10000,
        ctimeStart: 1,
        ctimeEnd: '2',
        feeCoinName: 'USDT',
      }),
    sent: {
      uid: '10001',
      pid: '10000',
      ctimeStart: '1',
      ctimeEnd: '2',
      pageSize: '10',
      page: '1',
      feeCoinName: 'USDT',
    },
    numbers: 'count mtime ctime brokerageType brokerageStats',
    optional: ['scaleStr', 'phoneNumber', 'amountStr', 'email'],
  },
  {
    command: 'wallet-addresses',
    call: (platform) =>
      platform.walletAddresses.list({ walletType: 4, symbol: 'USDT1742', uid: 9007199254740993123n }),
    sent: { walletType: 4, symbol: 'USDT1742', uid: BigInt(BIG), page: 1, pageSize: 100 },
    numbers: 'count pageSize page',
    optional: ['tag'],
  },
  {
    command: 'wallet-symbols',
    call: (platform) =>
      platform.walletSymbols.list({
        walletType: '1',
        symbol: 'USDT1742',
        walletSymbol: 'USDTTRC20',
        page: 1,
        pageSize: 50,
      }),
    sent: { walletType: 1, symbol: 'USDT1742', walletSymbol: 'USDTTRC20', page: 1, pageSize: 50 },
    numbers: 'count page pageSize walletType',
  },
  {
    command: 'other-transfers',
    call: (platform) =>
      platform.otherTransfers.list({ transactionScene: 'mining reward', uid: '10001', coinSymbol: 'BTC' }),
    sent: { uid: '10001', coinSymbol: 'BTC', pageSize: '10', page: '1', transactionScene: 'mining reward' },
    numbers: 'createdAtTime status',
  },
  {
    command: 'otc-trades',
    call: (platform) =>
      platform.otcTrades.list({
        openId: 'o-1',
        startTime: 5,
        endTime: '2026-03-02T10:00:00Z',
        pageNumber: 1000,
      }),
    sent: { openId: 'o-1', page: '1', pageNumber: '1000', startTime: '5', endTime: '1772445600000' },
    numbers:
      'payTime status beginDate endDate ctime mtime isBlockTrade buyerCommentGrade sellerCommnetGrade createTime',
    optional: [
      'payTime',
      'advert',
      'buyerComment',
      'sellerComment',
      'buyerCommentGrade',
      'feeAmount',
      'sellerCommnetGrade',
      'advert.*',
    ],
  },
  {
    command: 'coupons',
    call: (platform) =>
      platform.coupons.list({
        uid: ['10001', 10002],
        timeStart: '2026-03-01 00:00:00',
        timeEnd: '2026-03-02 23:59:59',
        sn: 'act-1',
        status: 2,
      }),
    sent: {
      uid: '10001,10002',
      timeStart: '2026-03-01 00:00:00',
      timeEnd: '2026-03-02 23:59:59',
      sn: 'act-1',
      status: '2',
      page: '1',
      pageSize: '100',
    },
    numbers: 'count time status',
  },
  {
    command: 'coin-gifts',
    call: (platform) => platform.coinGifts.list({ uid: '10001', ctimeStart: 1, ctimeEnd: 2 }),
    sent: { uid: '10001', ctimeStart: '1', ctimeEnd: '2', page: '1' },
    numbers: 'ctime count pageSize page ctimeStart ctimeEnd',
    optional: ['^uid', 'typeName', 'title', 'type', 'ctimeStart', 'ctimeEnd'],
  },
  {
    command: 'assets',
    call: (platform) =>
      platform.assets.search({ userId: '10001', coinSymbols: ['BTC', 'USDT1742'], assetType: 201 }),
    sent: { userId: '10001', coinSymbols: 'BTC,USDT1742', assetType: '201' },
    read: {
      accounts: [{ uid: BIG, balance: '10.000', tag: 'general', type: '2010001' }],
      precision: { btc: '8', usdt1742: '4' },
    },
    optional: ['tag', '~btcPrecision', '~usdt1742Precision'],
  },
  {
    command: 'login-token',
    call: (platform) =>
      platform.loginTokens.create({
        apiKey: 'api-key-of-the-shop',
        secret: 'secret-of-the-api-key',
        uid: '10001',
      }),
    sent: { apiKey: 'api-key-of-the-shop', secret: 'secret-of-the-api-key', uid: '10001' },
    optional: ['inviteCode'],
  },
  {
    command: 'recover-coupon',
    call: (platform) => platform.coupons.recover({ id: 9007199254740993123n }),
    sent: { id: BigInt(BIG) },
  },
  {
    command: 'bill',
    call: (platform) => platform.bill.list({ day: '2026-03-02', orderType: 11, userId: BIG, pageSize: 2000 }),
    sent: {
      day: '2026-03-02',
      orderType: '11',
      userId: BigInt(BIG),
      pageNum: '1',
      pageSize: '2000',
    },
    numbers: 'count orderType',
    optional: ['openId', 'payTime'],
  },
  {
    command: 'symbols',
    call: (platform) => platform.symbols.list({}),
    sent: {},
    numbers: 'showPrecision isQuote isOpen depositOpen withdrawOpen otcOpen depositConfirm',
    optional: ['contractAddress', 'tokenBase', 'name'],
  },
  {
    command: 'fee-shares',
    call: (platform) =>
      platform.feeShares.list({ symbol: 'btcusdt', itemDateStart: 1, itemDateEnd: 2, billstatus: -999 }),
    sent: {
      symbol: 'btcusdt',
      itemDateStart: '1',
      itemDateEnd: '2',
      pageSize: '10',
      page: '1',
      billstatus: '-999',
    },
    numbers: 'count itemDate rateTime countTime',
    optional: [
      'remark',
      'rebateRateSymbol',
      'quoteRateSymbol',
      'baseRateSymbol',
      'baseRebateFeeValueStr',
      'qouteConvertValueStr',
      'rebate',
    ],
  },
  {
    command: 'co-agent-bonuses',
    call: (platform) =>
      platform.coAgentBonuses.list({
        coin: 'USDT',
        ctimeStart: 1,
        ctimeEnd: 2,
        uid: 1,
        pid: 2,
        superUid: 3,
        status: 0,
        levelType: 1,
        userType: 2,
        bonusType: 1,
      }),
    sent: {
      coin: 'USDT',
      ctimeStart: '1',
      ctimeEnd: '2',
      pageSize: '10',
      page: '1',
      uid: '1',
      pid: '2',
      superUid: '3',
      status: '0',
      levelType: '1',
      userType: '2',
      bonusType: '1',
    },
    numbers: 'count userType time bonusType subLevel status',
    optional: ['remark', 'subAccount', 'nickname'],
  },
  {
    command: 'agents',
    call: (platform) => platform.agents.list({ uids: [10001, '10002'] }),
    sent: { uids: '10001,10002' },
    numbers: 'count itemDate',
  },
];

export const fixtures: readonly Fixture[] = rows.map(({ numbers = '', optional = [], ...row }) => {
  const data = row.data ?? exampleData[row.command] ?? '';
  return { read: readingOf(data, numbers.split(' ')), ...row, data, optional };
});

/** The JSON with each number as its text, but those of some members. */
function readingOf(json: string, numbers: readonly string[]): unknown {
  return JSON.parse(
    json,
    (name: string, value: unknown, { source }: { readonly source?: string } = {}): unknown => {
      const isScalar = typeof value === 'number' || typeof value === 'string';
      if (isScalar && numbers.includes(name)) return Number(value);
      return typeof value === 'number' ? source : value;
    },
  );
}
