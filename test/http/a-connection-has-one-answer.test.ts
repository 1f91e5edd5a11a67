import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { CERTIFICATE, CERTIFICATE_KEY } from '../cli/certificate.ts';
import { answersIn, untilClosed } from '../raw-connection.ts';
import {
  PAYMENT_PATH,
  type TestService,
  signedPayment,
  startTestService,
  writeServiceFolder,
} from '../service.ts';

/*
 * A client or a gateway that sends several requests at once matches answers by their position. If one request
 * went without an answer, it would take the SUCCESS of another callback for that of its own.
 */

let orders = 0;
const nextOrder = (): string => `at-once-${orders++}`;

const posted = (path: string, body: string, headers = ''): string =>
  `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}` +
  `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const good = (headers?: string): string =>
  posted(PAYMENT_PATH, signedPayment({ appOrderId: nextOrder(), orderAmount: '1' }), headers);
function chunked(): string {
  const body = signedPayment({ appOrderId: nextOrder(), orderAmount: '1' });
  return (
    `POST ${PAYMENT_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
  );
}

/** Requests by what they are, and the answer that each gets alone. */
const REQUESTS: Readonly<Record<string, { readonly request: () => string; readonly answer: string }>> = {
  good: { request: good, answer: '200 SUCCESS' },
  'good in chunks': { request: chunked, answer: '200 SUCCESS' },
  'good, offering another protocol': {
    request: () => good('Connection: Upgrade\r\nUpgrade: h2c\r\n'),
    answer: '200 SUCCESS',
  },
  'good, expecting to be asked on': {
    request: () => good('Expect: 100-continue\r\n'),
    answer: '200 SUCCESS',
  },
  bad: { request: () => posted(PAYMENT_PATH, '{}'), answer: '200 FAILURE' },
  'of another type': {
    request: () => posted(PAYMENT_PATH, 'a=1').replace('json', 'x'),
    answer: '200 FAILURE',
  },
  'to no path': { request: () => posted('/nothing', '{}'), answer: '404 ' },
  bodiless: { request: () => 'GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n', answer: '404 ' },
  'of another method': {
    request: () => `GET ${PAYMENT_PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    answer: '405 ',
  },
  'for a tunnel': { request: () => 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', answer: '' },
};
const NAMES = Object.keys(REQUESTS);
/** Those that Node answers by closing the connection. */
const isAnswered = (name: string): boolean => REQUESTS[name]?.answer !== '';

/**
 * Sends the parts as segments of their own, and returns the answers until the service closes the connection,
 * or until there are enough.
 */
async function answersTo(
  service: Pick<TestService, 'url'>,
  parts: readonly string[],
  enough = Infinity,
): Promise<readonly string[]> {
  const { hostname, port, protocol } = new URL(service.url);
  const at = { host: hostname, port: Number(port), noDelay: true };
  const socket = protocol === 'https:' ? connectTls({ ...at, rejectUnauthorized: false }) : connect(at);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (answersIn(text).length >= enough) socket.destroy();
  });
  const closed = untilClosed(socket);
  for (const part of parts) {
    await new Promise((resolve) => void socket.write(part, 'latin1', resolve));
    // The other side reads it first.
    await new Promise(setImmediate);
  }
  await closed;
  return answersIn(text).map(({ status, body }) => `${status} ${body}`);
}

interface Exchange {
  readonly names: readonly string[];
  /** Where the bytes are cut into two segments; 0 for one segment. */
  readonly cut: (requests: readonly string[]) => number;
}

/** What is wrong about the answers to requests that are sent at once. Empty if nothing is. */
async function faultsOf(service: TestService, { names, cut }: Exchange): Promise<readonly string[]> {
  const requests = names.map((name) => REQUESTS[name]?.request() ?? '');
  const bytes = requests.join('');
  const at = cut(requests);
  const size = await service.store.journalSize('shop');
  const parts = at === 0 ? [bytes] : [bytes.slice(0, at), bytes.slice(at)];
  const answers = await answersTo(service, parts);
  const decided = (await service.store.journalSize('shop')) - size;
  const what = `${names.join(', ')}, cut at ${at}: ${answers.join(', ')}`;
  // The second request may come after the first answer only if it begins a segment.
  const most = at === requests[0]?.length ? 2 : 1;
  const expected = names.map((name) => REQUESTS[name]?.answer);
  const [first = ''] = names;
  return [
    ...(answers.length > most ? [`${what}: ${answers.length} answers`] : []),
    ...(answers.length === 0 && isAnswered(first) ? [`${what}: no answer`] : []),
    ...(answers.some((answer, index) => answer !== expected[index])
      ? [`${what}: the answer of another`]
      : []),
    ...(decided === answers.filter((answer) => answer.endsWith('SUCCESS')).length
      ? []
      : [`${what}: ${decided} decided`]),
  ];
}

const inOneSegment = (): number => 0;

describe.each(['', 'TLS'])('over %s', (tls) => {
  let service: TestService;
  beforeAll(async () => {
    const folder = writeServiceFolder();
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text, { mode: 0o600 });
      return join(folder, name);
    };
    const limits = { failuresPerSecond: '100000' };
    const secured = {
      certificate: file('tls.pem', CERTIFICATE),
      key: { file: file('tls.key', CERTIFICATE_KEY) },
    };
    const settings = { public: { port: '0', limits, ...(tls === '' ? {} : { tls: secured }) } };
    service = await startTestService({ folder, settings });
  });
  afterAll(() => service.stop());

  it('each request alone has its answer', async () => {
    for (const name of NAMES.filter(isAnswered)) {
      expect([name, await answersTo(service, [REQUESTS[name]?.request() ?? ''], 1)]).toEqual([
        name,
        [REQUESTS[name]?.answer],
      ]);
    }
  });

  it('three requests in one segment have the answer of the first, in each mix', async () => {
    const faults: string[] = [];
    for (const one of NAMES) {
      for (const two of NAMES) {
        for (const three of tls === '' ? ['good', 'bad', 'bodiless'] : ['good']) {
          faults.push(...(await faultsOf(service, { names: [one, two, three], cut: inOneSegment })));
        }
      }
    }
    expect(faults).toEqual([]);
  });

  it.each([
    ['bad', 'bad', 'good'],
    ['bodiless', 'good in chunks', 'good'],
    ['good in chunks', 'good', 'good'],
  ])(`%s, %s, %s, cut at each ${tls === '' ? '' : 'seventh '}byte`, async (...names) => {
    const faults: string[] = [];
    const { length } = names.map((name) => REQUESTS[name]?.request() ?? '').join('');
    // What TLS hands on is read by the same parser.
    for (let at = 1; at < length; at += tls === '' ? 1 : 7)
      faults.push(...(await faultsOf(service, { names, cut: () => at })));
    expect(faults).toEqual([]);
  });

  it('a thousand requests at once have one answer', async () => {
    for (const name of NAMES.filter(isAnswered)) {
      const requests = Array.from({ length: 1000 }, () => REQUESTS[name]?.request() ?? '').join('');
      expect([name, await answersTo(service, [requests])]).toEqual([name, [REQUESTS[name]?.answer]]);
    }
  });

  it('a request may follow each answer, for as long as the sender waits', async () => {
    const { hostname, port } = new URL(service.url);
    const at = { host: hostname, port: Number(port), noDelay: true };
    const socket = tls === '' ? connect(at) : connectTls({ ...at, rejectUnauthorized: false });
    const received: string[] = [];
    for (let time = 0; time < 50; time += 1) {
      const answered = new Promise<string>((resolve) => {
        let text = '';
        const read = (chunk: Buffer): void => {
          text += chunk.toString('latin1');
          if (answersIn(text).length === 0) return;
          socket.off('data', read);
          resolve(text);
        };
        socket.on('data', read);
      });
      socket.write(time % 3 === 0 ? (REQUESTS['bodiless']?.request() ?? '') : good());
      received.push(...answersIn(await answered).map(({ status }) => String(status)));
    }
    socket.destroy();
    expect(received).toEqual(Array.from({ length: 50 }, (_, time) => (time % 3 === 0 ? '404' : '200')));
  });
});

describe('what a parser could read in two ways is refused:', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({
      settings: { public: { port: '0', limits: { failuresPerSecond: '100000' } } },
    });
  });
  afterAll(() => service.stop());

  const start = `POST ${PAYMENT_PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  it.each<[string, (body: string) => string]>([
    [
      'a length and chunks',
      (body) => `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
    ],
    ['two lengths', (body) => `Content-Length: ${body.length}\r\nContent-Length: 2\r\n\r\n${body}`],
    ['two equal lengths', (body) => `${`Content-Length: ${body.length}\r\n`.repeat(2)}\r\n${body}`],
    ['a length with a sign', (body) => `Content-Length: +${body.length}\r\n\r\n${body}`],
    ['a length in hexadecimal', (body) => `Content-Length: 0x${body.length.toString(16)}\r\n\r\n${body}`],
    ['a list of lengths', (body) => `Content-Length: ${body.length}, ${body.length}\r\n\r\n${body}`],
    ['another coding than chunks', (body) => `Transfer-Encoding: chunked, identity\r\n\r\n${body}`],
    [
      'a header that goes on in the next line',
      (body) => `X: a\r\n b\r\nContent-Length:\r\n ${body.length}\r\n\r\n${body}`,
    ],
    ['a blank before the colon', (body) => `Content-Length : ${body.length}\r\n\r\n${body}`],
    ['line feeds alone', (body) => `Content-Length: ${body.length}\n\n${body}`],
  ])('%s', async (_what, rest) => {
    const size = await service.store.journalSize('shop');
    const body = signedPayment({ appOrderId: nextOrder(), orderAmount: '1' });
    const answers = await answersTo(service, [start + rest(body) + good()]);
    expect(answers.length).toBeLessThan(2);
    expect(answers.filter((answer) => answer.endsWith('SUCCESS'))).toEqual([]);
    expect(await service.store.journalSize('shop')).toBe(size);
  });
});

it('the ops port gives one answer as well', async () => {
  const service = await startTestService();
  onTestFinished(() => service.stop());
  const ops = { url: service.ops };
  const get = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n';
  const post = posted('/api/freezes', '{}');
  // An address that goes on like this is not listened to any more.
  expect(await answersTo(ops, [get + get])).toEqual(['200 ok\n']);
  expect(await answersTo(ops, [post + get])).toHaveLength(1);
  expect(await answersTo(ops, [get.repeat(1000)])).toEqual(['200 ok\n']);
});
