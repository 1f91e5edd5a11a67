import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Platform } from '../client.ts';
import { operations } from '../operations/registry.ts';
import { NOW_MS, client, errorOf } from './client.ts';
import { type PlainPlatform, startPlatform } from './plain-platform.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const PAYMENT = { userId: '1', appOrderId: 'a-1', orderAmount: '1', payCoinSymbol: 'BTC' };
const ORDERS = { symbol: 'btcusdt', startDate: 0, endDate: 1 };

type Call = (platform: Platform) => Promise<unknown>;

async function refused(call: Call): Promise<{ readonly message: string; readonly platform: PlainPlatform }> {
  const platform = await startPlatform({});
  const error = await errorOf(call(client(platform.url)));
  expect(error).toMatchObject({ code: 'PLATFORM_PARAMETER', data: { outcome: 'not-sent' } });
  expect(error.data.faults?.length).toBeGreaterThan(0);
  expect(platform.requests()).toBe(0);
  return { message: error.message, platform };
}

/** Passes parameters that the types don't allow, as a program in JavaScript can. */
const untyped = (parameters: object): never => parameters as never;

const pay =
  (over: object): Call =>
  (p) =>
    p.payments.create(untyped({ ...PAYMENT, ...over }));
const orders =
  (over: object): Call =>
  (p) =>
    p.orders.list(untyped({ ...ORDERS, ...over }));
const bill =
  (over: object): Call =>
  (p) =>
    p.bill.list(untyped(over));
const coupons =
  (over: object): Call =>
  (p) =>
    p.coupons.list(untyped(over));
const wallets =
  (over: object): Call =>
  (p) =>
    p.walletAddresses.list(untyped({ walletType: 1, symbol: 'BTC', ...over }));

