import { describe, expect, it } from 'vitest';
import { OPERATIONS } from '../operations/registry.ts';
import {
  NOW_MS,
  type Params,
  SCHEMES,
  type SandboxUser,
  type TestSandbox,
  keysOf,
  signedBy,
  startAnswered,
  usersOf,
} from './sandbox.ts';

const DAY_MS = 86_400_000;
const number: unknown = expect.any(Number);
const string: unknown = expect.any(String);
const texts = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, string]));
const numbers = (names: string) => Object.fromEntries(names.split(' ').map((name) => [name, number]));

interface Case {
  /** The section of the specification. */
  readonly section: string;
  readonly path: string;
  readonly params: (user: SandboxUser, sandbox: TestSandbox) => Params | Promise<Params>;
  /** The whole of data; in a list, of its first record. */
  readonly data: unknown;
}

const listOf = (record: unknown): unknown => expect.arrayContaining([record]);
const week = { startDate: NOW_MS - 6 * DAY_MS, endDate: NOW_MS };

const invited = {
  ...numbers('uid invitedUid'),
  ...texts('nickname inviteCode invitedNickname invitedCode phone email ctime'),
};
const advert = {
  ...numbers('id userId status priceRate priceRateType price volume feeRate minTrade maxTrade beginDate'),
  ...numbers('endDate limitTime authType minvolume sell ctime personalFeeDiscount dealVolume muid mtime'),
  ...numbers('openType companyId isBlockTrade lastPrice initMaxTrade'),
  ...texts('side coin country paycoin payment bankname terms description beginTime endTime autoReply'),
  ...texts('numberCode'),
};

