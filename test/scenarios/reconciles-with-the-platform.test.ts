import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { platformBill } from '../../src/cli/reconcile/platform-bill.ts';
import { createPlatform } from '../../packages/platform/client.ts';
import { systemParts } from '../../packages/platform/connection.ts';
import { PlatformError } from '../../packages/platform/error.ts';
import { CLASSES } from '../../src/reconcile/classes.ts';
import { readDay } from '../../src/reconcile/day.ts';
import { storeEntries } from '../../src/reconcile/entries.ts';
import type { RecordedItem } from '../../src/reconcile/records.ts';
import { type RunResult, runDay } from '../../src/reconcile/run.ts';
import { FAULTS, readFaults } from '../../packages/sandbox/faults.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { type Clock, systemClock } from '../../src/values/clock.ts';
import {
  DISCREPANCIES,
  type Discrepancy,
  type Expected,
  expectedOf,
} from '../../tools/end-to-end/discrepancies.ts';
import { startBlackHoleProxy } from '../black-hole-proxy.ts';
import { runCall } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { configOf } from './merchant.ts';
import {
  ANSWER_FORMS,
  type AnswerForm,
  NOW_MS,
  type TestSandbox,
  keysOf,
  receiverSources,
  sharedCredentials,
  startReceiver,
  startTestSandbox,
} from '../../packages/sandbox/test/sandbox.ts';
import { TO, type TestService, startTestService, transfer } from '../service.ts';
import { durableRedis, serviceHere, untilReady } from './running.ts';

/*
 * The receiver, the client, the sandbox and the reconciliation together, over HTTP: what was asked, approved,
 * debited, signed and billed. Each case has a sandbox and days of its own.
 */

const folder = sharedCredentials();
const SOURCES = receiverSources(folder);
const ZONE = 'Asia/Shanghai';
const DAY_MS = 86_400_000;
const SETTLE_MS = 3_600_000;
/** From the day of a case to that of the next one. */
const STEP_MS = 4 * DAY_MS;
/** The longest that settings allow, so that no answer is a time-out. */
const TIMEOUT_MS = 10_000;
const ABOVE_THE_LIMIT = '1000.01';
const TODAY = readDay('2026-01-15', ZONE);

/** Begins at noon of a day in the zone. It goes with each look, so that no two entries have one instant. */
let nowMs = NOW_MS;
const clock = (): number => nowMs++;
const parts = { ...systemParts, clock };

/** What a case sends. */
interface Sent {
  readonly id: string;
  readonly flow: 'payment' | 'transfer-order' | 'transfer' | 'web3';
  /** Above the limit of the policies. */
  readonly refused?: boolean;
  readonly fault?: Discrepancy;
}

const REFUSED: ReadonlySet<string> = new Set<Discrepancy>(['bill-refused', 'sign-refused']);

/** What must be sent for a fault to occur, on each flow that can have it. */
function victimsOf(fault: Discrepancy): readonly Required<Sent>[] {
  const flows = fault.startsWith('bill-') ? (['payment'] as const) : (['transfer', 'web3'] as const);
  return flows.map((flow) => ({ id: `${fault}-${flow}`, flow, fault, refused: REFUSED.has(fault) }));
}

/** Orders, withdrawals and transactions of which some are refused, and a transfer order. */
const HONEST: readonly Sent[] = [
  ...(['payment', 'transfer', 'web3'] as const).flatMap((flow) => [
    { id: `honest-${flow}-1`, flow },
    { id: `honest-${flow}-2`, flow },
    { id: `honest-${flow}-refused`, flow, refused: true },
  ]),
  { id: 'honest-transfer-order', flow: 'transfer-order' },
];

type Receiver = Pick<TestService, 'url' | 'folder' | 'store'>;

interface Timing {
  readonly zone: string;
  readonly clock: Clock;
}

/** The day of one case: a sandbox, and the receiver that it asks. */
interface Day extends Timing {
  readonly service: Receiver;
  readonly sandbox: TestSandbox;
  readonly scheme: AnswerForm;
  readonly directory: string;
  /** Makes the ids of the case its own. */
  readonly prefix: string;
}