describe('refused before anything is sent', () => {
  const amounts = ['0', '0.00', '-1', '1e2', '1,5', '', ' 1', '٣', '.5', '1.', `1.${'0'.repeat(37)}`];
  it.each<[call: Call, because: string]>([
    [pay({ userId: undefined }), 'userId is missing'],
    [pay({ appOrderId: '' }), 'appOrderId is ""; write 1 to 128'],
    [pay({ appOrderId: 'a 1' }), 'appOrderId is "a 1"'],
    [pay({ appOrderId: 'a'.repeat(129) }), 'appOrderId is "aaa'],
    [pay({ userId: 2 ** 53 }), 'userId is 9007199254740992; write'],
    [pay({ userId: 1.5 }), 'userId is 1.5'],
    [pay({ orderAmount: 0.1 }), 'orderAmount is 0.1; write an exact decimal above zero as a text'],
    ...amounts.map((amount): [Call, string] => [
      pay({ orderAmount: amount }),
      `orderAmount is ${JSON.stringify(amount).slice(0, 30)}`,
    ]),
    [pay({ sign: 'x' }), '"sign" is not a parameter'],
    [(p) => p.payments.create(untyped([])), 'the parameters are not an object'],
    [orders({ endDate: 7 * DAY_MS + 1 }), 'longer than 7 days'],
    [orders({ startDate: 2 }), 'endDate is before startDate'],
    [orders({ symbol: undefined }), 'symbol is missing'],
    [orders({ pageSize: 1001 }), 'pageSize is 1001; write a whole number from 1 to 1000'],
    [orders({ pageSize: 0 }), 'pageSize is 0'],
    [orders({ page: 0 }), 'page is 0; write the number of a page, from 1'],
    [orders({ startDate: 'yesterday' }), 'startDate is "yesterday"; write milliseconds'],
    [orders({ startDate: '2026-03-02T10:00:00' }), 'startDate is "2026-03-02T10:00:00"'],
    [orders({ startDate: new Date(NaN) }), 'startDate is an invalid Date; write milliseconds'],
    [orders({ startDate: new Date(-1) }), 'startDate is "1969-12-31T23:59:59.999Z"; write milliseconds'],
    [(p) => p.accounts.listChanged({ updateTime: NOW_MS - DAY_MS - 1 }), 'is more than 24 hours ago'],
    [
      (p) => p.deposits.list(untyped({})),
      'none of openId, userId, mobileNumber, email is given; give one of them',
    ],
    [(p) => p.deposits.list({ userId: 1, pageSize: 1001 }), 'pageSize is 1001'],
    [(p) => p.invitations.list({ pageSize: 1001 }), 'pageSize is 1001'],
    [(p) => p.brokerShares.list({ pageSize: 1001 }), 'pageSize is 1001'],
    [wallets({ walletType: 5 }), 'walletType is 5; write one of 1, 2, 3, 4'],
    [wallets({ uid: 'x' }), 'uid is "x"; write a whole number'],
    [(p) => p.walletSymbols.list(untyped({})), 'walletType is missing'],
    [(p) => p.otherTransfers.list(untyped({})), 'transactionScene is missing'],
    [(p) => p.otherTransfers.list({ transactionScene: 's', pageSize: 1001 }), 'pageSize is 1001'],
    [(p) => p.otcTrades.list(untyped({})), 'none of openId, userId, mobileNumber, email is given'],
    [(p) => p.otcTrades.list({ userId: 1, pageNumber: 1001 }), 'pageNumber is 1001'],
    [coupons({ timeStart: '2026-02-30 00:00:00' }), 'timeStart is "2026-02-30 00:00:00"'],
    // The time zone of the platform is not known.
    [
      coupons({ timeStart: new Date(NOW_MS) }),
      "write a time of the platform's time zone like 2026-03-02 10:00:00",
    ],
    [coupons({ status: 4 }), 'status is 4; write one of 1, 2, 3'],
    [coupons({ uid: '1, 2' }), 'uid is "1, 2"'],
    [(p) => p.assets.search(untyped({ coinSymbols: 'BTC' })), 'none of openId, userId is given'],
    [(p) => p.assets.search({ userId: 1, coinSymbols: [] }), 'coinSymbols is []'],
    [(p) => p.coupons.recover(untyped({})), 'id is missing'],
    [bill({ startDate: '2026-03-02 00:00:00' }), 'only one of startDate and endDate is given'],
    [
      bill({ startDate: '2026-03-02 00:00:01', endDate: '2026-03-02 00:00:00' }),
      'endDate is before startDate',
    ],
    [bill({ day: '2026-02-29' }), 'day is "2026-02-29"; write a day of the calendar'],
    [bill({ day: new Date(NOW_MS) }), 'write a day like 2026-03-02'],
    [bill({ pageSize: 2001 }), 'pageSize is 2001; write a whole number from 1 to 2000'],
    [bill({ orderType: 2 }), 'orderType is 2; write one of 1, 11'],
    [(p) => p.feeShares.list({ pageSize: 1001 }), 'pageSize is 1001'],
    [(p) => p.feeShares.list(untyped({ billstatus: 2 })), 'billstatus is 2; write one of 0, 1, 3, -999'],
    [(p) => p.coAgentBonuses.list({ pageSize: 1001 }), 'pageSize is 1001'],
    [(p) => p.coAgentBonuses.list(untyped({ levelType: 3 })), 'levelType is 3'],
    [(p) => p.agents.list({ uids: '' }), 'uids is ""'],
  ])('%s: %s', async (call, because) => {
    expect((await refused(call)).message).toContain(because);
  });

  it('all faults at once', async () => {
    const { message } = await refused((p) => p.payments.create(untyped({ orderAmount: '-1', more: 1 })));
    for (const name of [
      'userId is missing',
      'appOrderId is missing',
      'orderAmount is "-1"',
      '"more" is not',
    ]) {
      expect(message).toContain(name);
    }
  });

  it('and never with the value of a secret', async () => {
    const { message } = await refused((p) =>
      p.loginTokens.create({ apiKey: 'my key', secret: 'my secret', uid: 1 }),
    );
    expect(message).toContain('apiKey has a value that is not allowed');
    expect(message).not.toMatch(/my key|my secret/);
  });

  it.each([
    [{ url: 'ftp://platform.example' }, 'url is not a base address'],
    [{ url: 'https://user:word@platform.example' }, 'url is not a base address'],
    [{ url: 'https://platform.example?x=1' }, 'url is not a base address'],
    [{ segment: '..' }, 'segment ".." is not one segment'],
    [{ segment: 'a/b' }, 'segment "a/b" is not one segment'],
    [{ timeoutMs: 0 }, 'timeoutMs is 0'],
    [{ timeoutMs: Number.NaN }, 'timeoutMs is NaN'],
    [{ retries: -1 }, 'retries is -1'],
  ])('a client with %o', (config, because) => {
    expect(() => client('https://platform.example', config)).toThrow(because);
    expect(() => client('https://platform.example', config)).toThrow(
      expect.objectContaining({ code: 'USAGE' }),
    );
  });
});

