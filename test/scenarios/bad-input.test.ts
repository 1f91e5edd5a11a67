import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { answersIn, rawConnection } from '../raw-connection.ts';
import {
  PAYMENT_PATH,
  type TestService,
  VAULT_TOKEN,
  signedPayment,
  startTestService,
  transfer,
  web3,
} from '../service.ts';
import {
  type BadBody,
  brokenJson,
  finePayments,
  wrongEnvelopes,
  wrongHeaders,
  wrongPayments,
  wrongQuestions,
} from './bad-bodies.ts';
import { type RawRequest, type Target, garbage, requests } from './bad-requests.ts';

const ANSWER_TIMEOUT_MS = 1000;
const HEADERS_TIMEOUT_MS = 400;
/** By how much an answer may be later than `answerTimeoutMs`, also on a busy machine. */
const SLACK_MS = 3000;
/** How often Node looks for requests whose headers have not come. */
const LOOK_MS = 1000;

const goodPayment = signedPayment({ appOrderId: 'good' });
const goodTransfer = JSON.stringify(transfer({ request_id: 'good' }));
const goodWeb3 = JSON.stringify(web3({ request_id: 'good' }));

const authorization = { authorization: VAULT_TOKEN };
const payment: Target = { path: PAYMENT_PATH, body: goodPayment, headers: '' };
const paths: readonly (readonly [string, Target])[] = [
  ['a payment', payment],
  [
    'a withdrawal',
    { path: '/cosigner/withdraw', body: goodTransfer, headers: `Authorization: ${VAULT_TOKEN}\r\n` },
  ],
  [
    'a web3 transaction',
    { path: '/cosigner/web3', body: goodWeb3, headers: `Authorization: ${VAULT_TOKEN}\r\n` },
  ],
];

let service: TestService;
beforeAll(async () => {
  const limits = { headersTimeoutMs: HEADERS_TIMEOUT_MS };
  service = await startTestService({
    settings: { answerTimeoutMs: ANSWER_TIMEOUT_MS, public: { port: '0', limits } },
  });
});
afterAll(() => service.stop());
/** Whatever came before, it answers as if nothing had been. */
afterEach(async () => {
  const { body } = await service.post(PAYMENT_PATH, goodPayment);
  if (body !== 'SUCCESS') throw new Error(`a good callback was answered ${body} afterwards`);
});

const journalSize = async (): Promise<number> =>
  (await service.store.journalSize('shop')) + (await service.store.journalSize('vault'));

/** What became of a callback, in all that can be seen from outside and in the journal. */
interface Seen {
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string;
  readonly inTime: boolean;
  readonly journalled: number;
}

async function sent(path: string, { body, headers }: BadBody): Promise<Seen> {
  const before = await journalSize();
  const sinceMs = performance.now();
  const answer = await service.post(
    path,
    body,
    path === PAYMENT_PATH ? headers : { ...authorization, ...headers },
  );
  const inTime = performance.now() - sinceMs < ANSWER_TIMEOUT_MS + SLACK_MS;
  return { ...answer, inTime, journalled: (await journalSize()) - before };
}

const refused = (bad: BadBody): Seen => ({
  status: 200,
  contentType: 'text/plain',
  body: 'FAILURE',
  inTime: true,
  journalled: bad.journalled === true ? 1 : 0,
});

const named = <T extends { readonly name: string }>(rows: readonly T[]): readonly (readonly [string, T])[] =>
  rows.map((row) => [row.name, row]);

describe('a payment is answered FAILURE', () => {
  it.each([
    ...named(brokenJson(goodPayment, 'appKey')),
    ...named(wrongHeaders(goodPayment)),
    ...named(wrongPayments()),
    ...named(wrongEnvelopes()),
  ])('with %s', async (_name, bad) => {
    expect(await sent(PAYMENT_PATH, bad)).toEqual(refused(bad));
  });
});

describe.each([
  ['transfer', '/cosigner/withdraw', goodTransfer],
  ['web3', '/cosigner/web3', goodWeb3],
] as const)('a %s is answered FAILURE', (kind, path, good) => {
  const broken = brokenJson(good, 'type').map((bad) => ({
    ...bad,
    // These are objects, and the co-signer is known by its header.
    journalled: bad.name === 'an empty object' || bad.name === 'an object in it',
  }));
  it.each([...named(broken), ...named(wrongHeaders(good)), ...named(wrongQuestions(kind))])(
    'with %s',
    async (_name, bad) => {
      expect(await sent(path, bad)).toEqual(refused(bad));
    },
  );

  it('on the other’s path', async () => {
    const bad = { name: kind, body: good, journalled: true };
    const other = kind === 'web3' ? '/cosigner/withdraw' : '/cosigner/web3';
    expect(await sent(other, bad)).toEqual(refused(bad));
  });
});

describe('a payment is answered SUCCESS', () => {
  it.each(Object.entries(finePayments()))('with %s', async (_name, body) => {
    expect((await service.post(PAYMENT_PATH, body)).body).toBe('SUCCESS');
  });
});

/** Writes it, reads until the other side closes, and tells all that came back. */
async function exchanged(row: RawRequest, target: Target, withinMs: number): Promise<Exchange> {
  const before = await journalSize();
  const connection = await rawConnection(service.url);
  connection.write(row.bytes(target));
  if (row.finish === true) connection.finish();
  const text = await connection.received(withinMs);
  return {
    answers: answersIn(text).map(({ status, body }) => `${status} ${body}`),
    tellsOfItself: /\bat .*:\d+:\d+|Error|node_modules|x-powered-by|^server:/im.test(text),
    journalled: (await journalSize()) - before,
  };
}

interface Exchange {
  readonly answers: readonly string[];
  readonly tellsOfItself: boolean;
  readonly journalled: number;
}

const expected = ({ answers }: RawRequest): Exchange => ({
  answers,
  tellsOfItself: false,
  journalled: answers.filter((answer) => answer === '200 SUCCESS').length,
});

describe.each(paths)('a request for %s gets its answers, and no more', (_what, target) => {
  it.each(named(requests))('%s', async (_name, row) => {
    expect(await exchanged(row, target, ANSWER_TIMEOUT_MS + SLACK_MS)).toEqual(expected(row));
  });
});

describe('what is no HTTP gets FAILURE', () => {
  it.each(named(garbage))('%s', async (_name, row) => {
    expect(await exchanged(row, payment, ANSWER_TIMEOUT_MS + SLACK_MS)).toEqual(expected(row));
  });

  it.each([
    ['nothing at all', ''],
    ['blank lines', '\r\n'.repeat(50_000)],
    ['half a header', `POST ${PAYMENT_PATH} HTTP/1.1\r\nHost: x\r\n`],
  ])('%s, and then silence', async (name, text) => {
    const row = { name, bytes: () => text, answers: ['400 FAILURE'] };
    expect(await exchanged(row, payment, HEADERS_TIMEOUT_MS + LOOK_MS + SLACK_MS)).toEqual(expected(row));
  });
});

describe('a client that breaks off', () => {
  it.each(paths)('in the middle of %s disturbs nobody', async (_what, target) => {
    const text = requests[0]?.bytes(target) ?? '';
    for (const length of [0, 10, 60, 200, text.length]) {
      const connection = await rawConnection(service.url);
      connection.write(text.slice(0, length));
      connection.reset();
    }
    expect((await service.post(PAYMENT_PATH, goodPayment)).body).toBe('SUCCESS');
  });
});
