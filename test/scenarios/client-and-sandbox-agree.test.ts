import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Cell, SCHEMES, SIDES, cells } from '../../packages/platform/operations-page.ts';
import { type Platform, createPlatform } from '../../packages/platform/client.ts';
import { PlatformError } from '../../packages/platform/error.ts';
import { createConnection, systemParts } from '../../packages/platform/connection.ts';
import { request } from '../../packages/platform/request.ts';
import { fieldsIn, fieldsOf } from '../../packages/platform/test/fields.ts';
import { parametersOf } from './calls.ts';
import { configOf, placeFor } from './merchant.ts';
import {
  NOW_MS,
  type TestSandbox,
  balanceOf,
  startReceiver,
  startTestSandbox,
  usersOf,
} from '../../packages/sandbox/test/sandbox.ts';

/*
 * The client and the sandbox share no code that signs or reads. So where they agree, two readings of the
 * specification agree.
 */

const parts = { ...systemParts, clock: () => NOW_MS };

const ANSWERS_WITHOUT_DATA: ReadonlySet<string> = new Set(['payments.create', 'coupons.recover']);

async function startPlatform(answer = 'SUCCESS'): Promise<TestSandbox> {
  const receiver = await startReceiver((_received, response) => response.end(answer));
  return startTestSandbox({ receiver: receiver.url });
}

