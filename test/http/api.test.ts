import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createKeys } from '../../src/store/redis/keys.ts';
import { startRedisServer } from '../redis-server.ts';
import { type TestService, startTestService } from '../service.ts';
import { rawClient } from '../store/redis-under-test.ts';

const TOKEN = 'ops-token-of-the-tests';
const ANNOUNCED = `policy: announced
callback: payment
when: { source: shop }
rules:
  - expected-order: {}
`;

interface Reply {
  readonly status: number;
  readonly body: { readonly [name: string]: unknown };
}

describe('the API', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({
      policies: { 'announced.yaml': ANNOUNCED },
      settings: {
        public: { port: '0', limits: { requestTimeoutMs: '1000', headersTimeoutMs: '1000' } },
        ops: { port: '0', token: { env: 'OPS_TOKEN' } },
      },
      env: { OPS_TOKEN: TOKEN },
    });
  });
  afterAll(() => service.stop());

  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = { authorization: `Bearer ${TOKEN}` },
  ): Promise<Reply> {
    const response = await fetch(`${service.ops}/api${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Reply['body'] };
  }
  const order = (id: string, members: object = {}, over: object = {}): object => ({
    source: 'shop',
    kind: 'payment',
    id,
    members: { userId: '12345', symbol: 'USDT1742', amount: '100', scheme: 'rsa', ...members },
    expires: '2h',
    ...over,
  });

  it('lets an announced payment through, under the scheme that was announced, and no other', async () => {
    expect(await service.pay({ appOrderId: 'a-1' }, 'rsa')).toBe('FAILURE');
    expect(await call('POST', '/orders', order('a-1'))).toMatchObject({
      status: 201,
      body: { outcome: 'expected', order: { subject: 'payment:a-1', state: 'expected', by: 'api' } },
    });
    expect(await service.pay({ appOrderId: 'a-1' }, 'md5')).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'a-1' }, 'rsa')).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'a-1' }, 'rsa')).toBe('SUCCESS');
    expect(await service.pay({ appOrderId: 'a-1', orderAmount: '101' }, 'rsa')).toBe('FAILURE');
    expect((await call('GET', '/orders/shop/payment/a-1')).body).toMatchObject({ order: { state: 'used' } });
  });

  it('says so where an order is announced like that already, and refuses another in its place', async () => {
    const first = order('a-2', {}, { expires: new Date(Date.now() + 3_600_000).toISOString() });
    expect((await call('POST', '/orders', first)).status).toBe(201);
    expect(await call('POST', '/orders', first)).toMatchObject({
      status: 200,
      body: { outcome: 'unchanged' },
    });
    expect(await call('POST', '/orders', order('a-2', { amount: '101' }))).toMatchObject({
      status: 409,
      body: {
        error: { code: 'ORDER_CONFLICT', message: expect.stringContaining('cancel it first') as string },
      },
    });
    expect(await call('DELETE', '/orders/shop/payment/a-2')).toMatchObject({
      status: 200,
      body: { outcome: 'cancelled' },
    });
    expect((await call('DELETE', '/orders/shop/payment/a-2')).status).toBe(409);
    expect(await service.pay({ appOrderId: 'a-2' }, 'rsa')).toBe('FAILURE');
  });

  it.each([
    ['an amount that is a number', order('b', { amount: 100 }), 'amount is not a text'],
    ['a list', [], 'must be a JSON object'],
    [
      'a member that appears twice',
      JSON.stringify(order('b')).replace('"amount"', '"amount":"1","amount"'),
      'the member "amount" appears twice',
    ],
    ['a member twice, once escaped', '{"id":"b","\\u0069d":"c"}', 'the member "id" appears twice'],
    [
      'a member that objects have of their own',
      JSON.stringify(order('b')).replace('"amount"', '"__proto__":"1","amount"'),
      'a member is called __proto__',
    ],
    ['what is nested without end', '{"a":'.repeat(10_000), 'must be a JSON object'],
    ['what is no JSON', '{"source":', 'must be a JSON object'],
  ])('refuses %s, and says why', async (_, body, why) => {
    expect(await call('POST', '/orders', body)).toMatchObject({
      status: 400,
      body: { error: { message: expect.stringContaining(why) as string } },
    });
  });

  it.each([
    [
      'POST',
      '/orders',
      {},
      'source is missing; kind is missing; id is missing; members is missing; write { source, kind',
    ],
    [
      'POST',
      '/orders',
      order('b', {}, { kind: 'gift' }),
      'kind is "gift" and must be one of payment, transfer, web3; write',
    ],
    ['POST', '/orders', order('b', {}, { source: 7 }), 'source is a number and must be a text; write'],
    ['POST', '/orders', order('b', {}, { members: 'x' }), 'members is a text and must be an object; write'],
    ['POST', '/orders', order('b', {}, { members: ['x'] }), 'members is a list and must be an object; write'],
    ['POST', '/orders', order('b', {}, { id: null }), 'id is null and must be a text; write'],
    [
      'POST',
      '/orders',
      order('b', {}, { x: 1, y: 2 }),
      'the member "x" is unknown; the member "y" is unknown; write',
    ],
    [
      'PUT',
      '/prices',
      { prices: { BTC: { price: 97 } } },
      'prices.BTC.price is a number and must be a text; write { prices',
    ],
    ['PUT', '/prices', { prices: { BTC: '97' } }, 'prices.BTC is a text and must be an object; write'],
    ['PUT', '/prices', { prices: { BTC: {} } }, 'prices.BTC.price is missing; write'],
    [
      'PUT',
      '/prices',
      { prices: { BTC: { price: '1', at: '' } } },
      'the member "prices.BTC.at" is unknown; write',
    ],
    ['PUT', '/prices', { constructor: {} }, 'prices is missing; the member "constructor" is unknown; write'],
    [
      'GET',
      '/orders/shop/gift/b',
      undefined,
      'kind is "gift" and must be one of payment, transfer, web3; write /api/orders',
    ],
  ])('says in words of its own what is wrong: %s %s %j', async (method, path, body, message) => {
    const answered = await call(method, path, body);
    expect(answered).toMatchObject({ status: 400, body: { error: { code: 'USAGE' } } });
    const { error } = answered.body as { error: { message: string } };
    expect(error.message.slice(0, message.length)).toBe(message);
    expect(error.message).not.toMatch(/Invalid|expected|received|Unrecognized/);
  });

  it('bounds the body', async () => {
    expect((await call('POST', '/orders', order('b', { userId: '1'.repeat(70_000) }))).status).toBe(413);
  });

  it('answers 408 to a body that does not come in time, and closes the connection', async () => {
    const { hostname, port } = new URL(service.ops);
    const socket = connect(Number(port), hostname);
    const headers = `Host: localhost\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\n`;
    socket.write(`PUT /api/prices HTTP/1.1\r\n${headers}Content-Length: 100\r\n\r\n{"prices"`);
    const answered = Buffer.concat(await socket.toArray()).toString();
    expect(answered).toMatch(/^HTTP\/1\.1 408 /);
    expect(answered).toContain('the body did not arrive in time');
  });

  it.each([
    ['another type', { 'content-type': 'text/plain' }],
    ['another encoding', { 'content-encoding': 'gzip' }],
    ['another character set', { 'content-type': 'application/json; charset=utf-16' }],
  ])('does not read a body of %s', async (_, headers) => {
    const given = { authorization: `Bearer ${TOKEN}`, ...headers };
    expect((await call('PUT', '/prices', { prices: { BTC: { price: '1' } } }, given)).status).toBe(415);
  });

  it('says 400 to a path that is wrongly encoded', async () => {
    expect(await call('GET', '/orders/shop/payment/%zz')).toMatchObject({
      status: 400,
      body: { error: { message: 'the path has an invalid percent-encoding; encode it again' } },
    });
  });

  it('sets prices, all or none, and shows them', async () => {
    const asOf = new Date(Date.now() - 1000).toISOString();
    const set = { prices: { BTC: { price: '97000.5', asOf }, ETH: { price: '3020' } } };
    expect(await call('PUT', '/prices', set)).toMatchObject({
      status: 200,
      body: { prices: { BTC: { price: '97000.5', asOf }, ETH: { price: '3020' } } },
    });
    const wrong = { prices: { BTC: { price: '1' }, ETH: { price: '0' } } };
    expect(await call('PUT', '/prices', wrong)).toMatchObject({
      status: 400,
      body: { error: { code: 'PRICE_INVALID' } },
    });
    const number = { prices: { BTC: { price: 97000 } } };
    expect((await call('PUT', '/prices', number)).status).toBe(400);
    const ahead = { prices: { BTC: { price: '1', asOf: '2999-01-01T00:00:00Z' } } };
    expect((await call('PUT', '/prices', ahead)).status).toBe(400);
    expect((await call('GET', '/prices')).body).toMatchObject({ prices: { BTC: { price: '97000.5' } } });
  });

  it.each([
    ['no token', {}],
    ['another token', { authorization: 'Bearer ops-token-of-the-test' }],
    ['another way to show it', { authorization: `Basic ${TOKEN}` }],
    ['an empty token', { authorization: 'Bearer ' }],
  ])('turns away who has %s, and never tells the token', async (_, headers) => {
    const reply = await call('POST', '/orders', order('c'), headers);
    expect(reply).toMatchObject({ status: 401, body: { error: { code: 'TOKEN_WRONG' } } });
    expect(JSON.stringify(reply) + JSON.stringify(service.log)).not.toContain(TOKEN);
    expect(service.log.some(({ event }) => event === 'api-denied')).toBe(true);
    expect(await service.store.order('shop', 'payment:c')).toBeUndefined();
  });

  it('says 404 to any other path', async () => {
    expect((await call('GET', '/decisions')).status).toBe(404);
    expect((await call('GET', '/orders/shop/payment/unknown')).status).toBe(404);
  });
});

describe('the API without a token in the settings', () => {
  it('is off, and says which setting turns it on', async () => {
    const service = await startTestService();
    const response = await fetch(`${service.ops}/api/prices`, { headers: { authorization: 'Bearer ' } });
    expect(response.status).toBe(403);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining('ops.token') as string },
    });
    await service.stop();
  });
});

describe('the API on a store that is damaged', () => {
  it('answers 503 and what to do, and one line of the log says so', async () => {
    const redis = await startRedisServer();
    onTestFinished(() => redis.stop());
    const service = await startTestService({
      redis: redis.url,
      settings: { ops: { port: '0', token: { env: 'OPS_TOKEN' } } },
      env: { OPS_TOKEN: TOKEN },
    });
    onTestFinished(() => service.stop());
    await rawClient(redis).hset(createKeys('countersign').prices, { 'a:BTC': 'cheap' });
    const headers = { authorization: `Bearer ${TOKEN}` };
    for (const _ of ['first', 'again']) {
      const response = await fetch(`${service.ops}/api/prices`, { headers });
      expect([response.status, await response.json()]).toEqual([
        503,
        { error: { code: 'STORE_CORRUPT', message: expect.stringMatching(/or restore a backup$/) } },
      ]);
    }
    expect(service.log.filter(({ event }) => event === 'ops-failed')).toEqual([
      expect.objectContaining({
        level: 'error',
        because: expect.stringMatching(/^GET \/api\/prices: Redis holds an unexpected value for .*backup$/),
      }),
    ]);
  });
});
