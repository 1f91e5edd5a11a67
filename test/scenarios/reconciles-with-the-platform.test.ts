import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { platformBill } from '../../src/cli/reconcile/platform-bill.ts';
import { createPlatform } from '../../src/platform/client.ts';
import { createConnection, systemParts } from '../../src/platform/connection.ts';
import { readDay } from '../../src/reconcile/day.ts';
import { storeEntries } from '../../src/reconcile/entries.ts';
import { type RunResult, runDay } from '../../src/reconcile/run.ts';
import { readFaults } from '../../src/sandbox/faults.ts';
import {
  NOW_MS,
  SCHEMES,
  type TestSandbox,
  type TestScheme,
  receiverSources,
  sharedCredentials,
  startReceiver,
  startTestSandbox,
} from '../sandbox/sandbox.ts';
import { TO, type TestService, startTestService } from '../service.ts';

/*
 * The receiver, the client, the sandbox and the reconciliation together: what was asked, approved, debited,
 * signed and billed in a day.
 */

const folder = sharedCredentials();
const text = (name: string): string => readFileSync(join(folder, name), 'utf8').trim();
const SOURCES = receiverSources(folder);
const DAY = readDay('2026-01-15', 'Asia/Shanghai');
const SETTLE_MS = 3_600_000;
const clock = (): number => NOW_MS;
const parts = { ...systemParts, clock };
/** The longest that settings allow, so that no answer is a time-out. */
const TIMEOUT_MS = 10_000;
const ABOVE_THE_LIMIT = '1000.01';

function connectionTo({ url }: TestSandbox, scheme: TestScheme) {
  const platformKey = text('platform.public.pem');
  const own = { appKey: 'demo-shop', platformKey };
  const credentials =
    scheme === 'md5'
      ? { ...own, scheme, secret: text('shop.secret') }
      : { ...own, scheme, merchantKey: text('merchant.private.pem') };
  return { url: new URL(url).origin, credentials, timeoutMs: 60_000 };
}

interface World {
  readonly service: TestService;
  readonly sandbox: TestSandbox;
  /** The ids of the orders that the platform debited. */
  readonly paid: ReadonlySet<string>;
}

/** Pays fifty orders of twenty users, by turns with both schemes; some are above the limit of the policies. */
async function payFifty(faults: string): Promise<World> {
  const service = await startTestService({
    clock,
    settings: { sources: SOURCES, answerTimeoutMs: TIMEOUT_MS },
  });
  onTestFinished(() => service.stop());
  const sandbox = await startTestSandbox({ receiver: service.url, faults: readFaults(faults) });
  const platforms = SCHEMES.map((scheme) => createPlatform(connectionTo(sandbox, scheme), parts));
  const paid = new Set<string>();
  for (let at = 0; at < 50; at++) {
    const order = {
      appOrderId: `order-${at}`,
      userId: String(12_345 + (at % 20)),
      orderAmount: at % 7 === 3 ? ABOVE_THE_LIMIT : `${at * 3}.${String(at + 1).padStart(4, '0')}`,
      payCoinSymbol: 'USDT1742',
    };
    const result = await platforms[at % 2]?.payments.create(order).catch((thrown: unknown) => thrown);
    if (!(result instanceof Error)) paid.add(order.appOrderId);
  }
  return { service, sandbox, paid };
}

async function signFifty({ sandbox }: World): Promise<void> {
  for (let at = 0; at < 30; at++) {
    await sandbox.steer({
      command: 'withdraw',
      request: `w-${at}`,
      from: TO,
      to: TO,
      symbol: 'ETH',
      memo: '',
      outputs: [],
      amount: at % 5 === 0 ? '10.1' : `0.${at + 1}`,
      speedUps: at % 3,
    });
  }
  for (let at = 0; at < 20; at++) {
    await sandbox.steer({
      command: 'web3',
      request: `c-${at}`,
      from: TO,
      to: TO,
      symbol: 'ETH',
      amount: '0',
      data: '0xa9059cbb',
      contract: at % 4 === 0 ? '0x0000000000000000000000000000000000000001' : TO,
      speedUps: at % 2,
    });
  }
  for (let polls = 0; polls < 4; polls++) await sandbox.steer({ command: 'poll' });
}

