import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { untilClosed } from '../raw-connection.ts';
import { PAYMENT_PATH, type TestService, signedPayment } from '../service.ts';
import { send, successesOf } from './load.ts';
import { readinessAt, serviceHere } from './running.ts';

const ANSWER_TIMEOUT_MS = 3000;
const CONNECTIONS = 20;
const HEADERS_TIMEOUT_MS = 500;
/** How often the server looks for connections that are too slow, and what a busy machine adds. */
const LOOK_MS = 5000;

const patientService = (): Promise<TestService> =>
  serviceHere({
    settings: {
      answerTimeoutMs: ANSWER_TIMEOUT_MS,
      public: {
        port: '0',
        limits: { connections: CONNECTIONS, headersTimeoutMs: HEADERS_TIMEOUT_MS, requestTimeoutMs: 6000 },
      },
    },
  });

interface Client {
  readonly socket: Socket;
  /** All that it was sent. */
  readonly received: () => string;
  /** How long it took, from the connection on, until the other side had closed it. */
  readonly closed: Promise<number>;
}

/** A connection of which only what the test writes is heard. */
async function connected(url: string): Promise<Client> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  const sinceMs = performance.now();
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  const closed = untilClosed(socket).then(() => performance.now() - sinceMs);
  return { socket, received: () => received, closed };
}

const several = (count: number, url: string): Promise<readonly Client[]> =>
  Promise.all(Array.from({ length: count }, () => connected(url)));

/** Writes what is left, a byte at a time, for as long as somebody listens. */
function dribble({ socket }: Client, text: string): void {
  let at = 0;
  const writing = setInterval(() => {
    if (socket.writable && at < text.length) socket.write(text.charAt(at++));
    else clearInterval(writing);
  }, 40);
  socket.on('close', () => clearInterval(writing));
}

let orders = 0;
/** Callbacks one after the other, for as long as the slow ones take: all SUCCESS, none held up. */
async function expectOthersServed(url: string, until: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  void until.finally(() => over.abort()).catch(() => undefined);
  const sent = [];
  do {
    sent.push(
      await send(url, { appOrderId: `quick-${orders}`, userId: `${10_000 + orders++}`, orderAmount: '1' }),
    );
  } while (!over.signal.aborted);
  expect(successesOf(sent)).toHaveLength(sent.length);
  expect(sent.length).toBeGreaterThan(5);
  expect(Math.max(...sent.map(({ tookMs }) => tookMs))).toBeLessThan(ANSWER_TIMEOUT_MS);
}

const HEAD = `POST ${PAYMENT_PATH} HTTP/1.1\r\nHost: countersign\r\nContent-Type: application/json\r\n`;

describe('clients that are slow', () => {
  it('and idle take no more than the connections there are, and not for long', async () => {
    const service = await patientService();
    const idle = await several(CONNECTIONS, service.url);
    const oneMore = await connected(service.url);
    await oneMore.closed;
    expect(oneMore.received()).toBe('');
    // The operator's port is another one.
    expect((await readinessAt(service.ops)).status).toBe(200);

    const tookMs = await Promise.all(idle.map(({ closed }) => closed));
    expect(Math.max(...tookMs)).toBeLessThan(HEADERS_TIMEOUT_MS + LOOK_MS);
    for (const { received } of idle) expect(received()).toMatch(/^$|FAILURE$/);
    await eventually('there is room again', async () => (await send(service.url, {})).answer ?? undefined);
    expect(await service.pay({ appOrderId: 'after' })).toBe('SUCCESS');
  });

  it('with their headers are turned away in time, and hold up nobody', async () => {
    const service = await patientService();
    const slow = await several(CONNECTIONS - 2, service.url);
    for (const client of slow) dribble(client, `${HEAD}X-Slow: ${'x'.repeat(5000)}\r\n\r\n`);
    const closed = Promise.all(slow.map((client) => client.closed));
    await expectOthersServed(service.url, closed);
    expect(Math.max(...(await closed))).toBeLessThan(HEADERS_TIMEOUT_MS + LOOK_MS);
    for (const { received } of slow) expect(received()).toMatch(/^$|^HTTP\/1\.1 400 .*\r\n\r\nFAILURE$/s);
  });

  it.each([
    ['with their body', (client: Client, body: string) => dribble(client, body)],
    ['and never finish their body', (client: Client, body: string) => client.socket.write(body.slice(0, -1))],
  ] as const)('%s are answered FAILURE in time, and hold up nobody', async (_name, write) => {
    const service = await patientService();
    const slow = await several(CONNECTIONS - 2, service.url);
    for (const [index, client] of slow.entries()) {
      const body = signedPayment({ appOrderId: `slow-${index}` });
      client.socket.write(`${HEAD}Content-Length: ${body.length}\r\n\r\n`);
      write(client, body);
    }
    const closed = Promise.all(slow.map((client) => client.closed));
    await expectOthersServed(service.url, closed);
    expect(Math.max(...(await closed))).toBeLessThan(ANSWER_TIMEOUT_MS + LOOK_MS);
    for (const { received } of slow) expect(received()).toMatch(/^HTTP\/1\.1 200 .*\r\n\r\nFAILURE$/s);
    expect(await service.store.entries({ source: 'shop', subject: 'payment:slow-0', limit: 1 })).toEqual([]);
    expect(await service.pay({ appOrderId: 'slow-0' })).toBe('SUCCESS');
  });
});
