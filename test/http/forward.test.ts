import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { expect, it, onTestFinished } from 'vitest';
import { type Target, createForwards } from '../../src/http/forward.ts';
import { listen } from '../../src/http/server.ts';
import { answersIn, rawConnection } from '../raw-connection.ts';

const SECRET = 'the secret of the service';

async function listening(handler: RequestListener): Promise<number> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function appForwardingTo(handler: RequestListener, target?: () => Promise<Target | undefined>) {
  const port = await listening(handler);
  const { pages, simulate } = createForwards(target ?? (() => Promise.resolve({ port, secret: SECRET })));
  const app = express().disable('x-powered-by').disable('etag');
  app.use('/console', pages);
  app.post('/api/simulate', simulate);
  return app;
}

/** A service that forwards to `handler`. */
async function forwarding(handler: RequestListener, target?: () => Promise<Target | undefined>) {
  return `http://127.0.0.1:${await listening(await appForwardingTo(handler, target))}`;
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

/** Answers with what it was sent. */
async function tell(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url, rawHeaders } = request;
  const body = await bodyOf(request);
  response.writeHead(200, { 'Set-Cookie': ['a=1', 'b=2'], 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ method, url, rawHeaders, body }));
}

async function sent(url: string, text: string) {
  const connection = await rawConnection(url);
  connection.write(text);
  const [answer, ...others] = answersIn(await connection.received(10_000));
  expect(others).toEqual([]);
  return answer ?? { status: 0, body: '' };
}

it('a request arrives as it was sent, with the address of its client', async () => {
  const url = await forwarding((request, response) => void tell(request, response));
  const { status, body } = await sent(
    url,
    'POST /console/a%2Fb?c=d HTTP/1.1\r\nHost: ops.example\r\nX-Person: J\xfcrgen\r\nx-person: eve\r\n' +
      'X-Forwarded-For: 10.0.0.1\r\nx-forwarded-proto: https\r\nX-Countersign-Secret: guessed\r\n' +
      'Content-Length: 3\r\nConnection: close\r\n\r\nx=y',
  );
  expect(status).toBe(200);
  expect(JSON.parse(Buffer.from(body, 'latin1').toString('utf8'))).toEqual({
    method: 'POST',
    url: '/console/a%2Fb?c=d',
    rawHeaders: [
      ['Host', 'ops.example', 'X-Person', 'J\xfcrgen', 'x-person', 'eve', 'Content-Length', '3'],
      ['X-Forwarded-For', '127.0.0.1', 'X-Forwarded-Proto', 'http', 'x-countersign-secret', SECRET],
      ['Connection', 'close'],
    ].flat(),
    body: 'x=y',
  });
});

it('an answer arrives as it was sent', async () => {
  const url = await forwarding((request, response) => void tell(request, response));
  const { status, headers } = await fetch(`${url}/console/`);
  expect([status, headers.getSetCookie()]).toEqual([200, ['a=1', 'b=2']]);
});

it.each([
  ['GET', 'Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\n\r\n', 'hello'],
  ['GET', 'Content-Length: 5', 'hello', 'hello'],
  ['POST', 'Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\n\r\n', 'hello'],
  ['POST', 'X: y', '', ''],
  ['DELETE', 'Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\n\r\n', 'hello'],
])(
  'a body of %s with %s is one request for the other process as well',
  async (method, framing, body, read) => {
    let requests = 0;
    const url = await forwarding((request, response) => {
      requests += 1;
      void tell(request, response);
    });
    const head = `${method} /console/ HTTP/1.1\r\nHost: localhost\r\n${framing}\r\nConnection: close\r\n\r\n`;
    const answer = await sent(url, head + body);
    expect(JSON.parse(answer.body)).toMatchObject({ method, body: read });
    expect(requests).toBe(1);
  },
);

it('an answer that breaks off breaks off for the client, too', async () => {
  const url = await forwarding((_request, response) => {
    response.writeHead(200, { 'Content-Length': '100' });
    response.write('half');
    setImmediate(() => response.destroy());
  });
  const response = await fetch(`${url}/console/`);
  await expect(response.text()).rejects.toThrow('terminated');
});

it('without the other process, the answer is 503', async () => {
  const url = await forwarding(
    () => undefined,
    () => Promise.resolve(undefined),
  );
  const page = await fetch(`${url}/console/`);
  expect([page.status, page.headers.get('retry-after')]).toEqual([503, '1']);
  expect(await page.text()).toContain('It does not run now, and is started again by itself');
  const simulated = await fetch(`${url}/api/simulate`, { method: 'POST', body: '{}' });
  expect([simulated.status, await simulated.json()]).toEqual([
    503,
    { error: { code: 'NOT_RUNNING', message: expect.stringContaining('does not run now') as string } },
  ]);
});

it('a process that ends before it answers is 503', async () => {
  const url = await forwarding((request) => void request.socket.destroy());
  const { status } = await fetch(`${url}/console/`);
  expect(status).toBe(503);
});

it('at most 64 requests wait for the other process, and it hears of a client that has gone', async () => {
  const arrived: ServerResponse[] = [];
  let left = 0;
  const url = await forwarding((_request, response) => {
    arrived.push(response);
    response.once('close', () => (left += response.writableFinished ? 0 : 1));
  });
  const going = new AbortController();
  const asked = Array.from({ length: 64 }, () => fetch(`${url}/console/`, { signal: going.signal }));
  const results = Promise.allSettled(asked);
  await expect.poll(() => arrived.length).toBe(64);
  const refused = await fetch(`${url}/console/`);
  expect([refused.status, await refused.text()]).toEqual([
    503,
    expect.stringContaining('64 requests are waiting'),
  ]);
  going.abort();
  await results;
  await expect.poll(() => left).toBe(64);
  const next = fetch(`${url}/console/`);
  await expect.poll(() => arrived.length).toBe(65);
  arrived.at(-1)?.end('again');
  expect(await (await next).text()).toBe('again');
});

it.each([
  ['/api/simulate', /^\{"error":\{"code":"USAGE","message":"the body did not arrive in time"/],
  ['/console/lists', /^The form did not arrive in time/],
])(
  'a body that does not arrive in time is answered 408, whatever the other process does: %s',
  async (path, body) => {
    const limits = {
      headerBytes: 16_384,
      headersTimeoutMs: 500,
      requestTimeoutMs: 500,
      keepAliveTimeoutMs: 60_000,
      connections: 100,
      connectionsPerAddress: 100,
      requestsPerSocket: 0,
    };
    const app = await appForwardingTo((request) => void request.resume());
    const server = await listen(app, { host: '127.0.0.1', port: 0, limits, setting: 'ops' });
    onTestFinished(() => server.stop(0));
    const answer = await sent(
      server.url,
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`,
    );
    expect(answer.status).toBe(408);
    expect(answer.body).toMatch(body);
  },
);