describe('within the limits', () => {
  const LARGEST = `${'9'.repeat(36)}.${'9'.repeat(36)}`;
  it.each<[call: Call, sent: object]>([
    [orders({ endDate: 7 * DAY_MS }), { endDate: 7 * DAY_MS }],
    [(p) => p.accounts.listChanged({ updateTime: NOW_MS - DAY_MS }), { updateTime: NOW_MS - DAY_MS }],
    // A Date is a text or a number, as the specification has it.
    [
      (p) => p.brokerShares.list({ ctimeStart: new Date(0), ctimeEnd: new Date(1_560_845_153_999) }),
      { ctimeStart: '0', ctimeEnd: '1560845153999' },
    ],
    [(p) => p.accounts.listChanged({ updateTime: new Date(NOW_MS - 1) }), { updateTime: NOW_MS - 1 }],
    [bill({ pageSize: '2000' }), { pageSize: '2000' }],
    [pay({ orderAmount: LARGEST }), { orderAmount: LARGEST }],
    // The platform uses the first.
    [(p) => p.deposits.list({ openId: 'o', userId: 1 }), { openId: 'o', userId: '1' }],
  ])('%s is sent as %o', async (call, sent) => {
    const platform = await startPlatform({ data: () => 'null' });
    await call(client(platform.url)).catch(() => undefined);
    expect(platform.received.map(({ parameters }) => parameters)).toEqual([expect.objectContaining(sent)]);
  });

  it('the segment and a base address with a path are settings', async () => {
    const platform = await startPlatform({ data: () => '{"symbolList":[]}' });
    await client(`${platform.url}/gateway/`, { segment: 'acme' }).symbols.list({});
    expect(platform.received.map(({ path }) => path)).toEqual([
      '/gateway/platformapi/acme/open/symbol/openSymbolList',
    ]);
  });
});

describe('every operation', () => {
  it.each(operations)('$name describes itself and each parameter', (operation) => {
    expect(operation.summary).toMatch(/^[A-Z].{10,}\.$/);
    const undescribed = Object.entries(operation.parameters.shape)
      .filter(([, schema]) => !/^.{5,}\.$/.test(schema.description ?? ''))
      .map(([name]) => name);
    expect(undescribed).toEqual([]);
    expect(operation.parameters.safeParse(operation.example).error).toBeUndefined();
    const known = Object.keys(operation.parameters.shape);
    for (const names of [operation.numbers, operation.oneOf, operation.secrets]) {
      expect(known).toEqual(expect.arrayContaining([...(names ?? [])]));
    }
  });

  it.each(operations)('$name has JSON Schemas of its parameters and its answer', ({ parameters, data }) => {
    const sent = z.toJSONSchema(parameters, { io: 'input' });
    expect(Object.keys(sent.properties ?? {})).toEqual(Object.keys(parameters.shape));
    expect(sent.additionalProperties).toBe(false);
    expect(() => z.toJSONSchema(data, { io: 'input' })).not.toThrow();
  });
});
