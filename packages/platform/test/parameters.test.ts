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

describe('refused before anything is sent', () => {
  it.each<[string, Call, string]>([
    [
      '4.2 without a user',
      (p) => p.payments.create(untyped({ ...PAYMENT, userId: undefined })),
      'userId is missing',
    ],
    [
      '4.2 with an empty id',
      (p) => p.payments.create({ ...PAYMENT, appOrderId: '' }),
      'appOrderId is ""; write 1 to 128',
    ],
    [
      '4.2 with a blank in the id',
      (p) => p.payments.create({ ...PAYMENT, appOrderId: 'a 1' }),
      'appOrderId is "a 1"',
    ],
    [
      '4.2 with a long id',
      (p) => p.payments.create({ ...PAYMENT, appOrderId: 'a'.repeat(129) }),
      'appOrderId is',
    ],
    [
      '4.2 with a rounded user',
      (p) => p.payments.create({ ...PAYMENT, userId: 2 ** 53 }),
      'userId is 9007199254740992; write',
    ],
    ['4.2 with a fraction of a user', (p) => p.payments.create({ ...PAYMENT, userId: 1.5 }), 'userId is 1.5'],
    [
      '4.2 with a binary amount',
      (p) => p.payments.create(untyped({ ...PAYMENT, orderAmount: 0.1 })),
      'orderAmount is 0.1; write an exact decimal above zero as a text',
    ],
    ...['0', '0.00', '-1', '1e2', '1,5', '', ' 1', '٣', '.5', '1.', `1.${'0'.repeat(37)}`].map(
      (orderAmount): [string, Call, string] => [
        `4.2 with the amount ${JSON.stringify(orderAmount).slice(0, 12)}`,
        (p) => p.payments.create({ ...PAYMENT, orderAmount }),
        'orderAmount is',
      ],
    ),
    [
      '4.2 with a member of its own',
      (p) => p.payments.create(untyped({ ...PAYMENT, sign: 'x' })),
      '"sign" is not a parameter',
    ],
    ['4.2 without parameters', (p) => p.payments.create(untyped([])), 'the parameters are not an object'],
    [
      '4.3 above 7 days',
      (p) => p.orders.list({ ...ORDERS, startDate: 0, endDate: 7 * DAY_MS + 1 }),
      'longer than 7 days',
    ],
    [
      '4.3 backwards',
      (p) => p.orders.list({ ...ORDERS, startDate: 2, endDate: 1 }),
      'endDate is before startDate',
    ],
    ['4.3 without a pair', (p) => p.orders.list(untyped({ startDate: 0, endDate: 1 })), 'symbol is missing'],
    [
      '4.3 with a large page',
      (p) => p.orders.list({ ...ORDERS, pageSize: 1001 }),
      'pageSize is 1001; write a whole number from 1 to 1000',
    ],
    ['4.3 with an empty page', (p) => p.orders.list({ ...ORDERS, pageSize: 0 }), 'pageSize is 0'],
    [
      '4.3 with page 0',
      (p) => p.orders.list({ ...ORDERS, page: 0 }),
      'page is 0; write the number of a page, from 1',
    ],
    [
      '4.3 with a time that is none',
      (p) => p.orders.list({ ...ORDERS, startDate: 'yesterday' }),
      'startDate is "yesterday"; write milliseconds',
    ],
    [
      '4.3 with a time without a zone',
      (p) => p.orders.list({ ...ORDERS, startDate: '2026-03-02T10:00:00' }),
      'startDate is',
    ],
    [
      '4.4 before 24 hours ago',
      (p) => p.accounts.listChanged({ updateTime: NOW_MS - DAY_MS - 1 }),
      'is more than 24 hours ago',
    ],
    [
      '4.3 with a Date that is none',
      (p) => p.orders.list({ ...ORDERS, startDate: new Date(NaN) }),
      'startDate is an invalid Date; write milliseconds',
    ],
    [
      '4.3 with a Date before the epoch',
      (p) => p.orders.list({ ...ORDERS, startDate: new Date(-1) }),
      'startDate is "1969-12-31T23:59:59.999Z"; write milliseconds',
    ],
    [
      '4.12 with a Date, whose time zone there is not known',
      (p) => p.coupons.list(untyped({ timeStart: new Date(NOW_MS) })),
      "write a time of the platform's time zone like 2026-03-02 10:00:00",
    ],
    [
      '4.17 with a Date for a day',
      (p) => p.bill.list(untyped({ day: new Date(NOW_MS) })),
      'write a day like 2026-03-02',
    ],
    [
      '4.5 of nobody',
      (p) => p.deposits.list(untyped({})),
      'none of openId, userId, mobileNumber, email is given; give one of them',
    ],
    ['4.5 with a large page', (p) => p.deposits.list({ userId: 1, pageSize: 1001 }), 'pageSize is 1001'],
    ['4.6 with a large page', (p) => p.invitations.list({ pageSize: 1001 }), 'pageSize is 1001'],
    ['4.7 with a large page', (p) => p.brokerShares.list({ pageSize: 1001 }), 'pageSize is 1001'],
    [
      '4.8 of an unknown wallet',
      (p) => p.walletAddresses.list(untyped({ walletType: 5, symbol: 'BTC' })),
      'walletType is 5; write one of 1, 2, 3, 4',
    ],
    [
      '4.8 with a user that is no number',
      (p) => p.walletAddresses.list({ walletType: 1, symbol: 'BTC', uid: 'x' }),
      'uid is "x"; write a whole number',
    ],
    ['4.9 without a wallet', (p) => p.walletSymbols.list(untyped({})), 'walletType is missing'],
    ['4.10 without a scene', (p) => p.otherTransfers.list(untyped({})), 'transactionScene is missing'],
    [
      '4.10 with a large page',
      (p) => p.otherTransfers.list({ transactionScene: 's', pageSize: 1001 }),
      'pageSize is 1001',
    ],
    [
      '4.11 of nobody',
      (p) => p.otcTrades.list(untyped({})),
      'none of openId, userId, mobileNumber, email is given',
    ],
    [
      '4.11 with many entries',
      (p) => p.otcTrades.list({ userId: 1, pageNumber: 1001 }),
      'pageNumber is 1001',
    ],
    [
      '4.12 with a day that is none',
      (p) => p.coupons.list({ timeStart: '2026-02-30 00:00:00' }),
      'timeStart is "2026-02-30 00:00:00"',
    ],
    [
      '4.12 with an unknown status',
      (p) => p.coupons.list(untyped({ status: 4 })),
      'status is 4; write one of 1, 2, 3',
    ],
    ['4.12 with blanks in the list', (p) => p.coupons.list({ uid: '1, 2' }), 'uid is "1, 2"'],
    [
      '4.14 of nobody',
      (p) => p.assets.search(untyped({ coinSymbols: 'BTC' })),
      'none of openId, userId is given',
    ],
    ['4.14 without coins', (p) => p.assets.search({ userId: 1, coinSymbols: [] }), 'coinSymbols is []'],
    ['4.16 without an id', (p) => p.coupons.recover(untyped({})), 'id is missing'],
    [
      '4.17 with half a range',
      (p) => p.bill.list({ startDate: '2026-03-02 00:00:00' }),
      'only one of startDate and endDate is given',
    ],
    [
      '4.17 backwards',
      (p) => p.bill.list({ startDate: '2026-03-02 00:00:01', endDate: '2026-03-02 00:00:00' }),
      'endDate is before startDate',
    ],
    [
      '4.17 with a day that is none',
      (p) => p.bill.list({ day: '2026-02-29' }),
      'day is "2026-02-29"; write a day of the calendar',
    ],
    [
      '4.17 with a large page',
      (p) => p.bill.list({ pageSize: 2001 }),
      'pageSize is 2001; write a whole number from 1 to 2000',
    ],
    [
      '4.17 with an unknown type',
      (p) => p.bill.list(untyped({ orderType: 2 })),
      'orderType is 2; write one of 1, 11',
    ],
    ['4.19 with a large page', (p) => p.feeShares.list({ pageSize: 1001 }), 'pageSize is 1001'],
    [
      '4.19 with an unknown status',
      (p) => p.feeShares.list(untyped({ billstatus: 2 })),
      'billstatus is 2; write one of 0, 1, 3, -999',
    ],
    ['4.20 with a large page', (p) => p.coAgentBonuses.list({ pageSize: 1001 }), 'pageSize is 1001'],
    ['4.20 with an unknown level', (p) => p.coAgentBonuses.list(untyped({ levelType: 3 })), 'levelType is 3'],
    ['4.21 of nobody', (p) => p.agents.list({ uids: '' }), 'uids is ""'],
  ])('%s', async (_, call, because) => {
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
  it.each<[string, Call, object]>([
    [
      '7 days exactly',
      (p) => p.orders.list({ ...ORDERS, startDate: 0, endDate: 7 * DAY_MS }),
      { endDate: 7 * DAY_MS },
    ],
    [
      '24 hours ago exactly',
      (p) => p.accounts.listChanged({ updateTime: NOW_MS - DAY_MS }),
      { updateTime: NOW_MS - DAY_MS },
    ],
    [
      'a Date, as a text where the specification has one,',
      (p) => p.brokerShares.list({ ctimeStart: new Date(0), ctimeEnd: new Date(1_560_845_153_999) }),
      { ctimeStart: '0', ctimeEnd: '1560845153999' },
    ],
    [
      'a Date, as a number where the specification has one,',
      (p) => p.accounts.listChanged({ updateTime: new Date(NOW_MS - 1) }),
      { updateTime: NOW_MS - 1 },
    ],
    ['the largest page', (p) => p.bill.list({ pageSize: '2000' }), { pageSize: '2000' }],
    [
      'an amount of 36 digits on both sides',
      (p) => p.payments.create({ ...PAYMENT, orderAmount: `${'9'.repeat(36)}.${'9'.repeat(36)}` }),
      { orderAmount: `${'9'.repeat(36)}.${'9'.repeat(36)}` },
    ],
    [
      'openId and userId, of which the platform uses openId',
      (p) => p.deposits.list({ openId: 'o', userId: 1 }),
      { openId: 'o', userId: '1' },
    ],
  ])('%s is sent as it is meant', async (_, call, sent) => {
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
