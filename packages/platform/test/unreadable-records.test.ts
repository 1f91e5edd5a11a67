import { describe, expect, it } from 'vitest';
import type { Records } from '../calls.ts';
import type { Platform } from '../client.ts';
import { client, errorOf } from './client.ts';
import { startPlatform } from './plain-platform.ts';
import { answersInTurn, billed, coupon, deposit, slice } from './records.ts';

/*
 * One record that isn't as the specification describes it hides no other record of its page: it is given as
 * unreadable, with its exact text. It counts by its position.
 */

const DAY = '2026-03-02';
const order = (appOrderId: string): string => JSON.stringify(billed(appOrderId));
/** Its text has blanks, an escape, numbers with an exponent and zeros, and a member nobody knows. */
const STRANGE = String.raw`{ "appOrderId" : "s\u0041", "orderAmount": "ten",  "userId":1.0E1, "new":[1.50, {"a":null}] }`;
const NULL = { unreadable: 'must be an object', text: 'null' };

const page = (count: number, ...list: readonly string[]): string =>
  `{"count":${count},"list":[${list.join(',')}]}`;

/** Each record by its order id, or by its text if it can't be read. */
async function idsOf(
  records: Records<{ readonly appOrderId: string } | { readonly unreadable: string; readonly text: string }>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const record of records) found.push('unreadable' in record ? record.text : record.appOrderId);
  return found;
}

describe('a page with a record that can’t be read', () => {
  it.each(['md5', 'rsa-envelope'] as const)(
    'gives it with its exact text among the others: %s',
    async (scheme) => {
      const platform = await startPlatform({ data: () => page(3, order('a'), STRANGE, order('b')) });
      const { count, list } = await client(platform.url, { scheme }).bill.list({ day: DAY });
      expect(count).toBe(3);
      expect(list).toMatchObject([{ appOrderId: 'a', orderAmount: '100.5' }, {}, { appOrderId: 'b' }]);
      expect(list[1]).toEqual({
        unreadable:
          'merchantUserId must be an id; payCoinSymbol must be a text; orderAmount must be an exact decimal; ' +
          'orderType must be a whole number; and 2 more',
        text: STRANGE,
      });
    },
  );

  it.each([
    ['null', 'must be an object', 'null'],
    ['17', 'must be an object', '17'],
    ['1.0E1', 'must be an object', '1.0E1'],
    ['true', 'must be an object', 'true'],
    ['"text"', 'must be an object', 'text'],
    ['[ 1.50 ]', 'must be an object', '[ 1.50 ]'],
  ])('also if it is %s', async (written, unreadable, text) => {
    const platform = await startPlatform({ data: () => page(2, written, order('b')) });
    const { list } = await client(platform.url).bill.list({ day: DAY });
    expect(list).toMatchObject([{ unreadable, text }, { appOrderId: 'b' }]);
  });

  const OTHERS: Readonly<
    Record<string, readonly [call: (platform: Platform) => Promise<unknown>, data: string, read: object]>
  > = {
    'coin gifts': [
      (platform) => platform.coinGifts.list({}),
      '{"presentRecordList":[null],"persentTypeArr":[null],"count":1,"pageSize":1,"page":1}',
      { presentRecordList: [NULL], persentTypeArr: [NULL], count: 1 },
    ],
    deposits: [(platform) => platform.deposits.list({ userId: 1 }), '[null]', [NULL]],
    'wallet addresses': [
      (platform) => platform.walletAddresses.list({ walletType: 1, symbol: 'USDT' }),
      '[{"symbol":"USDT","count":1,"pageSize":1,"page":1,"walletSymbol":"U","list":[null]}]',
      [{ count: 1, list: [NULL] }],
    ],
    accounts: [
      (platform) => platform.accounts.listChanged({ updateTime: '2026-03-02T10:00:00Z' }),
      '{"accounts":[null]}',
      { accounts: [NULL] },
    ],
    agents: [(platform) => platform.agents.list({ uids: 1 }), '{"count":1,"list":[null]}', { list: [NULL] }],
  };
  it.each(Object.entries(OTHERS))('also of %s', async (_, [call, data, read]) => {
    const platform = await startPlatform({ data: () => data });
    expect(await call(client(platform.url))).toMatchObject(read);
  });

  it('is an error where a symbol would hide the number of its records', async () => {
    const platform = await startPlatform({ data: () => '[null]' });
    const call = client(platform.url).walletAddresses.list({ walletType: 1, symbol: 'USDT' });
    expect((await errorOf(call)).message).toContain('data.0 must be an object');
  });
});