async function beginDay(
  service: Receiver,
  faults: string,
  scheme: AnswerForm,
  timing: Timing = { zone: ZONE, clock },
): Promise<Day> {
  nowMs += STEP_MS;
  const prefix = `${nowMs}-`;
  const sandbox = await startTestSandbox({
    ...timing,
    receiver: service.url,
    faults: readFaults(faults.replaceAll('@', `@${prefix}`)),
    standsAtMs: undefined,
    refusalsMax: 1,
  });
  const directory = mkdtempSync(join(service.folder, 'runs-'));
  return { ...timing, service, sandbox, scheme, directory, prefix };
}

let payments = 0;

async function send({ sandbox, scheme, prefix }: Day, { id, flow, refused, fault }: Sent): Promise<void> {
  const speedUps = fault === undefined ? 1 : 0;
  const common = { from: TO, symbol: 'ETH', request: `${prefix}${id}`, speedUps };
  if (flow === 'payment') {
    const paid = createPlatform(configOf(sandbox, scheme), parts).payments.create({
      appOrderId: `${prefix}${id}`,
      userId: String(12_345 + (payments++ % 20)),
      orderAmount: refused === true ? ABOVE_THE_LIMIT : '12.5',
      payCoinSymbol: 'USDT1742',
    });
    await paid.catch((thrown: unknown) => {
      if (thrown instanceof PlatformError && thrown.data.refusal?.code === '10015') return;
      throw thrown;
    });
  } else if (flow === 'transfer-order') {
    const order = { uid: 12_345, symbol: 'USDT1742', amount: '3', orderId: `${prefix}${id}` };
    await sandbox.steer({ command: 'transfer', ...order });
  } else if (flow === 'transfer') {
    const own = { to: TO, amount: refused === true ? '10.1' : '0.5', memo: '', outputs: [] };
    await sandbox.steer({ command: 'withdraw', ...common, ...own });
  } else {
    const contract = refused === true ? '0x0000000000000000000000000000000000000001' : TO;
    const own = { to: TO, amount: '0', data: '0xa9059cbb', contract };
    await sandbox.steer({ command: 'web3', ...common, ...own });
  }
}

/** Sends everything, lets the co-signer sign, and goes on to noon of the next day. */
async function spendDay(day: Day, sent: readonly Sent[]): Promise<void> {
  for (const each of sent) await send(day, each);
  const poll = async (): Promise<void> => {
    for (let polls = 0; polls < 3; polls++) await day.sandbox.steer({ command: 'poll' });
  };
  await poll();
  nowMs += DAY_MS;
  await poll();
}

/** Reconciles the day so many days ago. */
function reconcile(of: Day, daysAgo: number): Promise<RunResult> {
  const { service, sandbox, scheme, directory, zone } = of;
  const now = Temporal.Instant.fromEpochMilliseconds(of.clock()).toZonedDateTimeISO(zone);
  const day = readDay(now.toPlainDate().subtract({ days: daysAgo }).toString(), zone);
  const platform = createPlatform(configOf(sandbox, scheme), parts);
  return runDay({
    day,
    settleMs: SETTLE_MS,
    entries: storeEntries(service.store, ['shop', 'vault']),
    bills: new Map([['shop', platformBill(platform, { source: 'shop', day })]]),
    progress: () => undefined,
    directory,
    by: 'test',
    clock: () => day.untilMs + SETTLE_MS,
  });
}

const namedIn =
  ({ prefix }: Day, day: 0 | 1) =>
  (item: RecordedItem): Expected => ({ class: item.class, id: item.id.replace(prefix, ''), day });

/** The exceptions of yesterday and today, and how many items of each class they have. */
async function reconciled(day: Day) {
  const [first, second] = [await reconcile(day, 1), await reconcile(day, 0)];
  return {
    exceptions: [...first.open.map(namedIn(day, 0)), ...second.open.map(namedIn(day, 1))],
    classes: [first.run.classes, second.run.classes],
  };
}

const sorted = (exceptions: readonly object[]): readonly string[] =>
  exceptions.map((each) => JSON.stringify(each, ['class', 'id', 'day'])).toSorted();

