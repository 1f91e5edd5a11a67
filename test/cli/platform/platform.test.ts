import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandsFor } from '../../../src/cli/commands.ts';
import { checkRecord } from '../../../src/reconcile/bill.ts';
import { openBillFile } from '../../../src/reconcile/bill-file.ts';
import { readDay } from '../../../src/reconcile/day.ts';
import { operations } from '../../../packages/platform/operations/registry.ts';
import { openPlace } from '../../archive/place.ts';
import { idOf, push, request as asked } from '../../store/requests.ts';
import { fixtures } from '../../../packages/platform/test/fixtures.ts';
import { APP_KEY, SECRET, keys, startPlatform } from '../../../packages/platform/test/plain-platform.ts';
import { closedPort } from '../../ports.ts';
import { type Place, place, reports, runCall } from '../terminal.ts';

const NOW_MS = Date.UTC(2025, 5, 15, 12);

/** A folder whose source `shop` has the credentials of the plain platform. */
function placeFor(url: string | undefined, platform: object = {}): Place {
  const made = place({
    settings: {
      ...(url === undefined ? {} : { platform: { url, ...platform } }),
      sources: [
        {
          name: 'shop',
          callback: 'payment',
          appKey: APP_KEY,
          signatures: [
            { scheme: 'md5', secret: { file: 'shop-of-the-platform.secret' } },
            {
              scheme: 'rsa',
              platformKey: { file: 'platform-of-the-platform.pub' },
              merchantKey: { file: 'shop-of-the-platform.pem' },
            },
            {
              scheme: 'rsa-envelope',
              platformKey: { file: 'platform-of-the-platform.pub' },
              merchantKey: { file: 'shop-of-the-platform.pem' },
            },
          ],
        },
      ],
    },
  });
  made.write('shop-of-the-platform.secret', SECRET);
  made.write('platform-of-the-platform.pub', keys().platform.publicText);
  made.write('shop-of-the-platform.pem', keys().merchant.privateText);
  return made;
}

const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The options that send what the fixture sends. Secrets come from files. */
function optionsFor(command: string, write: Place['write']): readonly string[] {
  const operation = operations.find((each) => each.command === command);
  const fixture = fixtures.find((each) => each.command === command);
  const sent = Object.entries(fixture?.sent ?? {}).filter(([name]) => name !== 'appKey');
  return sent.flatMap(([name, value]) =>
    operation?.secrets?.includes(name) === true
      ? [`--${kebab(name)}-file`, write(`${name}.txt`, `${String(value)}\n`)]
      : [`--${kebab(name)}`, String(value)],
  );
}

const SCHEMES = ['md5', 'rsa', 'rsa-envelope'] as const;
// The time of 4.4 is within the last 24 hours of another clock.
const callable = fixtures.filter(({ command }) => command !== 'accounts');
// The client sends each operation with each scheme in tests of its own.
const cases = [
  ...callable.map(({ command }) => ({ command, scheme: 'md5' })),
  ...SCHEMES.slice(1).map((scheme) => ({ command: 'symbols', scheme })),
];

describe('countersign platform', () => {
  it('has a command for each operation, in their order', async () => {
    const rows = await commandsFor([]);
    const words = rows.map(({ path }) => path.split(' ')).filter(([first]) => first === 'platform');
    expect(words.map(([, word]) => word)).toEqual([
      ...operations.map(({ command }) => command),
      'find-payment',
    ]);
  });

  it.each(cases)(
    '$command with $scheme sends the options, and prints what it read as JSON',
    async ({ command, scheme }) => {
      const fixture = fixtures.find((each) => each.command === command);
      const platform = await startPlatform({ data: () => fixture?.data ?? '' });
      const { run, write } = placeFor(platform.url);
      const ran = await run`platform ${command} ${optionsFor(command, write)} --scheme ${scheme} --json`;
      expect(ran).toMatchObject({ code: 0, err: '' });
      const printed = ran.json();
      expect(command === 'pay' ? (printed as { data: unknown }).data : printed).toEqual(fixture?.read);
      expect(platform.received).toEqual([expect.objectContaining({ scheme, parameters: fixture?.sent })]);
    },
  );

  it.each(SCHEMES)('accounts with %s takes an instant', async (scheme) => {
    const fixture = fixtures.find(({ command }) => command === 'accounts');
    const platform = await startPlatform({ data: () => fixture?.data ?? '' });
    const accounts = 'platform accounts --update-time 2025-06-15T11:00:00Z --json'.split(' ');
    const ran = await placeFor(platform.url).run`${accounts} --scheme ${scheme}`;
    expect(ran.json()).toEqual(fixture?.read);
    expect(platform.received[0]?.parameters).toEqual({ updateTime: NOW_MS - 3_600_000 });
  });

  it.each(operations)(
    '$command --help names each parameter, and no option that takes a secret',
    async (operation) => {
      const { code, out } = await runCall(['platform', operation.command, '--help']);
      expect(code).toBe(0);
      for (const name of Object.keys(operation.parameters.shape)) {
        const isSecret = operation.secrets?.includes(name) === true;
        expect(out).toContain(isSecret ? `--${kebab(name)}-file <file>` : `--${kebab(name)} <value>`);
        expect(out.includes(`--${kebab(name)} <value>`)).toBe(!isSecret);
      }
      expect(out).toContain(`Section ${operation.section} of the specification.`);
    },
  );
});

