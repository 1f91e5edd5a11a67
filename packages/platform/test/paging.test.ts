import { describe, expect, expectTypeOf, it } from 'vitest';
import type { Platform } from '../client.ts';
import type { PageProgress, Records, UnreadableRecord } from '../calls.ts';
import { client, errorOf } from './client.ts';
import { type Received, startPlatform } from './plain-platform.ts';
import {
  answersInTurn,
  billed,
  collect,
  coupon,
  couponsOf,
  deposit,
  gift,
  idsOf,
  order,
  readable,
  slice,
} from './records.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

const numbers = (length: number): number[] => Array.from({ length }, (_, index) => index + 1);

const all10 = (platform: Platform) => platform.coupons.listAll({ pageSize: 10 });

describe('all pages', () => {
  it.each([0, 1, 9, 10, 11, 20, 25])('of %i records are read once each, in order', async (length) => {
    const platform = await startPlatform({ data: (request) => couponsOf(numbers(length), request) });
    const pages: PageProgress[] = [];
    const records = client(platform.url).coupons.listAll(
      { pageSize: 10 },
      { onPage: (page) => pages.push(page) },
    );
    expect(await idsOf(records)).toEqual(numbers(length));
    expect(platform.requests()).toBe(Math.max(1, Math.ceil(length / 10)));
    expect(pages.at(-1)).toEqual({ pages: platform.requests(), records: length, total: length });
  });

  it.each([0, 1, 19, 20, 21, 40])(
    'without a count, %i records are read up to a page that is not full',
    async (length) => {
      const platform = await startPlatform({
        data: ({ parameters: { pageNumber } }) =>
          JSON.stringify(slice(numbers(length), pageNumber, 20).map(deposit)),
      });
      expect(await idsOf(client(platform.url).deposits.listAll({ userId: 1 }))).toEqual(numbers(length));
      expect(platform.requests()).toBe(Math.floor(length / 20) + 1);
    },
  );

  /** Invitations, of which the platform gives at most a hundred at once, also if more are asked for. */
  const invitations =
    (length: number, offset: 'of the page' | 'as asked', levelOneCount = length) =>
    ({ parameters }: Received): string => {
      const [page, asked] = [Number(parameters['page']), Number(parameters['pageSize'])];
      const given = Math.min(100, asked);
      const begin = (page - 1) * (offset === 'as asked' ? asked : given);
      const ctime = '2026-03-02 10:00:00';
      return JSON.stringify({
        levelOneCount,
        levelTwoCount: 0,
        cuerrentUser: { uid: 1, invitedUid: -1, ctime },
        userExtInviteVoList: numbers(length)
          .slice(begin, begin + given)
          .map((uid) => ({ uid, level: 1, invitedUid: 1, ctime })),
      });
    };
  const invited = async (url: string, pageSize: number): Promise<number[]> =>
    (await collect(client(url).invitations.listAll({ uid: 1, pageSize }))).map(({ uid }) => Number(uid));

  it.each([
    [250, 1000, 250],
    [250, 1000, 100],
    [200, 1000, 200],
    [250, 100, 250],
    [0, 1000, 0],
  ])(
    'of %i records are read, if pages are shorter than the %i that were asked for',
    async (length, size, count) => {
      const platform = await startPlatform({ data: invitations(length, 'of the page', count) });
      expect(await invited(platform.url, size)).toEqual(numbers(length));
    },
  );

  it('are read to their end, if the platform repeats its last page after it', async () => {
    const read = invitations(250, 'of the page');
    const platform = await startPlatform({
      data: (received) => {
        const page = Math.min(3, Number(received.parameters['page']));
        return read({ ...received, parameters: { ...received.parameters, page } });
      },
    });
    expect(await invited(platform.url, 1000)).toEqual(numbers(250));
  });

  it.each([
    ['empty', 250, 'page 2 is empty after 100 records, but there are at least 250'],
    ['the first one again', 100, 'page 2 only repeats records of earlier pages'],
  ])('are not taken for all if short pages hide some, and page 2 is %s', async (kind, most, because) => {
    const read = invitations(most, 'as asked', 250);
    const platform = await startPlatform({
      data: (received) =>
        read(kind === 'empty' ? received : { ...received, parameters: { ...received.parameters, page: 1 } }),
    });
    const error = await errorOf(invited(platform.url, 1000));
    expect(error).toMatchObject({ code: 'PLATFORM_ANSWER_INVALID', data: { operation: 'invitations.list' } });
    expect(error.message).toContain(because);
  });

  it('after a cursor are read to their end, if pages are shorter than was asked for', async () => {
    const platform = await startPlatform({
      data: ({ parameters: { page } }) => couponsOf(numbers(10), { parameters: { page, pageSize: 3 } }),
    });
    const made = client(platform.url);
    const records = made.coupons.listAll({ pageSize: 10 });
    for await (const { id } of readable(records)) if (Number(id) === 5) break;
    const rest = await idsOf(made.coupons.listAll({ pageSize: 10 }, { cursor: records.cursor }));
    expect(rest).toEqual([6, 7, 8, 9, 10]);
  });

  it('without a page size, the platform chooses it', async () => {
    const platform = await startPlatform({
      data: ({ parameters: { page } }) =>
        JSON.stringify({
          presentRecordList: slice(numbers(7), page, 3).map(gift),
          persentTypeArr: [],
          count: 7,
          pageSize: 3,
          page,
        }),
    });
    const gifts = await collect(client(platform.url).coinGifts.listAll({}));
    expect(gifts.map(({ uid }) => uid)).toEqual(['1', '2', '3', '4', '5', '6', '7']);
    expect(platform.requests()).toBe(3);
  });

  it('a record that moved to a later page meanwhile is given once', async () => {
    let all = numbers(25);
    const platform = await startPlatform({
      data: (request) => {
        const page = couponsOf(all, request);
        all = [all.length + 1, ...all];
        return page;
      },
    });
    const ids = await idsOf(all10(client(platform.url)));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(expect.arrayContaining(numbers(25)));
  });

  it('equal records within one page are all given, as an order that is billed twice', async () => {
    const platform = await answersInTurn(billOf('A,A', 2));
    expect(await orderIds(platform.url)).toEqual(['A', 'A']);
  });

  /** A page of the bill: `A,B` has two records. */
  const billOf = (page: string, count: number): string =>
    JSON.stringify({ count, list: page === '' ? [] : page.split(',').map(billed) });
  const orderIds = async (url: string): Promise<readonly string[]> =>
    (await collect(client(url).bill.listAll({ pageSize: 2 }))).map(({ appOrderId }) => appOrderId);
  /** Answers these pages in turn: `A,B of 4` has two records, and states that there are four. */
  const inTurn = (answers: string) =>
    answersInTurn(
      ...answers.split('; ').map((answer) => {
        const [page = '', count] = answer.split(' of ');
        return billOf(page, Number(count));
      }),
    );

  it.each([
    ['on two pages that stay', 'A,B of 4; B,C of 4; A,B of 4', 'A B B C'],
    ['alone on the last page', 'A,B of 3; B of 3; A,B of 3', 'A B B'],
    ['moved by a record that was added before them', 'A,B of 4; B,C of 5; N,A of 5; D of 5', 'A B C D'],
    ['on two pages, and one was added behind them', 'A,B of 4; B,C of 5; A,B of 5; D of 5', 'A B B C D'],
  ])('equal records without an id are given as often as they are there: %s', async (_, answers, ids) => {
    const platform = await inTurn(answers);
    expect((await orderIds(platform.url)).join(' ')).toBe(ids);
    expect(platform.requests()).toBe(answers.split('; ').length);
  });

  it.each([
    [
      'A,B of 4; B,C of 4; N,A of 4',
      'page 2 has records of earlier pages, and page 1 has changed since it was read: records moved',
    ],
    ['A,B of 3; C,D of 3', 'page 2 ends at record 4, but count is 3'],
    ['A,B of 4; A,B of 4', 'page 2 only repeats records of earlier pages'],
  ])('end in an error, and not with fewer records: %s', async (answers, because) => {
    const platform = await inTurn(answers);
    const error = await errorOf(orderIds(platform.url));
    expect(error).toMatchObject({ code: 'PLATFORM_ANSWER_INVALID', data: { operation: 'bill.list' } });
    expect(error.message).toContain(because);
  });

  it.each([0, 1, 2, 3])(
    'with ids are never fewer than count without an error, also after the cursor of record %i',
    async (stop) => {
      const platform = await startPlatform({
        data: ({ parameters: { page } }) =>
          JSON.stringify({ count: 4, mapList: (page === '1' ? [1, 2] : [2, 3]).map(coupon) }),
      });
      const given: number[] = [];
      const read = async (cursor: string | undefined, most: number): Promise<string> => {
        const records = client(platform.url).coupons.listAll({ pageSize: 2 }, { cursor });
        for await (const { id } of readable(records)) if (given.push(Number(id)) === most) break;
        return records.cursor;
      };
      const cursor = stop === 0 ? undefined : await read(undefined, stop);
      const error = await errorOf(read(cursor, Infinity));
      const again = await errorOf(read(error.data.cursor, Infinity));
      for (const { message } of [error, again])
        expect(message).toContain('the pages have 3 records, without those that came again, and the first');
      expect(given).toEqual([1, 2, 3]);
    },
  );

  it.each(['null', '{"count":0,"list":null}'])('%s is an answer without records', async (data) => {
    const platform = await startPlatform({ data: () => data });
    expect(await orderIds(platform.url)).toEqual([]);
  });

  it('a page of 2,000 records is read with rsa-envelope too', async () => {
    const platform = await startPlatform({
      data: () => JSON.stringify({ count: 2000, list: numbers(2000).map((id) => billed(`order-${id}`)) }),
    });
    const records = client(platform.url, { scheme: 'rsa-envelope' }).bill.listAll({ day: '2026-03-02' });
    expect((await collect(records)).at(-1)).toMatchObject({ appOrderId: 'order-2000' });
  });

  it('are typed as the records of the operation', () => {
    expectTypeOf<ReturnType<Platform['orders']['listAll']>>().toExtend<
      Records<{ dealVolume: string; ctime: number } | UnreadableRecord>
    >();
    expectTypeOf<ReturnType<Platform['walletAddresses']['listAll']>>().toExtend<
      Records<{ symbol: string; address: string } | UnreadableRecord>
    >();
  });
});