describe('a day with discrepancies', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService({
      clock,
      settings: { sources: SOURCES, answerTimeoutMs: TIMEOUT_MS },
    });
  });
  afterAll(() => service.stop());

  /** What a day with the victims must be called, and is called. */
  async function namedOn(scheme: AnswerForm, victims: readonly Required<Sent>[], { others = '' } = {}) {
    const faults = victims.map(({ fault, id }) => `${fault}@${id}`);
    const day = await beginDay(service, [...faults, others].join(','), scheme);
    // What is honest comes before and after.
    await spendDay(day, [...HONEST.slice(0, 5), ...victims, ...HONEST.slice(5)]);
    const { exceptions } = await reconciled(day);
    return {
      named: sorted(exceptions),
      expected: sorted(victims.flatMap(({ fault, id }) => expectedOf(fault, id))),
    };
  }

  it.each(ANSWER_FORMS)('without any has none, with %s', async (scheme) => {
    const day = await beginDay(service, '', scheme);
    await spendDay(day, HONEST);
    expect(await reconciled(day)).toEqual({
      exceptions: [],
      classes: [{ matched: 6, 'transfer-order': 1, 'speed-up': 4 }, {}],
    });
  });

  it.each([
    ['calls that are late, repeated, reordered and in other forms', 'late=50,repeat=50,reorder=50,wire=50'],
    ['calls that are tampered with', 'tamper=20,wire=50,repeat=50'],
  ])('with %s has none', async (_, faults) => {
    for (const scheme of ANSWER_FORMS) {
      const day = await beginDay(service, faults, scheme);
      await spendDay(
        day,
        [1, 2, 3].flatMap((at) => HONEST.map((sent) => ({ ...sent, id: `${sent.id}-${at}` }))),
      );
      expect((await reconciled(day)).exceptions).toEqual([]);
      const made = day.sandbox.log.flatMap((entry) => entry.faults);
      expect(made.some((fault) => fault.startsWith('tamper-'))).toBe(faults.startsWith('tamper'));
    }
  });

  const cases = DISCREPANCIES.flatMap((fault) =>
    (fault.startsWith('bill-') ? ANSWER_FORMS : (['md5'] as const)).map((scheme) => [fault, scheme] as const),
  );

  it('has each kind that the sandbox can make', () => {
    const kinds = Object.keys(FAULTS).filter((fault) => /^(?:bill|sign)-/.test(fault));
    expect(DISCREPANCIES.toSorted()).toEqual(kinds.toSorted());
  });

  it.each(cases)('names %s alone, with %s', async (fault, scheme) => {
    const { named, expected } = await namedOn(scheme, victimsOf(fault));
    expect(expected.length).toBeGreaterThan(0);
    expect(named).toEqual(expected);
  });

  it.each(ANSWER_FORMS.flatMap((scheme) => ['', 'repeat,wire'].map((others) => [scheme, others] as const)))(
    'names all of them at once, with %s and %j',
    async (scheme, others) => {
      const { named, expected } = await namedOn(scheme, DISCREPANCIES.flatMap(victimsOf), { others });
      expect(named).toEqual(expected);
    },
  );

  it('names what is debited and signed although its approval was released', async () => {
    const day = await beginDay(service, '', 'md5');
    await send(day, { id: 'p', flow: 'payment' });
    const { token } = keysOf(folder);
    const ask = async (type: string, more: object = {}): Promise<string> => {
      const body = transfer({ type, request_id: `${day.prefix}w`, ...more });
      return (await service.post('/cosigner/withdraw', JSON.stringify(body), { authorization: token })).body;
    };
    expect(await ask('sign_start')).toBe('SUCCESS');
    for (const [kind, id] of [
      ['payment', 'p'],
      ['transfer', 'w'],
    ] as const) {
      const argv = [kind, `${day.prefix}${id}`, '--message', 'it failed'];
      const config = ['--config', join(service.folder, 'settings.yaml')];
      expect(await runCall(['decisions', 'release', ...argv, ...config], { clock })).toMatchObject({
        code: 0,
      });
    }
    nowMs += DAY_MS;
    await ask('sign_success', { txid: '0x1' });
    expect((await reconciled(day)).exceptions).toEqual([
      { class: 'billed-after-release', id: 'p', day: 0 },
      { class: 'signed-after-release', id: 'w', day: 1 },
    ]);
  });
});