describe('for people', () => {
  const SYMBOLS = [1, 2].map((n) => ({ symbol: `COIN${n}`, walletSymbol: `w,"${n}"` }));
  const data = (total: number): string =>
    JSON.stringify({ count: total, page: 1, pageSize: 2, walletType: 1, list: SYMBOLS });
  const list = ['platform', 'wallet-symbols', '--wallet-type', '1', '--page-size', '2'];

  it('records are a table, and the number of those on other pages is said', async () => {
    const platform = await startPlatform({ data: () => data(7) });
    const { out, code } = await placeFor(platform.url).run(...list);
    expect({ out, code }).toEqual({
      out: 'symbol  walletSymbol\nCOIN1   w,"1"\nCOIN2   w,"2"\n2 of 7 records.\n',
      code: 0,
    });
  });

  it('records are CSV, quoted where they must be', async () => {
    const platform = await startPlatform({ data: () => data(2) });
    const { out } = await placeFor(platform.url).run(...list, '--csv');
    expect(out).toBe('symbol,walletSymbol\nCOIN1,"w,""1"""\nCOIN2,"w,""2"""\n');
  });

  it('records with many members are blocks, exact to the last digit', async () => {
    const fixture = fixtures.find(({ command }) => command === 'broker-shares');
    const platform = await startPlatform({ data: () => fixture?.data ?? '' });
    const { out } = await placeFor(platform.url).run`platform broker-shares`;
    expect(out).toContain('rate            12345678901234567890.123456789\n');
  });

  it('control characters of the platform do not reach the terminal', async () => {
    const platform = await startPlatform({
      data: () =>
        JSON.stringify({
          count: 1,
          page: 1,
          pageSize: 2,
          walletType: 1,
          list: [{ symbol: '\u001b[31m', walletSymbol: 'w' }],
        }),
    });
    expect((await placeFor(platform.url).run(...list)).out).not.toContain('\u001b');
  });
});