/** What each side of an operation gives, with parameters for which the sandbox has records. */
const ASKING: Readonly<Record<Cell['side'], (asked: Asked) => Promise<unknown>>> = {
  client: ({ sandbox, operation, scheme, parameters }) =>
    request(createConnection(configOf(sandbox, scheme), parts), operation, parameters),

  async sandbox({ sandbox, operation, scheme, parameters }) {
    const { numbers = [] } = operation;
    const members = Object.entries(parameters).map(([name, value]) => [
      name,
      numbers.includes(name) ? Number(value) : value,
    ]);
    const answer = await sandbox.call(operation.path, Object.fromEntries(members), scheme);
    if (answer.code !== '0')
      throw new Error(`${operation.name} is answered with ${answer.code}: ${answer.msg}`);
    return answer.data;
  },

  async command({ sandbox, operation, scheme, parameters }) {
    const { runWith, write } = placeFor(sandbox);
    const options = Object.entries(parameters).flatMap(([name, value]) => {
      const option = `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
      return operation.secrets?.includes(name) === true
        ? [`${option}-file`, write(`${name}.txt`, value)]
        : [option, value];
    });
    const run = runWith({ clock: () => NOW_MS });
    const ran = await run('platform', operation.command, ...options, '--scheme', scheme, '--json');
    if (ran.code !== 0 || ran.err !== '') throw new Error(`exit code ${ran.code}: ${ran.err}${ran.out}`);
    return ran.json();
  },
};

interface Asked extends Pick<Cell, 'operation' | 'scheme'> {
  readonly sandbox: TestSandbox;
  readonly parameters: Readonly<Record<string, string>>;
}

describe('the client, the sandbox and the command agree', () => {
  const proven = new Set<string>();

  it.each(cells)('$name', async ({ name, operation, scheme, side }) => {
    const sandbox = await startPlatform();
    const platform = createPlatform(configOf(sandbox, scheme), parts);
    const parameters = await parametersOf(operation, sandbox, platform);
    const data = await ASKING[side]({ sandbox, operation, scheme, parameters });
    // The sandbox must have each field, also if its value is null. What is read must have its records.
    const fields = ANSWERS_WITHOUT_DATA.has(operation.name) ? [] : fieldsOf(operation.data);
    // Section 2.1 names the entrust type, and says that a record of 4.3 doesn't carry it.
    const sent = fields.filter((field) => side !== 'sandbox' || field !== 'list[].type');
    expect(fieldsIn(data, { nulls: true })).toEqual(expect.arrayContaining([...sent]));
    expect(ANSWERS_WITHOUT_DATA.has(operation.name) || hasRecords(data)).toBe(true);
    proven.add(name);
  });

  it('in each cell of the table in docs/operations.md, and the table has a cell for each operation', () => {
    const page = readFileSync('docs/operations.md', 'utf8');
    const columns = SCHEMES.flatMap((scheme) => SIDES.map((side) => `${scheme}, ${side}`));
    const rows = [...page.matchAll(/^\| `([\w.]+)` +((?:\| tested +){9})\|$/gm)];
    const shown = rows.flatMap(([, name]) => columns.map((column) => `${name}, ${column}`));
    expect(page).toMatch(new RegExp(`^\\| operation +\\| ${columns.join(' +\\| ')} +\\|$`, 'm'));
    expect(shown.length).toBe(9 * (21 + 1));
    expect(proven).toEqual(new Set(shown));
  });
});

describe.each(SCHEMES)('the client and the sandbox, with %s', (scheme) => {
  let sandbox: TestSandbox;
  let platform: Platform;
  beforeEach(async () => {
    sandbox = await startPlatform();
    platform = createPlatform(configOf(sandbox, scheme), parts);
  });

  it('agree on the code of each refusal', async () => {
    const [user] = await usersOf(sandbox);
    const pay = (over: Readonly<Record<string, string>>): Promise<unknown> =>
      platform.payments.create({
        userId: String(user.uid),
        appOrderId: 'o-2',
        orderAmount: '0.1',
        payCoinSymbol: 'BTC',
        ...over,
      });
    expect(await codeOf(pay({ orderAmount: '999999999' }))).toBe('70006');
    expect(await codeOf(pay({ payCoinSymbol: 'NOPE' }))).toBe('70007');
    expect(await codeOf(pay({}))).toBe(undefined);
    expect(await codeOf(pay({}))).toBe('70002');
    expect(await codeOf(platform.tokens.exchange({ code: 'f'.repeat(32) }))).toMatch(/^(?:6000\d|10020)$/);
  });

  it('agree on a payment to the last digit: it is debited, and in the bill', async () => {
    const [user] = await usersOf(sandbox);
    const before = await balanceOf(sandbox, user.uid, 'BTC');
    await platform.payments.create({
      userId: String(user.uid),
      appOrderId: 'o-3',
      orderAmount: '0.00000001',
      payCoinSymbol: 'BTC',
    });
    const after = await balanceOf(sandbox, user.uid, 'BTC');
    const inUnits = (text: string): bigint => {
      const [whole = '0', fraction = ''] = text.split('.');
      return BigInt(whole + fraction.padEnd(18, '0'));
    };
    expect(inUnits(before) - inUnits(after)).toBe(10n ** 10n);
    const billed = await platform.payments.find({ appOrderId: 'o-3', userId: String(user.uid) });
    expect(billed).toMatchObject({ appOrderId: 'o-3', payCoinSymbol: 'BTC', userId: String(user.uid) });
    expect(billed?.orderAmount).toBe('0.00000001');
  });

  it('agree on pages: all of them have as many records as the platform counts', async () => {
    const { count } = await platform.bill.list({ day: '2026-01-13', orderType: '1', pageSize: '3' });
    const ids = new Set<string>();
    for await (const record of platform.bill.listAll({ day: '2026-01-13', orderType: '1', pageSize: '3' })) {
      ids.add('unreadable' in record ? record.text : record.appOrderId);
    }
    expect(ids.size).toBeGreaterThan(3);
    expect(ids.size).toBe(count);
  });

  it.each(['1', '2', '1000'])('agree on all invitations, in pages of %s', async (pageSize) => {
    const uid = '12345';
    const { levelOneCount } = await platform.invitations.list({ uid });
    const { runWith } = placeFor(sandbox);
    const argv = ['--uid', uid, '--all', '--page-size', pageSize, '--scheme', scheme, '--json'];
    const ran = await runWith({ clock: () => NOW_MS })('platform', 'invitations', ...argv);
    expect(levelOneCount).toBeGreaterThan(1);
    expect(ran.json()).toHaveLength(levelOneCount);
  });
});

it.each(SCHEMES)('a payment that the receiver refuses is not debited, with %s', async (scheme) => {
  const sandbox = await startPlatform('FAILURE');
  const platform = createPlatform(configOf(sandbox, scheme), parts);
  const [user] = await usersOf(sandbox);
  const before = await balanceOf(sandbox, user.uid, 'BTC');
  const paid = platform.payments.create({
    userId: String(user.uid),
    appOrderId: 'o-4',
    orderAmount: '0.1',
    payCoinSymbol: 'BTC',
  });
  expect(await codeOf(paid)).toMatch(/^\d+$/);
  expect(await balanceOf(sandbox, user.uid, 'BTC')).toBe(before);
});

/** The platform's code of the refusal; undefined if the call succeeded. */
async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  try {
    await call;
    return undefined;
  } catch (thrown) {
    if (thrown instanceof PlatformError) return thrown.data.refusal?.code;
    throw thrown;
  }
}

/** Whether data is an object with members, and its lists, if it has any, are not empty. */
function hasRecords(data: unknown): boolean {
  if (Array.isArray(data)) return data.length > 0;
  if (typeof data !== 'object' || data === null) return false;
  const lists = Object.values(data).filter((value) => Array.isArray(value));
  return lists.every((list) => list.length > 0) && Object.keys(data).length > 0;
}
