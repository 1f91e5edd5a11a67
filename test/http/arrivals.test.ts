import { once } from 'node:events';
import { IncomingMessage, type Server, createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, Socket, connect } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import { createArrivals } from '../../src/http/arrivals.ts';
import { type EventLoop, measureEventLoop } from '../../src/pipeline/event-loop.ts';
import { CERTIFICATE, CERTIFICATE_KEY } from '../cli/certificate.ts';
import { eventually } from '../eventually.ts';

const now = (): number => performance.now();
const busyFor = (ms: number): void => {
  const until = now() + ms;
  while (now() < until);
};
const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

interface Listening {
  readonly loop: EventLoop;
  readonly port: number;
  /** When each request can have arrived. */
  readonly arrivals: readonly number[];
}

async function listening(server: Server): Promise<Listening> {
  const loop = measureEventLoop(now, 2000);
  const arrivals = createArrivals(loop, now);
  const found: number[] = [];
  server.on('request', (request, response) => {
    found.push(arrivals.of(request));
    response.end();
  });
  arrivals.follow(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    loop.stop();
    server.closeAllConnections();
    server.close();
  });
  return { loop, port: (server.address() as AddressInfo).port, arrivals: found };
}

const plain = (): Server => createServer();
const secure = (): Server => createTlsServer({ cert: CERTIFICATE, key: CERTIFICATE_KEY });

/** The kernel makes the connection while this thread is busy. */
async function queuedConnection(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => process.nextTick(resolve));
  busyFor(300);
  return socket;
}

it('a request that is read promptly arrived now, although every process has short pauses', () => {
  let clock = 1000;
  const loop = measureEventLoop(() => clock, 2000);
  onTestFinished(() => loop.stop());
  const arrivals = createArrivals(loop, () => clock);
  const request = new IncomingMessage(new Socket());
  clock += 99;
  expect(arrivals.of(request)).toBe(1099);
  clock += 1;
  expect(arrivals.of(request)).toBe(1000);
});

it('a request that was noted arrived then', () => {
  let clock = 1000;
  const loop = measureEventLoop(() => clock, 2000);
  onTestFinished(() => loop.stop());
  const arrivals = createArrivals(loop, () => clock);
  const request = new IncomingMessage(new Socket());
  arrivals.note(request);
  clock += 5000;
  expect(arrivals.of(request)).toBe(1000);
});

it('the first request of a connection may have arrived with it; the second has not', async () => {
  const { port, arrivals, loop } = await listening(plain());
  const before = now();
  const socket = await queuedConnection(port);
  const busyUntil = now();
  socket.write(GET);
  await once(socket, 'data');
  expect(arrivals[0]).toBeLessThanOrEqual(before + 1);
  await eventually('the loop is prompt again', () => loop.readMs() >= busyUntil || undefined);
  socket.write(GET);
  await once(socket, 'data');
  expect(arrivals[1]).toBeGreaterThanOrEqual(busyUntil);
});

it('a request that arrived on a connection after it was accepted has not waited with it', async () => {
  const { port, arrivals, loop } = await listening(plain());
  const socket = await queuedConnection(port);
  await once(socket, 'connect');
  const opened = now();
  await eventually('the connection has been read', () => loop.readMs() >= opened + 50 || undefined);
  socket.write(GET);
  await once(socket, 'data');
  expect(arrivals[0]).toBeGreaterThanOrEqual(opened);
});

it('a request that follows the handshake of TLS has waited with its connection', async () => {
  const { port, arrivals } = await listening(secure());
  const socket = connectTls({ socket: await queuedConnection(port), rejectUnauthorized: false });
  const busyUntil = now();
  socket.write(GET);
  await once(socket, 'data');
  expect(arrivals[0]).toBeLessThan(busyUntil - 100);
});

it('a request on a connection that has been open over TLS for more than a second has not waited', async () => {
  const { port, arrivals, loop } = await listening(secure());
  const socket = connectTls({ socket: await queuedConnection(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const opened = now();
  await eventually('the client has idled', () => loop.readMs() >= opened + 1500 || undefined);
  socket.write(GET);
  await once(socket, 'data');
  expect(arrivals[0]).toBeGreaterThanOrEqual(opened);
});