describe('--all', () => {
  const coupon = (id: number) => ({
    id,
    sn: 's',
    amount: '1',
    uid: 1,
    time: 1,
    amountSup: '0',
    amountUse: '0',
    amountBack: '0',
    status: 1,
    coin: 'BTC',
  });
  const serve = ({ parameters }: { parameters: Readonly<Record<string, unknown>> }): string => {
    const page = Number(parameters['page']);
    return JSON.stringify({ count: 5, mapList: [1, 2, 3, 4, 5].slice((page - 1) * 2, page * 2).map(coupon) });
  };
  const all = ['platform', 'coupons', '--page-size', '2', '--all'];

  it('reads all pages, and shows its progress on a terminal', async () => {
    const platform = await startPlatform({ data: serve });
    const progress: string[] = [];
    const ran = await placeFor(platform.url).runWith({ progress: (line) => void progress.push(line) })(
      ...all,
    );
    expect(ran.code).toBe(0);
    expect(ran.out).toContain('5 records.');
    expect(progress).toEqual([
      '1 page, 2 of 5 records',
      '2 pages, 4 of 5 records',
      '3 pages, 5 of 5 records',
      '',
    ]);
  });

  it('with --json is one array', async () => {
    const platform = await startPlatform({ data: serve });
    const ran = await placeFor(platform.url).run(...all, '--json');
    expect(ran.json()).toEqual(
      [1, 2, 3, 4, 5].map((id) => expect.objectContaining({ id: String(id) }) as unknown),
    );
  });

  it('with --csv continues after an error from the cursor that it names', async () => {
    let fails = true;
    const platform = await startPlatform({
      raw: (response, attempt) => {
        if (!fails || attempt !== 3) return false;
        fails = false;
        response.writeHead(404).end();
        return true;
      },
      data: serve,
    });
    const { run } = placeFor(platform.url);
    const first = await run(...all, '--csv');
    expect(first.code).toBe(2);
    const idsIn = (csv: string): readonly (string | undefined)[] =>
      csv
        .trim()
        .split('\n')
        .slice(1)
        .map((line) => line.split(',')[0]);
    expect(idsIn(first.out)).toEqual(['1', '2', '3', '4']);
    const cursor = /cursor (\S+)\. Continue with --cursor/.exec(first.err)?.[1] ?? '';
    const second = await run(...all, '--csv', '--cursor', cursor);
    expect(idsIn(second.out)).toEqual(['5']);
  });
});

describe('platform bill --csv', () => {
  const order = (appOrderId: string) => ({
    merchantUserId: 9,
    appOrderId,
    payCoinSymbol: 'USDT1742',
    orderAmount: 100,
    orderType: 1,
    userId: 12345,
    openId: null,
    createTime: '2025-06-10 12:00:00',
    payTime: '2025-06-10 12:00:01',
  });
  const HEADER =
    'merchantUserId,appOrderId,payCoinSymbol,orderAmount,orderType,userId,openId,createTime,payTime';
  const line = (id: string): string =>
    `9,${id},USDT1742,100,1,12345,,2025-06-10 12:00:00,2025-06-10 12:00:01`;
  const BILL = ['platform', 'bill', '--day', '2025-06-10', '--csv'];

  it.each<[string, readonly string[], readonly string[], string]>([
    ['all pages', ['--all'], ['=1+1', 'a'], 'end,2'],
    ['all pages of an empty bill', ['--all'], [], 'end,0'],
    ['one page', [], ['=1+1', 'a'], 'end,2'],
  ])('of %s keeps each id, and is a file that reconcile --bill reads', async (_, more, ids, end) => {
    const platform = await startPlatform({
      data: () => JSON.stringify({ count: ids.length, list: ids.map(order) }),
    });
    const { run, write } = placeFor(platform.url);
    const { code, out } = await run(...BILL, ...more);
    const lines = ids.map((id) => line(id.startsWith('=') ? `"${id}"` : id));
    expect({ code, out }).toEqual({ code: 0, out: [HEADER, ...lines, end, ''].join('\n') });
    const records: unknown[] = [];
    for await (const record of openBillFile(write('bill.csv', out)).records()) records.push(record);
    expect(records).toMatchObject(
      ids.map((appOrderId) => ({ appOrderId, createTime: '2025-06-10 12:00:00' })),
    );
  });

  it.each([[['--all']], [[]]])(
    'has a record that can’t be read as the platform wrote it, which reconcile --bill judges: %j',
    async (more) => {
      const strange = { ...order('b'), orderAmount: '1 BTC' };
      const platform = await startPlatform({
        data: () => JSON.stringify({ count: 3, list: [order('a'), strange, null] }),
      });
      const { run, write } = placeFor(platform.url);
      const { code, out, err } = await run(...BILL, ...more);
      expect(code).toBe(1);
      const lines = [line('a'), line('b').replace('100', '1 BTC'), 'null,,,,,,,,'];
      expect(out).toBe([HEADER, ...lines, 'end,3', ''].join('\n'));
      expect(err).toContain(
        `Record 2 can't be read: orderAmount must be an exact decimal: ${JSON.stringify(strange)}\n`,
      );
      expect(err).toContain("Record 3 can't be read: must be an object: null\n");
      const bill = openBillFile(write('bill.csv', out));
      const judged: unknown[] = [];
      for await (const record of bill.records()) {
        const read = 'because' in record ? record : checkRecord(record, bill, readDay('2025-06-10', 'UTC'));
        judged.push('because' in read ? read.because : read.id);
      }
      expect(judged).toEqual([
        'a',
        'orderAmount is "1 BTC" and must be a decimal with at most 36 digits before and after the point',
        'appOrderId is "" and must be 1 to 256 visible characters',
      ]);
    },
  );

  it('of a page says how many records the bill has, so that the others are missed', async () => {
    const platform = await startPlatform({ data: () => JSON.stringify({ count: 3, list: [order('a')] }) });
    expect((await placeFor(platform.url).run(...BILL)).out).toBe(`${HEADER}\n${line('a')}\nend,3\n`);
  });
});

