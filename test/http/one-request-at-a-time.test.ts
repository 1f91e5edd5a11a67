import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { type TLSSocket, connect as connectTls } from 'node:tls';
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type ServerLimits, listen } from '../../src/http/server.ts';
import { CERTIFICATE, CERTIFICATE_KEY } from '../cli/certificate.ts';
import { eventually } from '../eventually.ts';
import { answersIn, rawConnection, untilClosed } from '../raw-connection.ts';
import {
  PAYMENT_PATH,
  type TestService,
  signedPayment,
  startTestService,
  writeServiceFolder,
} from '../service.ts';

const WITHIN_MS = 10_000;

let orders = 0;
/** A callback as it stands on the wire. */
function callback(more = '', version = '1.1'): string {
  const body = signedPayment({ appOrderId: `piped-${orders++}`, orderAmount: '1' });
  return `POST ${PAYMENT_PATH} HTTP/${version}\r\nHost: a\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
}
const GET = 'GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n';

async function countOf(ops: string, series: string): Promise<number> {
  const text = await (await fetch(`${ops}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length + 1));
}
const unserved = (ops: string, reason: string): Promise<number> =>
  countOf(ops, `countersign_unserved_total{reason="${reason}"}`);

async function secured(url: string): Promise<TLSSocket> {
  const { hostname, port } = new URL(url);
  const socket = connectTls({ host: hostname, port: Number(port), rejectUnauthorized: false });
  onTestFinished(() => void socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

async function allOf(socket: Socket): Promise<string> {
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await untilClosed(socket);
  return text;
}

describe('a connection', () => {
  let service: TestService;
  beforeAll(async () => {
    const limits = { failuresPerSecond: '100000' };
    service = await startTestService({ settings: { public: { port: '0', limits } } });
  });
  afterAll(() => service.stop());

  it.each<[string, () => string, readonly string[]]>([
    ['callback', () => callback() + callback(), ['200 SUCCESS']],
    [
      'HTTP/1.0 callback that is to be kept',
      () => callback('', '1.0') + callback('', '1.0'),
      ['200 SUCCESS'],
    ],
    [
      'callback that offers another protocol',
      () => callback() + callback('Upgrade: h2c\r\n'),
      ['200 SUCCESS'],
    ],
    ['tunnel', () => `${callback()}CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`, ['200 SUCCESS']],
    ['expectation', () => callback() + callback('Expect: anything\r\n').repeat(1000), ['200 SUCCESS']],
    ['request for no path', () => callback() + GET.repeat(1000), ['200 SUCCESS']],
    ['callback after a request for no path', () => GET + callback(), ['404 ']],
  ])(
    'whose second %s comes too early gets its first answer, is closed, and nothing else is read',
    async (_what, requests, answers) => {
      const before = await unserved(service.ops, 'pipelined');
      const notFound = await unserved(service.ops, 'not-found');
      const connection = await rawConnection(service.url);
      connection.write(requests());
      const received = answersIn(await connection.received(WITHIN_MS));
      expect(received.map(({ status, body }) => `${status} ${body}`)).toEqual(answers);
      expect(await unserved(service.ops, 'pipelined')).toBe(before + 1);
      expect((await unserved(service.ops, 'not-found')) - notFound).toBe(answers[0] === '404 ' ? 1 : 0);
    },
  );

  it('is kept for callbacks that wait for their answers', async () => {
    const { hostname, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    for (let time = 0; time < 20; time++) {
      socket.write(time % 2 === 0 ? callback() : GET);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(time % 2 === 0 ? /^HTTP\/1\.1 200 .*SUCCESS$/s : /^HTTP\/1\.1 404 /);
    }
  });

  it('that offers another protocol is answered over this one', async () => {
    const connection = await rawConnection(service.url);
    connection.write(callback('Upgrade: h2c\r\n'));
    const text = await connection.received(WITHIN_MS, (so) => so.endsWith('SUCCESS'));
    expect(text).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('of the ops port is held to one request as well', async () => {
    const connection = await rawConnection(service.ops);
    connection.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1000));
    expect(answersIn(await connection.received(WITHIN_MS))).toEqual([{ status: 200, body: 'ok\n' }]);
  });

  it('with a hundred headers is answered 400 and FAILURE, and closed', async () => {
    const connection = await rawConnection(service.url);
    connection.write(callback('a:\r\n'.repeat(3000)));
    expect(answersIn(await connection.received(WITHIN_MS))).toEqual([{ status: 400, body: 'FAILURE' }]);
  });
});

describe('a connection over TLS', () => {
  let service: TestService;
  beforeAll(async () => {
    const folder = writeServiceFolder();
    const file = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text, { mode: 0o600 });
      return join(folder, name);
    };
    const tls = {
      certificate: file('tls.pem', CERTIFICATE),
      key: { file: file('tls.key', CERTIFICATE_KEY) },
    };
    service = await startTestService({ folder, settings: { public: { port: '0', tls } } });
  });
  afterAll(() => service.stop());

  it('is kept for callbacks that wait for their answers', async () => {
    const socket = await secured(service.url);
    for (let time = 0; time < 20; time++) {
      socket.write(time % 2 === 0 ? callback() : GET);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.toString()).toMatch(time % 2 === 0 ? /^HTTP\/1\.1 200 .*SUCCESS$/s : /^HTTP\/1\.1 404 /);
    }
  });

  it('whose next callbacks come too early gets its first answer, and is closed', async () => {
    const socket = await secured(service.url);
    socket.write(callback() + callback() + callback());
    expect(answersIn(await allOf(socket)).map(({ body }) => body)).toEqual(['SUCCESS']);
  });

  it('gets two answers at most, where many requests for no path come at once', async () => {
    const socket = await secured(service.url);
    socket.write(GET.repeat(1000));
    const answers = answersIn(await allOf(socket));
    expect(answers.length).toBeGreaterThan(0);
    expect(answers.length).toBeLessThan(3);
  });
});