describe('all pages with records that can’t be read', () => {
  const all = async (url: string, cursor?: string) =>
    idsOf(client(url).bill.listAll({ pageSize: 2 }, { cursor }));

  it('have each of them, and as many records as count', async () => {
    const platform = await answersInTurn(page(3, order('a'), STRANGE), page(3, order('b')));
    expect(await all(platform.url)).toEqual(['a', STRANGE, 'b']);
  });

  it('have equal ones as often as they are there', async () => {
    const [first, second] = [page(4, order('a'), 'null'), page(4, 'null', 'null')];
    const platform = await answersInTurn(first, second, first);
    expect(await all(platform.url)).toEqual(['a', 'null', 'null', 'null']);
  });

  it('end in an error with fewer records than count', async () => {
    const platform = await answersInTurn(
      page(4, order('a'), 'null'),
      page(4, 'null'),
      page(4, order('a'), 'null'),
      page(4),
    );
    expect((await errorOf(all(platform.url))).message).toContain(
      'page 3 is empty after 3 records, but count',
    );
  });

  it('continue after one from a cursor', async () => {
    const pages = [page(4, order('a'), STRANGE), page(4, order('b'), order('c'))];
    const platform = await startPlatform({
      data: ({ parameters: { pageNum } }) => pages[Number(pageNum) - 1] ?? page(4),
    });
    const records = client(platform.url).bill.listAll({ pageSize: 2 });
    for await (const record of records) if ('unreadable' in record) break;
    expect(await all(platform.url, records.cursor)).toEqual(['b', 'c']);
  });

  const couponText = (id: number): string => JSON.stringify(coupon(id));
  const coupons = (count: number, ...list: readonly string[]): string =>
    `{"count":${count},"mapList":[${list.join(',')}]}`;
  const allCoupons = async (url: string): Promise<readonly string[]> => {
    const found: string[] = [];
    for await (const record of client(url).coupons.listAll({ pageSize: 2 }))
      found.push('unreadable' in record ? record.text : record.id);
    return found;
  };

  it.each([
    [4, ['1', 'null', '2', 'null']],
    [4, ['1', 'null', 'null', '2']],
    [3, ['1', 'null', 'null']],
  ])('whose other records have ids, have equal ones, if pages stay: %i, %j', async (count, ids) => {
    const written = ids.map((id) => (id === 'null' ? id : couponText(Number(id))));
    const platform = await startPlatform({
      data: ({ parameters: { page: number } }) => coupons(count, ...slice(written, number, 2)),
    });
    expect(await allCoupons(platform.url)).toEqual(ids);
  });

  it('are an error, if pages moved so that one may have been missed', async () => {
    const platform = await answersInTurn(
      coupons(4, couponText(1), STRANGE),
      coupons(4, STRANGE, couponText(4)),
      coupons(4, couponText(3), couponText(1)),
    );
    expect((await errorOf(allCoupons(platform.url))).message).toContain('records moved');
  });

  it('have those that moved once, if as many were added before them', async () => {
    const platform = await answersInTurn(
      coupons(3, couponText(1), STRANGE),
      coupons(4, STRANGE, couponText(3)),
      coupons(4, couponText(9), couponText(1)),
    );
    expect(await allCoupons(platform.url)).toEqual(['1', STRANGE, '3']);
  });

  it('have each of them without a count, too', async () => {
    const pages = [[deposit(1), null], [null, deposit(2)], [null]];
    const platform = await startPlatform({
      data: ({ parameters: { pageNumber } }) => JSON.stringify(pages[Number(pageNumber) - 1] ?? []),
    });
    const found: string[] = [];
    for await (const record of client(platform.url).deposits.listAll({ userId: 1, pageSize: 2 }))
      found.push('unreadable' in record ? record.text : record.id);
    expect(found).toEqual(['1', 'null', 'null', '2', 'null']);
  });
});

describe('a payment that is looked up', () => {
  const find = (appOrderId: string, ...list: readonly string[]) =>
    startPlatform({ data: () => page(list.length, ...list) }).then(({ url }) =>
      client(url).payments.find({ appOrderId }),
    );

  it('is found beside a record that can’t be read', async () => {
    expect(await find('b', 'null', STRANGE, order('b'))).toMatchObject({ appOrderId: 'b' });
  });

  it('is not there, if the record that can’t be read is another', async () => {
    expect(await find('b', STRANGE, order('a'))).toBeUndefined();
  });

  it.each([
    [STRANGE, "the record of this payment can't be read: merchantUserId must be an id"],
    ['null', "a record that may be this payment can't be read: must be an object"],
    ['{"appOrderId":null}', "a record that may be this payment can't be read: "],
    ['{"appOrderId":""}', "a record that may be this payment can't be read: "],
  ])('is never said to be missing, if it may be the one that can’t be read: %s', async (strange, because) => {
    const error = await errorOf(find('sA', order('a'), strange));
    expect(error).toMatchObject({ code: 'PLATFORM_ANSWER_INVALID', data: { outcome: 'not-read' } });
    expect(error.message).toContain(because);
  });
});
