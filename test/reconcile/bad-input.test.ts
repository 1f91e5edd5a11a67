import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { envelope, startPlatform } from '../../packages/platform/test/plain-platform.ts';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { exportedLine } from '../journal/entries.ts';
import {
  DAY,
  type Row,
  type World,
  billed,
  exceptionsOf,
  jsonBill,
  jsonLine,
  openWorld,
  reportOf,
} from './world.ts';

const ROW = billed({ id: 'a' });
const HEADER =
  'merchantUserId,appOrderId,payCoinSymbol,orderAmount,orderType,userId,openId,createTime,payTime';
const CSV = '9,a,USDT1742,100,1,12345,open,2025-06-10 12:00:00,2025-06-10 12:00:01';

const row = (over: Partial<Row>): string => jsonBill([{ ...ROW, ...over }]);
const json = (from: string, to: string): string => jsonBill([ROW]).replace(from, to);

/** A bill's text, and what its error must say. */
const BAD: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
  'another day': [
    row({ createTime: '2025-06-11 00:00:00', payTime: '2025-06-11 00:00:01' }),
    /line 1: createTime is "2025-06-11 00:00:00" .* another day than 2025-06-10 in Asia\/Shanghai/,
  ],
  'a member twice': [
    json('"orderType":1', '"orderType":1,"orderType":1'),
    /line 1: the member "orderType" appears/,
  ],
  'a line that is no JSON': [json('"orderType":1', '"orderType":'), /line 1: expected a value/],
  'a line that was cut off': [jsonLine(ROW).slice(0, -30), /line 1: it has no line break/],
  'a lost line': [`${jsonLine(ROW)}\n{"count":2}\n`, /it has 1 records instead of 2/],
  'no number of records': [`${jsonLine(ROW)}\n`, /does not say how many the bill has.*--bill-count/],
  'a record after the number': [`{"count":1}\n${jsonLine(ROW)}\n`, /line 2: it comes after the line/],
  'an empty file': ['', /does not say how many/],
  'a page of HTML': ['<html>\n</html>\n', /line 1: it is neither a JSON object nor a CSV header/],
  'a CSV without a column': [
    `${HEADER.replace('userId,open', 'open')}\nend,0\n`,
    /line 1: .*userId is missing/,
  ],
  'a CSV with a column twice': [`${HEADER},userId\nend,0\n`, /the column "userId" appears twice/],
  'a CSV with too few fields': [`${HEADER}\n9,a\nend,1\n`, /line 2: it has 2 fields, and the header has 9/],
  'a CSV with an open quote': [`${HEADER}\n"9,a\nend,1\n`, /line 2: a quoted field has no closing quote/],
  'a CSV with a lost last line': [`${HEADER}\n${CSV}\n`, /does not say how many/],
  'a CSV with a lost record': [`${HEADER}\n${CSV}\nend,2\n`, /it has 1 records instead of 2/],
};