const limits: ServerLimits = {
  headerBytes: 16_384,
  headersTimeoutMs: 500,
  requestTimeoutMs: 500,
  keepAliveTimeoutMs: 60_000,
  connections: 100,
  connectionsPerAddress: 3,
  requestsPerSocket: 0,
};

const AT = { host: '127.0.0.1', port: 0, limits, setting: 'public' };

it('a connection whose peer does not read its answer is closed in time, and told of', async () => {
  const misused: string[] = [];
  const server = await listen((_request, response) => response.end(Buffer.alloc(50_000_000)), {
    ...AT,
    onMisuse: (address, misuse) => misused.push(`${address} ${misuse}`),
  });
  onTestFinished(() => server.stop(0));
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1').pause();
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  socket.write(GET);
  await eventually('its answer is cut off', () => (misused.length > 0 ? true : undefined));
  expect(misused).toEqual(['127.0.0.1 unread']);
  await eventually('it is closed', async () => ((await server.connections()) === 0 ? true : undefined));
});

describe('connections of one address', () => {
  const opened = async (url: string, localAddress: string): Promise<Socket> => {
    const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress });
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    return socket;
  };

  it('beyond its share are closed unread; another address, and one that has closed some, still gets through', async () => {
    const dropped: (string | undefined)[] = [];
    const server = await listen((_request, response) => response.end('yes'), {
      ...AT,
      onDropped: (address) => dropped.push(address),
    });
    onTestFinished(() => server.stop(0));
    const own = await Promise.all([1, 2, 3].map(() => opened(server.url, '127.0.0.2')));
    const tooMany = await opened(server.url, '127.0.0.2');
    await once(tooMany.resume(), 'close');
    expect(dropped).toEqual(['127.0.0.2']);

    const asks = async (from: string): Promise<string> => {
      const socket = await opened(server.url, from);
      socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
      return allOf(socket);
    };
    expect(await asks('127.0.0.3')).toMatch(/yes$/);
    own[0]?.destroy();
    await eventually('there is room again', async () =>
      (await asks('127.0.0.2').catch(() => '')) === '' ? undefined : true,
    );
  });

  it('are bounded in all alone where it is a gateway', async () => {
    const server = await listen((_request, response) => response.end('yes'), {
      ...AT,
      isTrustedProxy: (address) => address === '127.0.0.2',
    });
    onTestFinished(() => server.stop(0));
    const many = await Promise.all(Array.from({ length: 10 }, () => opened(server.url, '127.0.0.2')));
    for (const socket of many) socket.write(GET);
    const answers = await Promise.all(many.map(async (socket) => String((await once(socket, 'data'))[0])));
    for (const answer of answers) expect(answer).toMatch(/yes$/);
  });
});