describe('platform pay', () => {
  const PAY =
    'platform pay --user-id 12345 --app-order-id A-1 --order-amount 100.50 --pay-coin-symbol USDT1742'.split(
      ' ',
    );
  const stateOf = async ({ run }: Place): Promise<unknown> =>
    ((await run`orders show payment A-1 --json`).json() as { state: unknown }).state;
  /** A platform that answers so, and the place of its shop. */
  const answering = async (code: string) => {
    const platform = await startPlatform({ whole: () => `{"code":"${code}","msg":"failed","data":null}` });
    return { platform, made: placeFor(platform.url) };
  };

  it.each(SCHEMES)('announces the order with its scheme, %s', async (scheme) => {
    const platform = await startPlatform({ data: () => 'null' });
    const { run } = placeFor(platform.url);
    const ran = await run(...PAY, '--scheme', scheme);
    expect(ran).toMatchObject({ code: 0, out: 'Paid: 100.50 USDT1742 by 12345, order A-1.\n' });
    expect((await run`orders show payment A-1 --json`).json()).toMatchObject({
      state: 'expected',
      by: 'ada',
      members: { userId: '12345', amount: '100.5', symbol: 'USDT1742', scheme },
    });
  });

  it('is announced when the platform gets the request', async () => {
    let made: Place | undefined;
    const seen: unknown[] = [];
    const answer = async (response: ServerResponse): Promise<void> => {
      seen.push(made === undefined ? '' : await stateOf(made));
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end('{"code":"0","msg":"suc","data":null}');
    };
    const platform = await startPlatform({
      raw: (response) => {
        void answer(response);
        return true;
      },
    });
    made = placeFor(platform.url);
    expect((await made.run(...PAY)).code).toBe(0);
    expect(seen).toEqual(['expected']);
  });

  it('cancels the announcement if the platform says no: 1', async () => {
    const { made } = await answering('70006');
    const ran = await made.run(...PAY);
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toContain('The announcement of A-1 is cancelled.');
    expect(ran.err).toContain(
      'PLATFORM_REFUSED: payments.create (4.2): the platform answers 70006, balance too low',
    );
    expect(await stateOf(made)).toBe('cancelled');
  });

  it('names its own decision if the platform was refused the confirmation', async () => {
    const { made } = await answering('10015');
    const store = await openPlace({ embedded: join(made.folder, 'store.db') }, () => NOW_MS);
    await store.register(['shop']);
    await store.push(push('first', ''));
    const id = idOf(await store.settle(asked({ source: 'shop', subject: 'payment:A-1', approves: false })));
    await store.close();
    expect(await made.run(...PAY)).toMatchObject(
      reports(
        1,
        `This receiver answered FAILURE to the confirmation of A-1: RULE_REFUSED, entry shop/${id}. ` +
          `\`countersign decisions explain shop/${id}\` shows why.`,
      ),
    );
  });

  it('cancels the announcement if nothing was sent: 2', async () => {
    const made = placeFor(`http://127.0.0.1:${await closedPort()}`);
    expect((await made.run(...PAY)).code).toBe(2);
    expect(await stateOf(made)).toBe('cancelled');
  });

  it('leaves an announcement that was there before', async () => {
    const { made } = await answering('70006');
    await made.run`orders expect payment A-1 --user 12345 --symbol USDT1742 --amount 100.50 --scheme md5`;
    const ran = await made.run(...PAY);
    expect(ran.err).toContain('The order was announced before this call, so its announcement stays.');
    expect(await stateOf(made)).toBe('expected');
  });

  it.each<[string, object]>([
    ['a broken connection', { broken: true }],
    ['an order that exists', { whole: '{"code":"70002","msg":"exists","data":null}' }],
    ['a system error', { whole: '{"code":"10001","msg":"busy","data":null}' }],
  ])('keeps the announcement after %s, and looks into the bill', async (_, how) => {
    const { broken = false, whole = '' } = how as { broken?: boolean; whole?: string };
    const platform = await startPlatform({
      raw: (response, request) => {
        if (!broken || request > 1) return false;
        response.destroy();
        return true;
      },
      whole: ({ path }) =>
        path.endsWith('transferToMerchantAuth')
          ? whole
          : '{"code":"0","msg":"suc","data":{"count":0,"list":[]}}',
    });
    const made = placeFor(platform.url);
    const ran = await made.run(...PAY);
    expect(ran.code).toBe(2);
    expect(ran.err).toContain('The announcement of A-1 stays, because its confirmation may still come.');
    expect(ran.err).toContain('The bill does not have it yet, which is no proof');
    expect(await stateOf(made)).toBe('expected');
    expect(platform.requests()).toBe(4);
  });

  it('announces nothing, and sends nothing, with a wrong amount', async () => {
    const platform = await startPlatform({});
    const made = placeFor(platform.url);
    const ran = await made.run(...PAY, '--order-amount', '0');
    expect(ran).toMatchObject({ code: 2 });
    expect(ran.err).toContain('PLATFORM_PARAMETER');
    expect((await made.run`orders show payment A-1`).code).toBe(1);
    expect(platform.requests()).toBe(0);
  });

  it('sends nothing if the id is announced on other terms: 1', async () => {
    const platform = await startPlatform({});
    const made = placeFor(platform.url);
    await made.run`orders expect payment A-1 --user 12345 --symbol USDT1742 --amount 1 --scheme md5`;
    expect(await made.run(...PAY)).toMatchObject(reports(1, 'ORDER_CONFLICT'));
    expect(platform.requests()).toBe(0);
  });
});