const CASES: readonly Case[] = [
  {
    section: '4.1',
    path: 'auth/token',
    params: async (user, sandbox) => {
      const { code } = (await sandbox.steer({ command: 'login', uid: user.uid })) as { code: string };
      return { code };
    },
    data: { ...texts('openId expireIn refreshToken token') },
  },
  {
    section: '4.2',
    path: 'opay/transferToMerchantAuth',
    params: () => ({ userId: '12345', appOrderId: 'o-1', orderAmount: '1.5', payCoinSymbol: 'BTC' }),
    data: null,
  },
  {
    section: '4.3',
    path: 'record/queryOrderPageByTime',
    params: () => ({ symbol: 'btcusdt', ...week, page: '1', pageSize: '5' }),
    data: {
      count: number,
      page: 1,
      pageSize: 5,
      list: listOf({
        ...numbers('id userId orderType status source ctime'),
        ...texts('side symbol showSymbol price volume avgPrice dealMoney dealVolume'),
      }),
    },
  },
  {
    section: '4.4',
    path: 'ouser/batchQueryUserAccountsByUpdateTime',
    params: () => ({ updateTime: NOW_MS - DAY_MS }),
    data: {
      accounts: listOf(texts('id uid balance type coin showName updateTime')),
    },
  },
  {
    section: '4.5',
    path: 'user/depositRecord',
    params: (user) => ({ openId: user.openId, userId: '1', pageSize: '1000' }),
    data: listOf({
      ...numbers('id uid createdAt status depositType riskLevel'),
      ...texts('symbol addressTo amount txid statusDesc mobileNumber email'),
    }),
  },
  {
    section: '4.6',
    path: 'user/user_invite',
    params: (user) => ({ uid: user.uid, openId: 'nobody' }),
    data: {
      levelOneCount: 4,
      levelTwoCount: 12,
      cuerrentUser: {
        uid: 12_345,
        invitedUid: -1,
        ...texts('nickname inviteCode invitedCode ctime'),
      },
      userExtInviteVoList: listOf({
        ...invited,
        level: 1,
        childLevel: listOf({ ...invited, level: 2 }),
      }),
    },
  },
  {
    section: '4.7',
    path: 'record/agent_user_bonus',
    params: () => ({ pid: '12345', ctimeStart: '0' }),
    data: {
      count: 45,
      list: listOf({
        ...numbers('amount roleId fee scale feeSum pid usdtRate mtime usdtAmount uid companyId rate ctime'),
        ...numbers('id brokerageType brokerageStats'),
        ...texts('symbol feeSymbol scaleStr phoneNumber amountStr email'),
      }),
    },
  },
  {
    section: '4.8',
    path: 'wallet/v2/addressMapping',
    params: () => ({ walletType: 4, symbol: 'BTC,ETH', pageSize: 3 }),
    data: [
      {
        symbol: 'BTC',
        count: 20,
        pageSize: 3,
        page: 1,
        walletSymbol: 'BTC',
        list: listOf({ ...numbers('uid walletUid'), ...texts('address tag') }),
      },
      { symbol: 'ETH', count: 20, pageSize: 3, page: 1, walletSymbol: 'ETH', list: expect.anything() },
    ],
  },
  {
    section: '4.9',
    path: 'wallet/symbolMapping',
    params: () => ({ walletType: 1, symbol: 'USDT1742' }),
    data: {
      count: 1,
      page: 1,
      pageSize: 100,
      walletType: 1,
      list: [{ symbol: 'USDT1742', walletSymbol: 'ETH_USDT' }],
    },
  },
  {
    section: '4.10',
    path: 'record/otherTransferList',
    params: () => ({ transactionScene: 'airdrop' }),
    data: {
      financeList: listOf({
        ...numbers('id uid createdAtTime status'),
        ...texts('amount coinSymbol createTime transactionScene'),
      }),
    },
  },
  {
    section: '4.11',
    path: 'user/v2/otcTradeRecord',
    params: (user) => ({ email: user.email, startTime: '0' }),
    data: listOf({
      ...numbers('sidCid buyerId adsOwner adsId buyerCommentGrade bidCid sellerCommnetGrade sellerId'),
      ...numbers('createTime id status isBlockTrade'),
      ...texts('totalPrice buyerComment sellerComment payCoin volume sequence coinSymbol'),
      price: string,
      payTime: null,
      feeAmount: null,
      advert,
    }),
  },
  {
    section: '4.12',
    path: 'futures/coupon/recordList',
    params: () => ({ uid: '12345,12346', timeStart: '2020-01-01 00:00:00', page: '1', pageSize: '10' }),
    data: {
      count: 4,
      mapList: listOf({
        ...numbers('id uid time status'),
        ...texts('sn amount amountSup amountUse amountBack coin'),
      }),
    },
  },
  {
    section: '4.13',
    path: 'record/presentCoinList',
    params: () => ({ uid: '12345' }),
    data: {
      uid: 12_345,
      count: 13,
      pageSize: 100,
      page: 1,
      type: null,
      ctimeStart: null,
      ctimeEnd: null,
      presentRecordList: listOf({
        ...texts('uid symbol ctimeStr amount typeName'),
        ...numbers('ctime opUid'),
      }),
      persentTypeArr: listOf({ present_type: 'manual', used: false, title: 'Manual gift' }),
    },
  },
  {
    section: '4.14',
    path: 'ouser/userAccounts',
    params: (user) => ({ openId: user.openId, userId: '1', coinSymbols: 'BTC,USDT1742', assetType: '201' }),
    data: {
      accounts: [
        { uid: '12345', balance: '100000', tag: 'USDT1742', type: '2010001' },
        { uid: '12345', balance: '5', tag: 'BTC', type: '2010002' },
      ],
      btcPrecision: '8',
      usdt1742Precision: '6',
    },
  },
  {
    section: '4.15',
    path: 'user/getExchangeToken',
    params: ({ apiKey, secret, uid }) => ({ apiKey, secret, uid }),
    data: { uid: 12_345, inviteCode: string, token: string },
  },
  {
    section: '4.16',
    path: 'futures/coupon/recovery',
    params: async (_, sandbox) => ({ id: await recoverable(sandbox) }),
    data: null,
  },
  {
    section: '4.17',
    path: 'opay/merchantBillingDay',
    params: () => ({ day: '2026-01-13', orderType: '1', pageNum: '1', pageSize: '3' }),
    data: {
      count: number,
      list: listOf({
        ...numbers('merchantUserId orderAmount orderType userId'),
        ...texts('appOrderId payCoinSymbol openId createTime payTime'),
      }),
    },
  },
  {
    section: '4.18',
    path: 'symbol/openSymbolList',
    params: () => ({}),
    data: {
      symbolList: listOf({
        ...numbers('showPrecision isQuote isOpen depositOpen withdrawOpen otcOpen depositConfirm'),
        ...texts('coinSymbol contractAddress tokenBase name withdrawFee innerWithdrawFee'),
      }),
    },
  },
  {
    section: '4.19',
    path: 'record/feeSharing_exchange_detail',
    params: () => ({ billstatus: '3', pageSize: '50' }),
    data: {
      count: number,
      list: listOf({
        ...texts('symbol base quote qouteValueSub rebateRateSymbol baseRebateFeeValueStr maxDivideRate'),
        ...texts('baseValueAll takerRate makerRate quoteRateSymbol qouteFeeValue baseConvertValue'),
        ...texts('qouteValueAll baseFeeValue baseRateSymbol qouteRebateFeeValue baseRate incomeDivideRate'),
        ...texts('itemDate remark qouteConvertValue baseRebateFeeValue sumConvertValue rebateConvertValue'),
        ...texts('volumeDivideRate quoteRate rateTime rebateRate countTime qouteConvertValueStr'),
        ...texts('baseValueSub'),
        rebate: null,
        billingStatus: '3',
      }),
    },
  },
  {
    section: '4.20',
    path: 'record/co_agent_user_bonus',
    params: () => ({ superUid: '12345', status: '2', levelType: '1' }),
    data: {
      count: 12,
      list: listOf({
        ...texts('selfVolume amount subVolume remark subAccount nickname coin'),
        ...numbers('scale subUid uid superUid id userType time bonusType'),
        subLevel: 1,
        status: 2,
      }),
    },
  },
  {
    section: '4.21',
    path: 'futures/agentUser',
    params: () => ({ uids: '12345,12346' }),
    data: {
      count: '4',
      list: listOf({ itemDate: number, ...texts('uid coin tradeAmount feeAmount') }),
    },
  },
  {
    section: 'refresh',
    path: 'auth/refreshToken',
    params: async (user, sandbox) => {
      const { data } = await sandbox.call('auth/token', { code: user.code });
      const { openId, refreshToken, token } = data as Record<'openId' | 'refreshToken' | 'token', string>;
      return { openId, refreshToken, token };
    },
    data: texts('openId expireIn refreshToken token'),
  },
];

