import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import {
  type Received,
  SCHEMES,
  type TestSandbox,
  balanceOf,
  flat,
  keysOf,
  openAnswer,
  startAnswered,
  startReceiver,
  startTestSandbox,
} from './sandbox.ts';

const PAY = 'opay/transferToMerchantAuth';
const BILL = 'opay/merchantBillingDay';
const payment = (over = {}) => ({
  userId: '12345',
  appOrderId: 'o-1',
  orderAmount: '100.000001',
  payCoinSymbol: 'USDT1742',
  ...over,
});

const says =
  (text: string, status = 200) =>
  (_: Received, response: ServerResponse): void =>
    void response.writeHead(status).end(text);

async function billOf(sandbox: TestSandbox, params = {}) {
  const { data } = await sandbox.call(BILL, params);
  return data as { readonly count: number; readonly list: readonly Record<string, unknown>[] };
}

describe.each(SCHEMES)('a payment with %s', (scheme) => {
  it.each([
    ['SUCCESS', says('SUCCESS')],
    ['the JSON form of yes', says('{"code":"0","msg":"success","data":"success"}')],
  ])('is debited and billed after %s', async (_, answer) => {
    const sandbox = await startAnswered(answer);
    expect(await sandbox.call(PAY, payment(), scheme)).toMatchObject({ code: '0', msg: 'suc', data: null });
    expect(await balanceOf(sandbox, 12_345, 'USDT1742')).toBe('99899.999999');
    const { count, list } = await billOf(sandbox, { day: '2026-01-15' });
    expect(count).toBe(1);
    expect(list).toMatchObject([
      {
        appOrderId: 'o-1',
        payCoinSymbol: 'USDT1742',
        orderAmount: 100.000001,
        orderType: 1,
        userId: 12_345,
        payTime: '2026-01-15 12:00:00',
      },
    ]);
  });

  it.each([
    ['FAILURE', says('FAILURE')],
    ['HTTP 500 with SUCCESS', says('SUCCESS', 500)],
    [
      'a redirect',
      (_: Received, response: ServerResponse) =>
        void response.writeHead(302, { location: '/' }).end('SUCCESS'),
    ],
    ['an empty answer', says('')],
    ['garbage', says('<html>SUCCESS</html>')],
    ['SUCCESS and more', says('SUCCESS\n')],
    ['lower case', says('success')],
    ['JSON with another code', says('{"code":"1","msg":"fail","data":"success"}')],
    ['JSON with a number', says('{"code":0}')],
    ['too much', says('SUCCESS'.repeat(10_000))],
    ['a closed connection', (_: Received, response: ServerResponse) => void response.destroy()],
  ])('debits nothing after %s', async (_, answer) => {
    const sandbox = await startAnswered(answer);
    const refused = await sandbox.call(PAY, payment(), scheme);
    expect(refused.code).toBe('10015');
    expect(sandbox.received.length).toBeGreaterThan(0);
    expect(await balanceOf(sandbox, 12_345, 'USDT1742')).toBe('100000');
    expect(await billOf(sandbox, { day: '2026-01-15' })).toEqual({ count: 0, list: [] });
  });

  it('debits nothing if no answer comes in time, or nobody listens', async () => {
    const receiver = await startReceiver(() => undefined);
    const sandbox = await startTestSandbox({ receiver: receiver.url, timeoutMs: 200 });
    expect(await sandbox.call(PAY, payment(), scheme)).toMatchObject({
      code: '10015',
      msg: expect.stringContaining('did not answer within 200 ms'),
    });
    const alone = await startTestSandbox();
    expect((await alone.call(PAY, payment(), scheme)).code).toBe('10015');
    for (const each of [sandbox, alone]) {
      expect(await balanceOf(each, 12_345, 'USDT1742')).toBe('100000');
    }
  });
});