describe('pages that lie end in an error', () => {
  it.each<[string, (request: Received) => string, string]>([
    [
      'the same page for ever',
      (request) => couponsOf(numbers(10), { ...request, parameters: { page: 1, pageSize: 10 } }, 1000),
      'page 2 only repeats records of earlier pages',
    ],
    [
      'fewer records than count',
      (request) => couponsOf(numbers(12), request, 30),
      'page 3 is empty after 12 records, but count is 30',
    ],
    [
      'more records than count',
      (request) => couponsOf(numbers(10), request, 3),
      'page 1 has 10 records, but count is 3',
    ],
    [
      'a count below zero',
      (request) => couponsOf(numbers(10), request, -1),
      'data.count must not be below zero',
    ],
    [
      'no list on page 2',
      (request) => (request.parameters['page'] === '1' ? couponsOf(numbers(20), request) : '{"count":20}'),
      'data.mapList must be a list',
    ],
  ])('%s', async (_, data, because) => {
    const platform = await startPlatform({ data });
    const error = await errorOf(collect(all10(client(platform.url))));
    expect(error).toMatchObject({ code: 'PLATFORM_ANSWER_INVALID', data: { operation: 'coupons.list' } });
    expect(error.message).toContain(because);
    expect(platform.requests()).toBeLessThan(5);
  });

  it('a page is given whole or not at all', async () => {
    const platform = await startPlatform({
      data: (request) => couponsOf(numbers(20), request, request.parameters['page'] === '1' ? 20 : 1),
    });
    const given: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { id } of readable(all10(client(platform.url)))) given.push(id);
    };
    await errorOf(read());
    expect(given.map(Number)).toEqual(numbers(10));
  });
});