/** A time zone in which it is about noon. */
function zoneAtNoon(): string {
  const east = 12 - new Date().getUTCHours();
  return `Etc/GMT${east > 0 ? '-' : '+'}${Math.abs(east)}`;
}

describe('a receiver whose SUCCESS comes too late, so that it answers FAILURE', () => {
  const ANSWER_TIMEOUT_MS = 250;
  const order = { id: 'late', flow: 'payment' } as const;
  const withdrawal = { id: 'late', flow: 'transfer' } as const;

  it.each([
    ['neither debited nor signed, has no exception', '', []],
    [
      'debited and signed all the same, is named',
      'bill-refused@late,sign-refused@late',
      [
        { class: 'billed-after-failure', id: 'late', day: 0 },
        { class: 'signed-after-failure', id: 'late', day: 0 },
      ],
    ],
  ] as const)('%s', async (_, faults, expected) => {
    const redis = await durableRedis();
    const proxy = await startBlackHoleProxy(redis.port);
    onTestFinished(() => proxy.close());
    const service = await serviceHere({
      settings: {
        sources: SOURCES,
        answerTimeoutMs: ANSWER_TIMEOUT_MS,
        store: { url: proxy.url, commandTimeoutMs: 20_000 },
      },
    });
    await untilReady(service.ops);
    const store = await openRedisStore({ url: redis.url, commandTimeoutMs: 20_000 });
    onTestFinished(() => store.close());
    const here = { zone: zoneAtNoon(), clock: systemClock };
    const day = await beginDay({ url: service.url, folder: service.folder, store }, faults, 'md5', here);
    proxy.delay(4 * ANSWER_TIMEOUT_MS);
    for (const each of [order, withdrawal]) await send(day, each);
    await day.sandbox.steer({ command: 'poll' });
    // The co-signer asks about sign_start only if it ignores the answer about sign_prepare.
    const isSigned = faults !== '';
    const wanted = [
      ['shop', 'late', 1],
      ['vault', 'late', isSigned ? 2 : 1],
      // What was sent while the store was slow is written after its answer.
      ['vault', 'notice', isSigned ? 1 : 0],
    ] as const;
    await eventually('each SUCCESS is marked late, and what was signed is noted', async () => {
      for (const [source, type, count] of wanted) {
        const entries = await store.entries({ source, limit: 100 });
        if (entries.filter((entry) => entry.type === type).length < count) return undefined;
      }
      return true;
    });
    proxy.pass();
    expect((await reconcile(day, 0)).open.map(namedIn(day, 0))).toEqual(expected);
  });
});

it('each class of exception occurs here', () => {
  const made = DISCREPANCIES.flatMap((fault) => expectedOf(fault, 'any')).map((expected) => expected.class);
  const afterFailure = ['billed-after-failure', 'signed-after-failure'];
  const afterRelease = ['billed-after-release', 'signed-after-release'];
  const exceptions = Object.entries(CLASSES).filter(([, { level }]) => level !== 'explained');
  // The sandbox makes none of these; test/reconcile has them.
  const elsewhere = ['billed-unreadable', 'approved-not-signed', 'signed-late', 'txid-unexpected'];
  expect(new Set([...made, ...afterFailure, ...afterRelease, ...elsewhere])).toEqual(
    new Set(exceptions.map(([name]) => name)),
  );
});

describe('the bill of the platform', () => {
  it.each([
    [
      'states fewer records than a page has',
      (page: number) => bill(page === 1 ? 1 : 0, 2),
      /page 1 has 2 records, but count is 1/,
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
    const platform = createPlatform({ ...configOf(sandbox, 'md5'), url: receiver.url }, parts);
    const read = async (): Promise<number> => {
      let records = 0;
      for await (const { line } of platformBill(platform, { source: 'shop', day: TODAY }).records())
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
    appOrderId: `o-${count}`,
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
