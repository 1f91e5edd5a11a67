import { describe, expect, it } from 'vitest';
import { platformBill } from '../../src/cli/reconcile/platform-bill.ts';
import { type Platform, createPlatform } from '../../packages/platform/client.ts';
import { systemParts } from '../../packages/platform/connection.ts';
import { readDay } from '../../src/reconcile/day.ts';
import { type Ran, placeIn } from '../cli/terminal.ts';
import { errorOf } from '../../packages/platform/test/client.ts';
import { configOf, placeFor } from './merchant.ts';
import {
  ANSWER_FORMS,
  type AnswerForm,
  NOW_MS,
  type TestSandbox,
  balanceOf,
  receiverSources,
  sharedCredentials,
  startReceiver,
  startTestSandbox,
} from '../../packages/sandbox/test/sandbox.ts';
import { LIES, type LieName, startLyingPlatform } from './lying-platform.ts';
import { serviceHere } from './running.ts';

/*
 * The platform answers with something else than what it did. The client and the command must end with an
 * error that says which operation it was and what to do, and must never give a part of what they read.
 */

const clock = (): number => NOW_MS;
const parts = { ...systemParts, clock };
/** The time limit for an answer that never ends. */
const SHORT_MS = 2000;
const UID = 12_345;
const SYMBOLS = 'symbol/openSymbolList';
const BILL = 'opay/merchantBillingDay';
const PAY = 'opay/transferToMerchantAuth';
const DAY = '2026-01-15';

const clientOf = (sandbox: TestSandbox, scheme: AnswerForm, over: object = {}): Platform =>
  createPlatform({ ...configOf(sandbox, scheme), ...over }, parts);

const order = (appOrderId: string) => ({
  userId: String(UID),
  appOrderId,
  orderAmount: '1',
  payCoinSymbol: 'BTC',
});

/** A platform that lies about a path, in front of a sandbox whose receiver says yes to all payments. */
async function lying(lie: LieName, path: string): Promise<TestSandbox> {
  const receiver = await startReceiver((_, response) => void response.end('SUCCESS'));
  return startLyingPlatform(await startTestSandbox({ receiver: receiver.url }), lie, path);
}