describe('a cursor', () => {
  it('continues after an error where the iteration stopped', async () => {
    let fails = true;
    const platform = await startPlatform({
      raw: (response, request) => {
        if (request !== 3 || !fails) return false;
        fails = false;
        response.writeHead(404).end();
        return true;
      },
      data: (request) => couponsOf(numbers(35), request),
    });
    const made = client(platform.url);
    const given: number[] = [];
    const read = async (cursor?: string): Promise<void> => {
      for await (const { id } of readable(made.coupons.listAll({ pageSize: 10 }, { cursor })))
        given.push(Number(id));
    };
    const error = await errorOf(read());
    expect(error.data).toMatchObject({ status: 404, cursor: expect.any(String) as string });
    expect(given).toEqual(numbers(20));
    await read(error.data.cursor);
    expect(given).toEqual(numbers(35));
  });

  it.each(numbers(24))('after record %i gives the rest, each once', async (stop) => {
    const platform = await startPlatform({ data: (request) => couponsOf(numbers(25), request) });
    const made = client(platform.url);
    const records = all10(made);
    for await (const { id } of readable(records)) if (Number(id) === stop) break;
    const rest = made.coupons.listAll({ pageSize: 10 }, { cursor: records.cursor });
    expect(await idsOf(rest)).toEqual(numbers(25).slice(stop));
  });

  it('finds its record if others came before it on the page', async () => {
    let all = numbers(25);
    const platform = await startPlatform({ data: (request) => couponsOf(all, request) });
    const made = client(platform.url);
    const records = all10(made);
    for await (const { id } of readable(records)) if (Number(id) === 13) break;
    all = [101, 102, ...all];
    const rest = await idsOf(made.coupons.listAll({ pageSize: 10 }, { cursor: records.cursor }));
    expect(rest).toEqual(numbers(25).slice(13));
  });

  it('whose record is gone is an error, and not a guess', async () => {
    let all = numbers(25);
    const platform = await startPlatform({ data: (request) => couponsOf(all, request) });
    const made = client(platform.url);
    const records = all10(made);
    for await (const { id } of readable(records)) if (Number(id) === 13) break;
    all = all.filter((id) => id !== 13);
    const error = await errorOf(collect(made.coupons.listAll({ pageSize: 10 }, { cursor: records.cursor })));
    expect(error).toMatchObject({ code: 'PLATFORM_ANSWER_INVALID' });
    expect(error.message).toContain('start without cursor');
  });

  it.each([
    '',
    'x',
    'bnVsbA',
    Buffer.from('[0,1,0,0,0,""]').toString('base64url'),
    Buffer.from('[0,0,0,0,0,-1,""]').toString('base64url'),
    Buffer.from('[9,1,0,0,0,-1,""]').toString('base64url'),
    Buffer.from('[0,1,-1,0,0,-1,""]').toString('base64url'),
    Buffer.from('[0,1,0,3,0,-1,""]').toString('base64url'),
    Buffer.from('[0,1,0,0,0,-2,""]').toString('base64url'),
  ])('that is none is refused: %j', async (cursor) => {
    const platform = await startPlatform({ data: (request) => couponsOf(numbers(1), request) });
    const read = async (): Promise<void> => {
      await collect(client(platform.url).coupons.listAll({}, { cursor }));
    };
    expect(await errorOf(read())).toMatchObject({ code: 'PLATFORM_PARAMETER' });
    expect(platform.requests()).toBe(0);
  });
});