async function recoverable(sandbox: TestSandbox, status = '2'): Promise<number> {
  const { data } = await sandbox.call('futures/coupon/recordList', { status, page: '1', pageSize: '1' });
  const [coupon] = (data as { readonly mapList: readonly { readonly id: number }[] }).mapList;
  return coupon?.id ?? -1;
}

async function start(): Promise<TestSandbox> {
  return startAnswered();
}

it('there is a case for each operation', () => {
  expect(CASES.map(({ path }) => path)).toEqual(OPERATIONS.map(({ path }) => path));
});

describe.each(SCHEMES)('with %s', (scheme) => {
  it.each(CASES)('$section $path answers with all its members', async ({ path, params, data }) => {
    const sandbox = await start();
    const [user] = await usersOf(sandbox);
    const answer = await sandbox.call(path, await params(user, sandbox), scheme);
    expect(answer.code).toBe('0');
    expect(answer.data).toEqual(data);
  });

  it.each(CASES)('$section $path refuses a wrong signature with 50005', async ({ path, params }) => {
    const sandbox = await start();
    const [user] = await usersOf(sandbox);
    const given = await params(user, sandbox);
    const before = sandbox.log.length;
    // The signature is right for other parameters.
    const keys = keysOf(sandbox.folder);
    const [right, other] = [given, { ...given, other: 1 }].map((each) => signedBy(scheme, each, keys));
    const { sign } = JSON.parse(other ?? '') as { readonly sign: string };
    const body = JSON.stringify({ ...(JSON.parse(right ?? '') as object), sign });
    expect(await sandbox.post(path, body)).toMatchObject({ code: '50005' });
    expect(sandbox.log.slice(before)).toMatchObject([{ about: path, outcome: '50005', scheme }]);
  });
});