describe('the confirmation', () => {
  it('of md5 has the members of the request, with the same signature', async () => {
    const sandbox = await startAnswered();
    await sandbox.call(PAY, payment());
    const [{ path, body, headers }] = sandbox.received as readonly [Received];
    expect(path).toBe('/nofity/transferToMerchantAuthCheck');
    expect(headers['content-type']).toBe('application/json');
    const { secret } = keysOf(sandbox.folder);
    expect(JSON.parse(body)).toEqual(JSON.parse(flat(payment(), secret)));
  });

  it('of rsa-envelope is encrypted for the merchant and signed by the platform', async () => {
    const sandbox = await startAnswered();
    await sandbox.call(PAY, payment(), 'rsa-envelope');
    const [{ body }] = sandbox.received as readonly [Received];
    const read = JSON.parse(body) as Record<string, unknown>;
    expect(read['app_id']).toBe('demo-shop');
    expect(JSON.parse(openAnswer(read, keysOf(sandbox.folder)))).toEqual(payment());
  });
});

describe('orders', () => {
  it('are unique, also while the first is being confirmed', async () => {
    const waiting: ServerResponse[] = [];
    const receiver = await startReceiver((_, response) => void waiting.push(response));
    const sandbox = await startTestSandbox({ receiver: receiver.url });
    const first = sandbox.call(PAY, payment());
    await expect.poll(() => waiting.length).toBe(1);
    expect((await sandbox.call(PAY, payment(), 'rsa-envelope')).code).toBe('70002');
    waiting[0]?.end('SUCCESS');
    expect((await first).code).toBe('0');
    expect((await sandbox.call(PAY, payment())).code).toBe('70002');
    expect(await balanceOf(sandbox, 12_345, 'USDT1742')).toBe('99899.999999');
  });

  it('that were refused may be sent again', async () => {
    let verdict = 'FAILURE';
    const receiver = await startReceiver((_, response) => void response.end(verdict));
    const sandbox = await startTestSandbox({ receiver: receiver.url });
    expect((await sandbox.call(PAY, payment())).code).toBe('10015');
    verdict = 'SUCCESS';
    expect((await sandbox.call(PAY, payment())).code).toBe('0');
  });

  it('cannot spend what another order holds', async () => {
    const waiting: ServerResponse[] = [];
    const receiver = await startReceiver((_, response) => void waiting.push(response));
    const sandbox = await startTestSandbox({ receiver: receiver.url });
    const first = sandbox.call(PAY, payment({ orderAmount: '60000' }));
    await expect.poll(() => waiting.length).toBe(1);
    expect((await sandbox.call(PAY, payment({ appOrderId: 'o-2', orderAmount: '60000' }))).code).toBe(
      '70006',
    );
    waiting[0]?.end('FAILURE');
    expect((await first).code).toBe('10015');
    expect(await balanceOf(sandbox, 12_345, 'USDT1742')).toBe('100000');
  });

  it('whose records were reset while they were confirmed are not paid', async () => {
    const waiting: ServerResponse[] = [];
    const receiver = await startReceiver((_, response) => void waiting.push(response));
    const sandbox = await startTestSandbox({ receiver: receiver.url });
    const first = sandbox.call(PAY, payment());
    await expect.poll(() => waiting.length).toBe(1);
    await sandbox.steer({ command: 'reset' });
    waiting[0]?.end('SUCCESS');
    expect((await first).code).toBe('10015');
    expect(await balanceOf(sandbox, 12_345, 'USDT1742')).toBe('100000');
    expect((await billOf(sandbox)).count).toBe(0);
  });

  it.each([
    ['an unknown user', { userId: '1' }, '70004'],
    ['a user with leading zeros', { userId: '012345' }, '70004'],
    ['an unknown coin', { payCoinSymbol: 'DOGE' }, '70007'],
    ['a coin in lower case', { payCoinSymbol: 'btc' }, '70007'],
    ['no amount', { orderAmount: '' }, '10020'],
    ['zero', { orderAmount: '0.00' }, '70008'],
    ['a negative amount', { orderAmount: '-1' }, '70008'],
    ['an exponent', { orderAmount: '1e2' }, '70008'],
    ['too many decimal places', { orderAmount: '0.0000000000000000001' }, '70008'],
    ['a balance too low by the last digit', { orderAmount: '100000.000000000000000001' }, '70006'],
    ['no order id', { appOrderId: '' }, '10020'],
  ])('with %s ask nobody: %j is %s', async (_, over, code) => {
    const sandbox = await startAnswered();
    for (const scheme of SCHEMES) expect((await sandbox.call(PAY, payment(over), scheme)).code).toBe(code);
    expect(sandbox.received).toEqual([]);
  });
});