/** A bill's text with one record that can't be read, and what the exception must say. */
const UNREADABLE: Readonly<Record<string, readonly [text: string, message: RegExp, id?: string]>> = {
  'an amount with 37 decimals': [
    row({ orderAmount: `0.${'0'.repeat(36)}1` }),
    /line 1: orderAmount is "0\.0/,
  ],
  'an amount that is no number': [
    json('"orderAmount":100', '"orderAmount":"ten"'),
    /line 1: orderAmount is "ten" and must be a decimal .*: \{.*"appOrderId":"a".*"ten"/,
  ],
  'an amount that is an object': [
    json('"orderAmount":100', '"orderAmount":{}'),
    /orderAmount is "{}" and must be a text or a number: \{.*"orderAmount":\{\}/,
  ],
  'no amount': [json('"orderAmount":100,', ''), /line 1: orderAmount is missing: \{/],
  'an unknown order type': [row({ orderType: '2' }), /line 1: orderType is "2" and must be 1 .* or 11/],
  'an empty id': [row({ appOrderId: '' }), /line 1: appOrderId is "" and must be 1 to 256 visible/, ''],
  'an id with an invisible character': [row({ appOrderId: 'a\u200b' }), /line 1: appOrderId/, ''],
  'a user that is null': [json('"userId":12345', '"userId":null'), /line 1: userId is "" and/],
  'no time': [
    row({ createTime: '', payTime: '' }),
    /createTime is "" and must be a time, because payTime is/,
  ],
  'no amount, and an id with an invisible character': [
    json('"orderAmount":100,', '').replace('"a"', String.raw`"a\u200b"`),
    /line 1: orderAmount is missing: \{/,
    '',
  ],
  'a day that does not exist': [
    row({ createTime: '2025-02-30 00:00:00' }),
    /line 1: createTime is "2025-02-30/,
  ],
  'a time without seconds': [
    row({ payTime: '2025-06-10 12:00' }),
    /line 1: payTime is "2025-06-10 12:00" and must/,
  ],
};

/** What a spreadsheet leaves of a bill. */
const SPREADSHEETS: Readonly<Record<string, readonly [text: string, message: RegExp]>> = {
  'an end line that is padded': [
    `${HEADER}\n${CSV}\nend,1,,,,,,,\n`,
    /line 3: the line with the number of records has empty fields behind it, .* saved by a spreadsheet/,
  ],
  'a padded end line of fewer fields': [
    `${HEADER}\n${CSV}\nend,1,,,,\n`,
    /line 3: the line with the number of records has empty fields behind it, .* saved by a spreadsheet/,
  ],
  'a user id that was rounded': [
    `${HEADER}\n${CSV.replace('12345', '1.23457E+17')}\nend,1\n`,
    /line 2: userId is "1\.23457E\+17", an id that a spreadsheet has rounded/,
  ],
  'an order id that was rounded': [
    `${HEADER}\n${CSV.replace(',a,', ',"1,23457E+17",')}\nend,1\n`,
    /line 2: appOrderId is "1,23457E\+17", an id that a spreadsheet has rounded/,
  ],
  'semicolons between the fields': [
    `${HEADER.replaceAll(',', ';')}\n${CSV.replaceAll(',', ';')}\nend;1\n`,
    /line 1: its fields have semicolons between them, .* saved by a spreadsheet/,
  ],
};

describe('a bill that is wrong', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
    await world.pay({ id: 'a' });
  });

  afterAll(() => world.close());

  async function run(text: string | Uint8Array, ...more: readonly string[]) {
    const file = join(world.folder, 'bad');
    writeFileSync(file, text);
    const fixed = ['--day', DAY, '--bill', file, '--directory', world.directory, '--json'];
    return world.run('reconcile', ...fixed, ...more);
  }

  it.each(Object.entries(BAD))('%s', async (_what, [text, message]) => {
    const { code, json: said } = await run(text);
    expect(code).toBe(2);
    expect(said()).toMatchObject({
      error: { code: 'BILL_INVALID', message: expect.stringMatching(message) },
    });
    expect(readdirSync(world.directory).filter((name) => !name.startsWith('.'))).toEqual([]);
  });

  it.each(Object.entries(SPREADSHEETS))(
    'was saved by a spreadsheet, with %s',
    async (_what, [text, message]) => {
      const { code, json: said } = await run(text);
      expect(code).toBe(2);
      expect(said()).toMatchObject({
        error: { code: 'BILL_INVALID', message: expect.stringMatching(message) },
      });
    },
  );

  it('names the file', async () => {
    const { json: said } = await run(jsonBill([ROW]).replace('"orderType":1', '"orderType":'));
    expect(said()).toMatchObject({ error: { data: { bill: join(world.folder, 'bad'), line: 1 } } });
  });

  it('is not UTF-8', async () => {
    const { json: said } = await run(Buffer.from(jsonBill([ROW]).replace('open-', 'ä'), 'latin1'));
    expect(said()).toMatchObject({ error: { message: expect.stringMatching(/line 1: it is not UTF-8/) } });
  });

  it('has another number of records than --bill-count', async () => {
    const { json: said } = await run(`${jsonLine(ROW)}\n`, '--bill-count', '2');
    expect(said()).toMatchObject({ error: { message: expect.stringMatching(/1 records instead of 2/) } });
  });

  it.each<[string, string, ...string[]]>([
    ['with a byte order mark and Windows line breaks', `\u{feff}${HEADER}\r\n${CSV}\r\nend,1\r\n`],
    ['with quotes and another column', `more,${HEADER}\n"x, ""y""",${CSV}\nend,1\n`],
    ['with epoch milliseconds', jsonBill([{ ...ROW, createTime: '1749528000000', payTime: '' }])],
    ['with --bill-count', `${jsonLine(ROW)}\n`, '--bill-count', '1'],
    ['with an exponent', jsonBill([{ ...ROW, orderAmount: '1E+2' }])],
    ['with texts for numbers', json('"orderAmount":100', '"orderAmount":"100.0"')],
  ])('but %s it is right', async (_what, text, ...more) => {
    const { code, out } = await run(text, ...more);
    expect([code, out]).toEqual([0, expect.stringMatching(/"matched":1/)]);
    for (const name of readdirSync(world.directory)) rmSync(join(world.directory, name));
  });
});

describe('a record that cannot be read', () => {
  it.each(Object.entries(UNREADABLE))(
    'is an exception of its day: %s',
    async (_what, [text, message, id = 'a']) => {
      const world = await openWorld();
      onTestFinished(() => world.close());
      await world.pay({ id: 'a' });
      await world.pay({ id: 'b' });
      const bill = world.write(
        'bill',
        text.replace('{"count":1}', `${jsonLine(billed({ id: 'b' }))}\n{"count":2}`),
      );
      const ran = await world.run(
        'reconcile',
        '--day',
        DAY,
        '--bill',
        bill,
        '--directory',
        world.directory,
        '--json',
      );
      expect(ran.code).toBe(1);
      const { classes, exceptions } = reportOf(ran);
      expect(classes).toEqual({
        matched: 1,
        'billed-unreadable': 1,
        ...(id === '' ? { 'approved-not-billed': 1 } : {}),
      });
      const found = exceptions.find((item) => item.class === 'billed-unreadable');
      expect(found).toMatchObject({ id, note: expect.stringMatching(message) });
    },
  );

  it('is an exception of its day in the answer of the platform, too', async () => {
    const strange = jsonLine(billed({ id: 'a', amount: '"ten"' }));
    const platform = await startPlatform({
      raw(response) {
        const data = `{"count":3,"list":[${strange},${jsonLine(billed({ id: 'b' }))},null]}`;
        response.setHeader('content-type', 'application/json').end(envelope('md5', data));
        return true;
      },
    });
    const world = await openWorld();
    onTestFinished(() => world.close());
    for (const id of ['a', 'b', 'c']) await world.pay({ id });
    const env = { COUNTERSIGN_PLATFORM_URL: platform.url };
    const argv = ['reconcile', '--day', DAY, '--directory', world.directory, '--json'];
    const ran = await world.runWith({ env })(...argv);
    expect(ran.code).toBe(1);
    const { classes, exceptions } = reportOf(ran);
    expect(classes).toEqual({ matched: 1, 'billed-unreadable': 2, 'approved-not-billed': 1 });
    expect(exceptions).toMatchObject([
      { class: 'approved-not-billed', id: 'c' },
      {
        class: 'billed-unreadable',
        id: 'a',
        note: `line 1: orderAmount must be an exact decimal: ${strange}`,
      },
      { class: 'billed-unreadable', id: '', note: 'line 3: must be an object: null' },
    ]);
  });

  it('is not a negative amount, which is compared', async () => {
    const world = await openWorld();
    onTestFinished(() => world.close());
    await world.pay({ id: 'a' });
    const transfer = billed({ id: 't', amount: '-2.5E-1' }, { orderType: '11' });
    const ran = await world.reconcile([billed({ id: 'a', amount: '-100' }), transfer], '--json');
    expect(exceptionsOf(ran)).toEqual(['billed-different a']);
    expect(reportOf(ran).coins).toMatchObject([
      { flow: 'payment', settled: { count: 1, amount: '-100' }, difference: '200' },
      { flow: 'transfer-order', settled: { count: 1, amount: '-0.25' } },
    ]);
  });
});

/** A line of an export. */
function exported(over: object): string {
  return `${exportedLine({ type: 'list', subject: '', verdict: '', code: '', ...over })}\n`;
}

describe('a call that is wrong', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());
  const call = async (...argv: readonly string[]): Promise<string> => {
    const { code, err } = await world.run('reconcile', ...argv);
    expect(code).toBe(2);
    return err;
  };
  const bill = (): string => world.write('bill.jsonl', jsonBill([]));
  const rest = (): string[] => ['--bill', bill(), '--directory', world.directory];

  it.each<[RegExp, (world: World) => readonly string[]]>([
    [/--directory is missing/, () => ['--day', DAY, '--bill', bill()]],
    [/--day is missing/, () => ['--bill', bill(), '--directory', world.directory]],
    [/10\.6\.2025 is not a day/, () => ['--day', '10.6.2025', ...rest()]],
    [/2025-02-29 is not a day/, () => ['--day', '2025-02-29', ...rest()]],
    [
      /are not over in Asia\/Shanghai before 2025-06-15T17:00:00.000Z/,
      () => ['--day', '2025-06-15', ...rest()],
    ],
    [/Asia\/Nowhere is not a time zone/, () => ['--day', DAY, '--zone', 'Asia/Nowhere', ...rest()]],
    [
      /2011-12-30 does not exist in Pacific\/Apia/,
      () => ['--day', '2011-12-30', '--zone', 'Pacific/Apia', ...rest()],
    ],
    [/--settle 5 is not valid/, () => ['--day', DAY, '--settle', '5', ...rest()]],
    [/the bill of shop is missing/, () => ['--day', DAY, '--directory', world.directory]],
    [/--bill \S+ does not name a payment source/, () => ['--day', DAY, '--source', 'vault', ...rest()]],
    [/there is no such directory/, () => ['--day', DAY, '--bill', bill(), '--directory', '/nowhere/at/all']],
    [/can't be read: ENOENT/, () => ['--day', DAY, '--bill', '/no/bill', '--directory', world.directory]],
    [
      /is not a file of a reconciliation/,
      () => ['--day', DAY, '--bill', bill(), '--directory', world.folder],
    ],
    [/NOT_FOUND|has no run 1/, () => ['close', '1', '1', '--directory', world.directory, '--message', 'x']],
  ])('says %s', async (message, argv) => {
    const { code, err } = await world.run('reconcile', ...argv(world));
    expect(code).toBe(message.source.includes('NOT_FOUND') ? 1 : 2);
    expect(err).toMatch(message);
  });

  it.each<[string, string, RegExp]>([
    ['a line that is no entry', '{"id":"1"}\n', /line 1: it is not an entry of the journal/],
    ['a line that was cut off', '{"id":"1","sou', /line 1: it has no line break/],
    ['an entry of an unknown source', exported({ source: 'x' }), /"x", which is not a source/],
    [
      'entries that go back in time',
      `${exported({ atMs: 2 })}${exported({ id: '2' })}`,
      /line 2: it is older than the entry of shop before it/,
    ],
    [
      'an approval without a body',
      exported({ atMs: Date.UTC(2025, 5, 10), type: 'decision', subject: 'payment:1', verdict: 'SUCCESS' }),
      /shop\/1 can't be reconciled: its detail can't be read: body has a wrong form/,
    ],
  ])('with %s in --decisions', async (_what, text, message) => {
    const file = world.write('decisions.jsonl', text);
    expect(await call('--day', DAY, ...rest(), '--decisions', file)).toMatch(message);
    expect(existsSync(join(world.directory, '00000001-run-2025-06-10.json'))).toBe(false);
  });
});