describe('answers have the forms of the specification', () => {
  it('4.5 and 4.11 have a message, which is null', async () => {
    const sandbox = await start();
    for (const path of ['user/depositRecord', 'user/v2/otcTradeRecord']) {
      const { raw } = await sandbox.call(path, { userId: '12345' });
      expect(raw).toMatch(/^\{"code":"0","msg":"suc","message":null,"data":\[/);
    }
  });

  it('4.21 has no envelope, but its refusals do', async () => {
    const sandbox = await start();
    expect((await sandbox.call('futures/agentUser', { uids: '12345' })).raw).toMatch(
      /^\{"count":"2","list":\[/,
    );
    expect(await sandbox.call('futures/agentUser')).toMatchObject({ code: '10020', data: null });
  });

  it('parameters may be numbers or texts', async () => {
    const sandbox = await start();
    for (const scheme of SCHEMES) {
      const [texts1, numbers1] = [
        {
          symbol: 'btcusdt',
          startDate: String(week.startDate),
          endDate: String(week.endDate),
          page: '2',
          pageSize: '3',
        },
        { symbol: 'btcusdt', ...week, page: 2, pageSize: 3 },
      ];
      const path = 'record/queryOrderPageByTime';
      const [a, b] = [await sandbox.call(path, texts1, scheme), await sandbox.call(path, numbers1, scheme)];
      expect(a.code).toBe('0');
      expect(a.dataText).toBe(b.dataText);
    }
  });
});

describe('records fit together', () => {
  it('a code works once, and a refresh replaces both tokens', async () => {
    const sandbox = await start();
    const [{ code, openId }] = await usersOf(sandbox);
    const first = (await sandbox.call('auth/token', { code })).data as Record<string, string>;
    expect((await sandbox.call('auth/token', { code }, 'rsa-envelope')).code).toBe('60003');
    expect((await sandbox.call('auth/token', { code: 'nonsense' })).code).toBe('10020');
    const { token = '', refreshToken = '' } = first;
    const refresh = (over: Params) =>
      sandbox.call('auth/refreshToken', { openId, token, refreshToken, ...over });
    expect((await refresh({ openId: 'nobody' })).code).toBe('60004');
    expect((await refresh({ token: 'other' })).code).toBe('60002');
    expect((await refresh({ refreshToken: 'other' })).code).toBe('60001');
    expect((await refresh({})).code).toBe('0');
    expect((await refresh({})).code).toBe('60001');
  });

  it('a refresh token ends after 30 days', async () => {
    const sandbox = await start();
    const [{ code, openId }] = await usersOf(sandbox);
    const { token = '', refreshToken = '' } = (await sandbox.call('auth/token', { code })).data as Record<
      string,
      string
    >;
    await sandbox.steer({ command: 'clock-move', byMs: 30 * DAY_MS + 1 });
    expect((await sandbox.call('auth/refreshToken', { openId, token, refreshToken })).code).toBe('60001');
  });

  it('a coupon can be recovered once, and only if it is to be recovered', async () => {
    const sandbox = await start();
    const id = await recoverable(sandbox);
    expect((await sandbox.call('futures/coupon/recovery', { id })).code).toBe('0');
    expect((await sandbox.call('futures/coupon/recovery', { id })).code).toBe('10015');
    const received = await recoverable(sandbox, '1');
    expect((await sandbox.call('futures/coupon/recovery', { id: received })).code).toBe('10015');
    expect((await sandbox.call('futures/coupon/recovery', { id: 1 })).code).toBe('10020');
    const { data } = await sandbox.call('futures/coupon/recordList', {
      status: '3',
      page: '1',
      pageSize: '100',
    });
    const { mapList } = data as {
      mapList: readonly Record<'id' | 'amount' | 'amountUse' | 'amountBack', string>[];
    };
    const found = mapList.find((each) => Number(each.id) === id);
    expect(Number(found?.amountBack)).toBe(Number(found?.amount) - Number(found?.amountUse));
  });

  it('a deposit is in the balance and in the records', async () => {
    const sandbox = await start();
    await sandbox.steer({ command: 'deposit', uid: 12_345, symbol: 'BTC', amount: '0.00000001' });
    const accounts = await sandbox.call('ouser/userAccounts', { userId: '12345', coinSymbols: 'BTC' });
    expect(accounts.data).toMatchObject({ accounts: [{ balance: '5.00000001' }] });
    const { data } = await sandbox.call('user/depositRecord', { userId: '12345', pageSize: '1' });
    expect(data).toMatchObject([{ symbol: 'BTC', amount: '0.00000001', createdAt: NOW_MS }]);
    const changed = await sandbox.call('ouser/batchQueryUserAccountsByUpdateTime', { updateTime: NOW_MS });
    expect(changed.data).toMatchObject({ accounts: [{ uid: '12345', coin: 'BTC', balance: '5.00000001' }] });
  });

  it.each([
    ['record/queryOrderPageByTime', { symbol: 'btcusdt', ...week }, 'pageSize', 'list'],
    ['record/agent_user_bonus', {}, 'pageSize', 'list'],
    ['futures/coupon/recordList', {}, 'pageSize', 'mapList'],
    ['record/feeSharing_exchange_detail', { itemDateStart: '0' }, 'pageSize', 'list'],
    ['record/co_agent_user_bonus', {}, 'pageSize', 'list'],
    ['wallet/symbolMapping', { walletType: 1 }, 'pageSize', 'list'],
  ])('the pages of %s agree with its count', async (path, params, size, list) => {
    const sandbox = await start();
    const page = async (at: number, pageSize: number) =>
      (await sandbox.call(path, { ...params, page: String(at), [size]: String(pageSize) })).data as Readonly<
        Record<string, unknown>
      >;
    const whole = await page(1, 1000);
    const records = whole[list] as readonly unknown[];
    expect(records.length).toBe(whole['count']);
    const paged: unknown[] = [];
    for (let at = 1; at <= Math.ceil(records.length / 3); at++) {
      const { count, [list]: some } = await page(at, 3);
      expect(count).toBe(records.length);
      paged.push(...(some as readonly unknown[]));
    }
    expect(paged).toEqual(records);
    expect((await page(400, 3))[list]).toEqual([]);
  });
});

describe('limits and parameters', () => {
  it.each<[string, Params, string, string]>([
    [
      'record/queryOrderPageByTime',
      { symbol: 'btcusdt', startDate: 0, endDate: 7 * DAY_MS + 1 },
      '10020',
      'endDate',
    ],
    ['record/queryOrderPageByTime', { symbol: 'btcusdt', startDate: 2, endDate: 1 }, '10020', 'endDate'],
    ['record/queryOrderPageByTime', { symbol: 'btcusdt', ...week, pageSize: '1001' }, '10020', 'pageSize'],
    ['record/queryOrderPageByTime', { symbol: 'btcusdt', ...week, page: '0' }, '10020', 'page'],
    ['record/queryOrderPageByTime', { symbol: 'nothing', ...week }, '10020', 'symbol'],
    ['record/queryOrderPageByTime', { ...week }, '10020', 'symbol'],
    ['record/queryOrderPageByTime', { symbol: 'btcusdt', startDate: 'x', endDate: 1 }, '10020', 'startDate'],
    ['ouser/batchQueryUserAccountsByUpdateTime', { updateTime: NOW_MS - DAY_MS - 1 }, '10020', 'updateTime'],
    ['ouser/batchQueryUserAccountsByUpdateTime', {}, '10020', 'updateTime'],
    ['user/depositRecord', {}, '10020', 'no user'],
    ['user/depositRecord', { userId: '1' }, '10020', 'no user'],
    ['user/depositRecord', { openId: 'x', userId: '12345' }, '60004', 'openId'],
    ['user/depositRecord', { userId: '12345', pageSize: '1001' }, '10020', 'pageSize'],
    ['user/user_invite', {}, '10020', 'no user'],
    ['wallet/v2/addressMapping', { walletType: 5, symbol: 'BTC' }, '10020', 'walletType'],
    ['wallet/v2/addressMapping', { walletType: 1, symbol: 'BTC,X' }, '70007', 'X'],
    ['record/otherTransferList', {}, '10020', 'transactionScene'],
    ['record/otherTransferList', { transactionScene: 'x' }, '70009', 'transactionScene'],
    ['user/v2/otcTradeRecord', { userId: '12345', pageNumber: '1001' }, '10020', 'pageNumber'],
    ['futures/coupon/recordList', { page: '1' }, '10020', 'pageSize'],
    ['futures/coupon/recordList', { page: '1', pageSize: '1', status: '4' }, '10020', 'status'],
    [
      'futures/coupon/recordList',
      { page: '1', pageSize: '1', timeStart: '2026-01-01' },
      '10020',
      'timeStart',
    ],
    ['ouser/userAccounts', { userId: '12345' }, '10020', 'coinSymbols'],
    ['ouser/userAccounts', { userId: '12345', coinSymbols: 'X' }, '70007', 'X'],
    ['ouser/userAccounts', { userId: '12345', coinSymbols: 'BTC', assetType: '9' }, '50014', 'assetType'],
    ['user/getExchangeToken', { apiKey: 'x', secret: 'y', uid: '12345' }, '50012', 'apiKey'],
    ['record/feeSharing_exchange_detail', { billstatus: '2' }, '10020', 'billstatus'],
    ['record/co_agent_user_bonus', { status: '4' }, '10020', 'status'],
    ['futures/agentUser', { uids: '12345,x' }, '10020', 'uids'],
  ])('%s %j is refused with %s', async (path, params, code, named) => {
    const sandbox = await start();
    for (const scheme of SCHEMES) {
      const answer = await sandbox.call(path, params, scheme);
      expect(answer).toMatchObject({ code, data: null, msg: expect.stringContaining(named) });
    }
  });

  it('4.19 gives the latest 7 days if no time is given', async () => {
    const sandbox = await start();
    const path = 'record/feeSharing_exchange_detail';
    const { data } = await sandbox.call(path, { pageSize: '1000' });
    const { list } = data as { readonly list: readonly { readonly itemDate: string }[] };
    expect(list.length).toBeGreaterThan(0);
    for (const { itemDate } of list) expect(Number(itemDate)).toBeGreaterThanOrEqual(NOW_MS - 7 * DAY_MS);
    const all = await sandbox.call(path, { pageSize: '1000', itemDateStart: '0' });
    expect((all.data as { readonly list: readonly unknown[] }).list.length).toBeGreaterThan(list.length);
  });
});