describe('orders over more than 7 days', () => {
  /** One order a day, at midnight. */
  const serve = ({ parameters }: Received): string => {
    const { startDate, endDate, page, pageSize } = parameters as Record<string, number>;
    if (endDate! - startDate! > 7 * DAY_MS) throw new Error('the range is too long');
    const found = numbers(40)
      .map((day) => day * DAY_MS)
      .filter((ms) => ms >= startDate! && ms <= endDate!);
    const list = slice(found, page, pageSize).map(order);
    return JSON.stringify({ count: found.length, page, pageSize, list });
  };

  it('are read in parts, and those on the bounds once', async () => {
    const platform = await startPlatform({ data: serve });
    const records = client(platform.url).orders.listAll({
      symbol: 'btcusdt',
      startDate: 0,
      endDate: 30 * DAY_MS,
      pageSize: 3,
    });
    expect(await idsOf(records)).toEqual(numbers(30).map((day) => day * DAY_MS));
    const dated = { symbol: 'btcusdt', startDate: new Date(0), endDate: new Date(30 * DAY_MS), pageSize: 3 };
    expect(await idsOf(client(platform.url).orders.listAll(dated))).toHaveLength(30);
    expect(new Set(platform.received.map(({ parameters }) => parameters['startDate'])).size).toBe(5);
  });

  it('continue from a cursor in a later part', async () => {
    const platform = await startPlatform({ data: serve });
    const parameters = { symbol: 'btcusdt', startDate: 0, endDate: 30 * DAY_MS, pageSize: 3 };
    const made = client(platform.url);
    const records = made.orders.listAll(parameters);
    for await (const { id } of readable(records)) if (Number(id) === 17 * DAY_MS) break;
    const rest = await idsOf(made.orders.listAll(parameters, { cursor: records.cursor }));
    expect(rest).toEqual(
      numbers(30)
        .slice(17)
        .map((day) => day * DAY_MS),
    );
  });

  it.each([
    [{ startDate: 2, endDate: 1 }, 'endDate is before startDate'],
    [{ startDate: 0, endDate: 1, page: 2 }, 'page is given, but all pages are read'],
    [{ startDate: 0, endDate: 1, pageSize: 1001 }, 'pageSize is 1001'],
  ])('are refused with %o', async (over, because) => {
    const platform = await startPlatform({ data: serve });
    const read = async (): Promise<void> => {
      await collect(client(platform.url).orders.listAll({ symbol: 'btcusdt', ...over }));
    };
    const error = await errorOf(read());
    expect(error).toMatchObject({ code: 'PLATFORM_PARAMETER', data: { outcome: 'not-sent' } });
    expect(error.message).toContain(because);
    expect(platform.requests()).toBe(0);
  });
});