const options = (named: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(named).flatMap(([name, value]) => [
    `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    value,
  ]);

/** How an answer to a reading operation and one to a payment that was made end. */
interface Ending {
  readonly code: string;
  readonly because: Readonly<Record<AnswerForm, RegExp>>;
  readonly reading: string;
  /** `paid` if the fault leaves the answer to a payment as it is, because it has no data. */
  readonly payment: 'unknown' | 'refused' | 'paid';
}

const invalid = (because: RegExp, payment: Ending['payment'] = 'unknown'): Ending => ({
  code: 'PLATFORM_ANSWER_INVALID',
  because: { md5: because, 'rsa-envelope': because },
  reading: 'not-read',
  payment,
});
const broken: Ending = { ...invalid(/the connection broke/), code: 'PLATFORM_UNREACHABLE' };
const refused = (because: RegExp, payment: 'unknown' | 'refused'): Ending => ({
  ...invalid(because, payment),
  code: 'PLATFORM_REFUSED',
  reading: 'refused',
});

const ENDINGS: Readonly<Record<Exclude<LieName, 'kinds' | 'count' | 'pages'>, Ending>> = {
  lost: broken,
  cut: broken,
  drip: {
    ...invalid(/the answer was not complete within 2000 ms/),
    code: 'PLATFORM_TIMEOUT',
  },
  endless: invalid(/it has more than \d+ bytes/),
  status: invalid(/its HTTP status is 500, not 200/),
  redirect: invalid(/it is a redirect to http:\S+\/elsewhere, which is not followed/),
  html: invalid(/it is a web page \(HTML\) and not JSON/),
  type: invalid(/its content type is "text\/plain" and not application\/json/),
  gzip: invalid(/it is compressed \(gzip\)/),
  empty: invalid(/the body is not a JSON object/),
  half: invalid(/at character \d+|the string that begins/),
  twice: invalid(/the member "msg" appears twice/),
  code: invalid(/the member code, which says yes or no, is missing/),
  error: refused(/the platform answers 10001, system error/, 'unknown'),
  denied: refused(/the platform answers 10015, the operation failed/, 'refused'),
  scheme: {
    ...invalid(/data must be an object/, 'paid'),
    because: { md5: /data must be an object/, 'rsa-envelope': /data is not encrypted/ },
  },
  member: invalid(/data\.symbolList must be a list/, 'paid'),
  sign: invalid(/the signature was made with another key|sign/, 'paid'),
  unsigned: invalid(/the member sign, the signature of data, is missing/, 'paid'),
  data: invalid(/data/, 'paid'),
};

/** These only show in more than one page. */
const OF_PAGES = ['count', 'pages'] as const;
const SEALED: ReadonlySet<string> = new Set<LieName>(['sign', 'unsigned', 'data']);

const cases = ANSWER_FORMS.flatMap((scheme) =>
  (Object.keys(ENDINGS) as readonly (keyof typeof ENDINGS)[])
    .filter((lie) => scheme === 'rsa-envelope' || !SEALED.has(lie))
    .map((lie) => ({ lie, scheme, ...ENDINGS[lie] })),
);

it('each lie has a case', () => {
  expect(new Set([...Object.keys(ENDINGS), ...OF_PAGES, 'kinds'])).toEqual(new Set(Object.keys(LIES)));
});

describe.each(cases)('$lie with $scheme', ({ lie, scheme, code, because, reading, payment }) => {
  const limits = lie === 'drip' ? { timeoutMs: SHORT_MS } : { answerBytes: 65_536 };
  const limitOptions = lie === 'drip' ? ['--timeout', String(SHORT_MS)] : [];

  it('of a reading operation is an error with operation and cure, in a program and as a command', async () => {
    const sandbox = await lying(lie, SYMBOLS);
    const error = await errorOf(clientOf(sandbox, scheme, limits).symbols.list({}));
    expect(error).toMatchObject({
      code,
      data: { operation: 'symbols.list', section: '4.18', outcome: reading },
    });
    expect(error.message).toMatch(because[scheme]);
    expect(error.message.endsWith(`; ${error.data.fix}`)).toBe(true);

    const run = placeFor(sandbox).runWith({ clock });
    const ran = await run('platform', 'symbols', '--scheme', scheme, ...limitOptions);
    expect(ran).toMatchObject({ code: code === 'PLATFORM_REFUSED' ? 1 : 2, out: '' });
    expect(ran.err).toContain(`${code}: symbols.list (4.18): `);
    expect(ran.err).toMatch(because[scheme]);
    expect(ran.err).toContain(error.data.fix);
    // A redirect is not followed.
    expect(new Set(sandbox.log.map(({ about }) => about))).toEqual(new Set([SYMBOLS]));
  });

  it('of a payment leaves it debited once, and says what is known of it', async () => {
    const sandbox = await lying(lie, PAY);
    const outcome = await clientOf(sandbox, scheme, limits)
      .payments.create(order('A-1'))
      .then(
        () => 'paid',
        async (thrown: unknown) => (await errorOf(Promise.reject(thrown as Error))).data.outcome,
      );
    expect(outcome).toBe(payment);
    expect(await balanceOf(sandbox, UID, 'BTC')).toBe('4');

    const run = placeFor(sandbox).runWith({ clock });
    const ran = await run('platform', 'pay', ...options(order('A-2')), '--scheme', scheme, ...limitOptions);
    expect(said(ran)).toEqual({ paid: PAID, unknown: UNKNOWN, refused: DENIED }[payment]);
    expect(await balanceOf(sandbox, UID, 'BTC')).toBe('3');
    const debits = sandbox.log.filter(({ kind }) => kind === 'confirmation');
    expect(debits.map(({ about }) => about)).toEqual(['A-1', 'A-2']);
  });
});

const PAID = { code: 0, paid: true, inBill: false, announcement: '' };
const UNKNOWN = { code: 2, paid: false, inBill: true, announcement: '' };
/** No service confirmed it, so the announcement is still there to be cancelled. */
const DENIED = { code: 1, paid: false, inBill: false, announcement: 'cancelled' };

/** What the command says about a payment. */
const said = ({ code, out, err }: Ran) => ({
  code,
  paid: out.startsWith('Paid: 1 BTC by 12345, order A-'),
  inBill: /The bill has it: 1 BTC, created \S+ \S+\. Don't pay again\./.test(err),
  announcement: /The announcement of A-\d (stays|is cancelled)/.exec(err)?.[1]?.replace('is ', '') ?? '',
});

it.each(ANSWER_FORMS)(
  'records of wrong kinds are unreadable, each with its text, with %s',
  async (scheme) => {
    const sandbox = await lying('kinds', SYMBOLS);
    const { symbolList } = await clientOf(sandbox, scheme).symbols.list({});
    expect(symbolList[0]).toEqual({
      unreadable: expect.stringMatching(/^coinSymbol must be a text; .* and \d+ more$/) as string,
      text: expect.stringMatching(/^\{"coinSymbol":\[/) as string,
    });
    const run = placeFor(sandbox).runWith({ clock });
    const symbols = ['platform', 'symbols', '--scheme', scheme];
    const json = await run(...symbols, '--json');
    expect([json.code, json.json()]).toEqual([1, { symbolList }]);
    const { code, err } = await run(...symbols);
    expect(code).toBe(1);
    expect(err).toContain(`Record ${symbolList.length} can't be read: coinSymbol must be a text; `);
  },
);

describe.each(ANSWER_FORMS)('pages that lie, with %s', (scheme) => {
  const BECAUSE = {
    count: /page \d is empty after 5 records, but count is 6/,
    pages: /page 2 only repeats records of earlier pages/,
  };

  it.each(OF_PAGES)('%s: all records are never given as all', async (lie) => {
    const sandbox = await lying(lie, BILL);
    const platform = clientOf(sandbox, scheme);
    for (let at = 0; at < 5; at++)
      await platform.payments.create({ ...order(`A-${at}`), orderAmount: '0.1' });
    const given: string[] = [];
    const read = async (): Promise<void> => {
      for await (const record of platform.bill.listAll({ day: DAY, pageSize: 2 }))
        given.push('unreadable' in record ? record.text : record.appOrderId);
    };
    const error = await errorOf(read());
    expect(error).toMatchObject({
      code: 'PLATFORM_ANSWER_INVALID',
      data: { operation: 'bill.list', cursor: expect.any(String) as string },
    });
    expect(error.message).toMatch(BECAUSE[lie]);
    expect(new Set(given).size).toBe(given.length);

    const run = placeFor(sandbox).runWith({ clock });
    const all = ['platform', 'bill', '--day', DAY, '--all', '--page-size', '2', '--scheme', scheme];
    const ran = await run(...all);
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toMatch(BECAUSE[lie]);
    expect((await run(...all, '--json')).json()).toMatchObject({ error: { code: error.code } });
    const csv = await run(...all, '--csv');
    expect(csv.code).toBe(2);
    expect(csv.err).toContain('The output ends at the cursor ');
    // Not even a page of which is known that it has no such order proves that there is none.
    const found = platform.payments.find({ appOrderId: 'unknown' });
    expect((await errorOf(found)).code).toBe('PLATFORM_ANSWER_INVALID');
  });

  it('count: no bill is reconciled that states more records than it has', async () => {
    const sandbox = await lying('count', BILL);
    await clientOf(sandbox, scheme).payments.create(order('A-1'));
    const bill = platformBill(clientOf(sandbox, scheme), {
      source: 'shop',
      day: readDay(DAY, 'Asia/Shanghai'),
    });
    const read = async (): Promise<void> => {
      for await (const _ of bill.records()) void _;
    };
    await expect(read()).rejects.toMatchObject({
      code: 'BILL_INVALID',
      message: expect.stringContaining('page 2 is empty after 1 records, but count is 2') as string,
    });
  });
});

describe.each(ANSWER_FORMS)(
  'a payment whose answer is lost, with a receiver that expects it, and %s',
  (scheme) => {
    const POLICY = `policy: payments
callback: payment
rules:
  - amount-limit: { max: 2 }
  - expected-order: {}
`;

    async function start(lie: LieName) {
      const service = await serviceHere({
        policies: { 'payments.yaml': POLICY },
        settings: { sources: receiverSources(sharedCredentials()) },
      });
      const honest = await startTestSandbox({
        receiver: service.url,
        clock: () => Date.now(),
        standsAtMs: undefined,
      });
      const sandbox = await startLyingPlatform(honest, lie, PAY);
      const { origin } = new URL(sandbox.url);
      const env = { COUNTERSIGN_PLATFORM_URL: origin, COUNTERSIGN_PLATFORM_RETRIES: '0' };
      const run = placeIn(service.folder).runWith({ clock: () => Date.now(), env });
      const pay = (amount = '1') =>
        run('platform', 'pay', ...options({ ...order('A-1'), orderAmount: amount }), '--scheme', scheme);
      const stateOf = async (): Promise<unknown> =>
        (await run('orders', 'show', 'payment', 'A-1', '--json')).json();
      return { sandbox, run, pay, stateOf };
    }

    it.each(['lost', 'error', 'half', 'drip'] as const)(
      '%s: it is found in the bill, and not paid again',
      async (lie) => {
        const { sandbox, run, pay, stateOf } = await start(lie);
        const limit = lie === 'drip' ? ['--timeout', String(SHORT_MS)] : [];
        const limited = [...options(order('A-1')), ...limit];
        expect(said(await run('platform', 'pay', ...limited, '--scheme', scheme))).toEqual(UNKNOWN);
        expect(await stateOf()).toMatchObject({ state: 'used' });
        expect((await run('platform', 'find-payment', 'A-1')).code).toBe(0);
        expect(await pay()).toMatchObject({
          code: 1,
          err: expect.stringContaining('ORDER_CONFLICT') as string,
        });
        const again = await errorOf(
          clientOf(sandbox, scheme, { timeoutMs: SHORT_MS }).payments.create(order('A-1')),
        );
        expect(again.data).toMatchObject({ outcome: 'unknown' });
        expect(await balanceOf(sandbox, UID, 'BTC')).toBe('4');
      },
    );

    it('denied: it was confirmed, so it is looked up although the platform said no', async () => {
      const { sandbox, pay, stateOf } = await start('denied');
      const ran = await pay();
      expect(said(ran)).toEqual({ ...UNKNOWN, code: 1 });
      expect(ran.err).toContain('The order was confirmed with SUCCESS before, so it may be debited.');
      expect(await stateOf()).toMatchObject({ state: 'used' });
      expect(await balanceOf(sandbox, UID, 'BTC')).toBe('4');
    });

    it('lost: if the receiver refused it, the announcement stays, and nothing is debited', async () => {
      const { sandbox, run, pay, stateOf } = await start('lost');
      const ran = await pay('2.5');
      expect(said(ran)).toEqual({ code: 2, paid: false, inBill: false, announcement: 'stays' });
      expect(ran.err).toContain(
        'The bill does not have it yet, which is no proof: look again before you pay again.',
      );
      expect(await stateOf()).toMatchObject({ state: 'expected' });
      expect((await run('platform', 'find-payment', 'A-1')).code).not.toBe(0);
      expect(await balanceOf(sandbox, UID, 'BTC')).toBe('5');
    });
  },
);

it('an honest operation beside a lie is answered as ever', async () => {
  const platform = clientOf(await lying('html', SYMBOLS), 'md5');
  expect((await platform.payments.create(order('A-1'))) ?? 'paid').toBe('paid');
  await errorOf(platform.symbols.list({}));
});