describe('the bill', () => {
  it('agrees with the payments to the last digit', async () => {
    const receiver = await startReceiver(
      ({ body }, response) => void response.end(/o-\d*[05]"/.test(body) ? 'FAILURE' : 'SUCCESS'),
    );
    const sandbox = await startTestSandbox({ receiver: receiver.url });
    const amounts = Array.from({ length: 20 }, (_, at) => `${at}.${String(at * 7 + 1).padStart(18, '0')}`);
    let debited = 0n;
    for (const [at, orderAmount] of amounts.entries()) {
      const { code } = await sandbox.call(PAY, payment({ appOrderId: `o-${at}`, orderAmount }));
      expect(code).toBe(at % 5 === 0 ? '10015' : '0');
      if (code === '0') debited += BigInt(orderAmount.replace('.', ''));
    }
    const { dataText } = await sandbox.call(BILL, { day: '2026-01-15' }, 'rsa-envelope');
    const billed = [...dataText.matchAll(/"orderAmount":(\d+)\.(\d{18})[,}]/g)].map(([, whole, places]) =>
      BigInt(`${whole}${places}`),
    );
    expect(billed.length).toBe(16);
    expect(billed.reduce((sum, each) => sum + each, 0n)).toBe(debited);
    const left = (await balanceOf(sandbox, 12_345, 'USDT1742')).split('.');
    const leftUnits = BigInt(`${left[0]}${(left[1] ?? '').padEnd(18, '0')}`);
    expect(100_000n * 10n ** 18n - leftUnits).toBe(debited);
  });

  it('counts a day in the time zone of the platform', async () => {
    const sandbox = await startAnswered();
    // 23:59:59.999 and 00:00 in Shanghai.
    for (const [id, atMs] of [
      ['late', Date.UTC(2026, 0, 15, 16) - 1],
      ['early', Date.UTC(2026, 0, 15, 16)],
    ] as const) {
      await sandbox.steer({ command: 'clock-set', atMs });
      await sandbox.call(PAY, payment({ appOrderId: id }));
    }
    const ids = async (params: object) =>
      (await billOf(sandbox, params)).list.map(({ appOrderId }) => appOrderId);
    expect(await ids({ day: '2026-01-15' })).toEqual(['late']);
    expect(await ids({ day: '2026-01-16' })).toEqual(['early']);
    expect(await ids({})).toEqual(['early']);
    expect(await ids({ userId: 12_345 })).toEqual(['early']);
    expect(await ids({ userId: 12_346 })).toEqual([]);
    const range = { startDate: '2026-01-15 23:59:59', endDate: '2026-01-16 00:00:00' };
    expect(await ids({ day: '2020-01-01', ...range })).toEqual(['late', 'early']);
  });

  it('has pages that agree with its count, and both order types', async () => {
    const sandbox = await startTestSandbox({ scale: 50 });
    const day = '2026-01-13';
    const all = await billOf(sandbox, { day });
    expect(all.list.length).toBe(all.count);
    expect(new Set(all.list.map(({ orderType }) => orderType))).toEqual(new Set([1, 11]));
    const paged: unknown[] = [];
    for (let page = 1; page <= Math.ceil(all.count / 70); page++) {
      const { count, list } = await billOf(sandbox, { day, pageNum: String(page), pageSize: '70' });
      expect(count).toBe(all.count);
      paged.push(...list);
    }
    expect(paged).toEqual(all.list);
    const transfers = await billOf(sandbox, { day, orderType: '11' });
    expect(transfers.list).toEqual(all.list.filter(({ orderType }) => orderType === 11));
  });

  it.each([
    ['day', { day: '2026-02-30' }],
    ['day', { day: '15.1.2026' }],
    ['endDate', { startDate: '2026-01-15 00:00:00' }],
    ['startDate', { endDate: '2026-01-15 00:00:00' }],
    ['startDate', { startDate: '2026-01-15', endDate: '2026-01-15 00:00:00' }],
    ['pageSize', { pageNum: '1', pageSize: '2001' }],
    ['pageNum', { pageNum: '0' }],
    ['orderType', { orderType: '2' }],
  ])('refuses a wrong %s: %j', async (name, params) => {
    const sandbox = await startTestSandbox();
    expect(await sandbox.call(BILL, params)).toMatchObject({
      code: '10020',
      msg: expect.stringContaining(name),
    });
  });
});