describe('platform find-payment', () => {
  const billed = {
    merchantUserId: 5,
    appOrderId: 'A-1',
    payCoinSymbol: 'BTC',
    orderAmount: 1.5,
    orderType: 1,
    userId: 1,
    createTime: 'then',
  };

  it('shows the record of the bill', async () => {
    const platform = await startPlatform({ data: () => JSON.stringify({ count: 1, list: [billed] }) });
    const { run } = placeFor(platform.url);
    const ran = await run`platform find-payment A-1 --sent 2026-03-02T10:00:00Z --json`;
    expect(ran.json()).toMatchObject({ appOrderId: 'A-1', orderAmount: '1.5' });
    expect(platform.received[0]?.parameters).toMatchObject({ day: '2026-03-02' });
  });

  it('exits 1 if it is not there, and says that this is no proof', async () => {
    const platform = await startPlatform({ data: () => '{"count":0,"list":[]}' });
    const ran = await placeFor(platform.url).run`platform find-payment A-1`;
    expect(ran).toMatchObject(reports(1, 'no proof'));
  });
});

describe('a wrong call: 2', () => {
  it('without platform.url', async () => {
    const ran = await placeFor(undefined).run`platform symbols`;
    expect(ran).toMatchObject(reports(2, 'has no platform.url'));
  });

  it('a secret is no argument, so that no process list shows it', async () => {
    const platform = await startPlatform({ data: () => '{"uid":1,"inviteCode":null,"token":"t"}' });
    const { run, runWith } = placeFor(platform.url);
    const withKeys = runWith({
      env: { API_KEY: 'api-key-of-the-shop', API_SECRET: 'secret-of-the-api-key' },
    });
    const ended = await withKeys`platform login-token --uid 1 --api-key-env API_KEY --secret-env API_SECRET`;
    expect(ended).toMatchObject({ code: 0, err: '' });
    expect(platform.received[0]?.parameters).toEqual({
      apiKey: 'api-key-of-the-shop',
      secret: 'secret-of-the-api-key',
      uid: '1',
    });
    expect(await run`platform login-token --uid 1 --secret x`).toMatchObject(
      reports(2, "unknown option '--secret'"),
    );
  });
});