async function reconcile({ service, sandbox }: World): Promise<RunResult> {
  const directory = join(service.folder, 'runs');
  mkdirSync(directory);
  const connection = createConnection(connectionTo(sandbox, 'rsa-envelope'), parts);
  return runDay({
    day: DAY,
    settleMs: SETTLE_MS,
    entries: storeEntries(service.store, ['shop', 'vault']),
    bills: new Map([['shop', platformBill(connection, { source: 'shop', day: DAY })]]),
    progress: () => undefined,
    directory,
    by: 'test',
    clock: () => DAY.untilMs + SETTLE_MS,
  });
}

describe('a day of payments, withdrawals and transactions', () => {
  it.each([
    ['honest', ''],
    [
      'with calls that are late, repeated, reordered and in other forms',
      'late=30,repeat=30,reorder=30,wire=30',
    ],
    ['with calls that are tampered with', 'tamper=8,wire=20,repeat=20'],
  ])('%s has no difference', { timeout: 120_000 }, async (_, faults) => {
    const world = await payFifty(faults);
    await signFifty(world);
    const { run, open } = await reconcile(world);
    expect(open).toEqual([]);
    expect(run.classes).toMatchObject({ matched: world.paid.size + 24 + 15 });
  });

  it.each([
    ['omit', 'approved-not-billed'],
    ['twice', 'billed-twice'],
    ['amount', 'billed-different'],
    ['coin', 'billed-different'],
    ['user', 'billed-different'],
    ['order', 'billed-never-approved'],
    ['invented', 'billed-never-approved'],
    ['refused', 'billed-never-approved'],
  ])('names each difference of a bill with the fault %s', { timeout: 120_000 }, async (fault, expected) => {
    const world = await payFifty(`bill-${fault}=40`);
    const { open } = await reconcile(world);
    const classes = new Set(open.map((item) => item.class));
    expect(classes).toContain(expected);
    expect(open.length).toBeLessThanOrEqual(world.paid.size);
  });
});

describe('the bill of the platform', () => {
  it.each([
    [
      'states fewer records than a page has',
      (page: number) => bill(page === 1 ? 1 : 0, 2),
      /ends at record 2/,
    ],
    [
      'ends before the number that it states',
      (page: number) => bill(5, page === 1 ? 2 : 0),
      /page 2 is empty/,
    ],
    ['changes while it is read', (page: number) => bill(4 + page, 2), /page 2 states 6 records/],
  ])('is refused if it %s', async (_, answer, because) => {
    const receiver = await startReceiver(({ body }, response) => {
      const { pageNum } = JSON.parse(body) as { readonly pageNum: string };
      response.setHeader('Content-Type', 'application/json').end(answer(Number(pageNum)));
    });
    const sandbox = await startTestSandbox();
    const connection = createConnection({ ...connectionTo(sandbox, 'md5'), url: receiver.url }, parts);
    const read = async (): Promise<number> => {
      let records = 0;
      for await (const { line } of platformBill(connection, { source: 'shop', day: DAY }).records())
        records = line;
      return records;
    };
    await expect(read()).rejects.toMatchObject({
      code: 'BILL_INVALID',
      message: expect.stringMatching(because),
    });
  });
});

/** An answer with so many records, which states `count`. */
function bill(count: number, records: number): string {
  const list = Array.from({ length: records }, () => ({
    merchantUserId: 9,
    appOrderId: 'o-1',
    payCoinSymbol: 'BTC',
    orderAmount: 1,
    orderType: 1,
    userId: 1,
    openId: '',
    createTime: '2026-01-15 10:00:00',
    payTime: '2026-01-15 10:00:00',
  }));
  return JSON.stringify({ code: '0', msg: 'suc', data: { count, list } });
}
