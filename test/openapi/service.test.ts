import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Router } from 'express';
import request from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kind } from '../../src/callback/callback.ts';
import { parseCosigner } from '../../src/callback/kinds.ts';
import { parsePayment } from '../../src/callback/payment.ts';
import { callbackUrls } from '../../src/start/sources.ts';
import { type ApiParts, createApi } from '../../src/http/api.ts';
import { createOpsApp } from '../../src/http/ops.ts';
import { createPublicApp } from '../../src/http/public.ts';
import { REFUSALS, apiRoutes, probeRoutes, statusOf } from '../../src/http/routes.ts';
import { serviceDocument } from '../../src/openapi/service.ts';
import { CountersignError } from '../../src/errors.ts';
import { decodeMembers } from '../../src/values/members.ts';
import { answersIn, rawConnection } from '../raw-connection.ts';
import { startRedisServer } from '../redis-server.ts';
import {
  PAYMENT_PATH,
  type TestService,
  VAULT_TOKEN,
  signedPayment,
  startTestService,
  transfer,
  web3,
} from '../service.ts';
import { settingsOfFile } from '../settings/written.ts';
import { createValidators, documents, mediaTypesOf, operationsOf, pointerOf } from './validators.ts';

const document = documents.service;
const faultsOf = createValidators(document);
const TOKEN = 'ops-token-of-the-tests';
const OPS = { port: '0', token: { env: 'OPS_TOKEN' }, releases: 'true' };
const BEARER = { authorization: `Bearer ${TOKEN}` };
const JSON_TYPE = { 'content-type': 'application/json' };
const DEMO = 'config/demo';

/** An answer, as the document may describe it. */
interface Answer {
  readonly status: number;
  readonly contentType: string | null;
  readonly body: string;
}

/** The statuses of each operation that a test has seen. */
const seen = new Set<string>();

/** What is wrong with an answer to a documented request. `path` is as in the document. */
function faultsOfAnswer(method: string, path: string, { status, contentType, body }: Answer): unknown {
  const type = (contentType ?? '').replace(/;.*$/, '');
  const response = document.paths[path]?.[method]?.responses[status];
  if (response === undefined) return `${method} ${path} has no status ${status}`;
  if (response.content?.[type] === undefined) return `${method} ${path} ${status} has no body of ${type}`;
  seen.add(`${method} ${path} ${status} ${type}`);
  const pointer = pointerOf('paths', path, method, 'responses', `${status}`, 'content', type, 'schema');
  return faultsOf(pointer, type === 'application/json' ? JSON.parse(body) : body);
}

const requestPointer = (method: string, path: string): string =>
  pointerOf('paths', path, method, 'requestBody', 'content', 'application/json', 'schema');

async function send(
  url: string,
  method: string,
  {
    headers = {},
    body,
  }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown } = {},
): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, { method, headers, ...(body !== undefined && { body: text }) });
  const contentType = response.headers.get('content-type');
  return { status: response.status, contentType, body: await response.text() };
}

/** The answer to bytes, which need not be HTTP. */
async function answerTo(url: string, bytes: string): Promise<Answer> {
  const connection = await rawConnection(url);
  connection.write(bytes);
  const text = await connection.received(20_000);
  const [answer] = answersIn(text);
  const contentType = /^content-type: (.*?)\r$/im.exec(text)?.[1] ?? null;
  return { status: answer?.status ?? 0, contentType, body: answer?.body ?? '' };
}

const ORDER = {
  source: 'shop',
  kind: 'payment',
  id: 'a-1',
  members: { userId: '12345', symbol: 'USDT1742', amount: '100', scheme: 'rsa' },
};
const RELEASE = { source: 'shop', kind: 'payment', id: 'r-1', message: 'never debited' };
const SIMULATION = {
  source: 'shop',
  kind: 'payment',
  members: { userId: '12345', symbol: 'USDT1742', amount: '100' },
};
const PATHS = {
  simulate: '/api/simulate',
  order: '/api/orders/{source}/{kind}/{id}',
  orders: '/api/orders',
  releases: '/api/releases',
  prices: '/api/prices',
} as const;

describe('the ops port', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({
      settings: {
        ops: OPS,
        public: { port: '0', limits: { requestTimeoutMs: '1000', headersTimeoutMs: '1000' } },
      },
      env: { OPS_TOKEN: TOKEN },
    });
  });
  afterAll(() => service.stop());

  const call = (method: string, path: string, body?: unknown, headers: object = {}): Promise<Answer> =>
    send(`${service.ops}${path}`, method, { headers: { ...JSON_TYPE, ...BEARER, ...headers }, body });

  it.each<[number, string, keyof typeof PATHS, string, unknown?, object?]>([
    [201, 'POST', 'orders', '', ORDER],
    [200, 'POST', 'orders', '', ORDER],
    [409, 'POST', 'orders', '', { ...ORDER, members: { ...ORDER.members, amount: '101' } }],
    [200, 'GET', 'order', '/api/orders/shop/payment/a-1'],
    [200, 'DELETE', 'order', '/api/orders/shop/payment/a-1'],
    [409, 'DELETE', 'order', '/api/orders/shop/payment/a-1'],
    [404, 'GET', 'order', '/api/orders/shop/payment/none'],
    [404, 'DELETE', 'order', '/api/orders/shop/payment/none'],
    [400, 'GET', 'order', '/api/orders/shop/gift/a'],
    [400, 'GET', 'order', '/api/orders/nobody/payment/a'],
    [400, 'GET', 'order', '/api/orders/shop/payment/%zz'],
    [400, 'DELETE', 'order', '/api/orders/vault/payment/a'],
    [400, 'POST', 'orders', '', {}],
    [400, 'POST', 'orders', '', '{"source":'],
    [400, 'POST', 'orders', '', { ...ORDER, expires: 'soon' }],
    [413, 'POST', 'orders', '', { ...ORDER, id: '1'.repeat(70_000) }],
    [413, 'PUT', 'prices', '', { prices: { BTC: { price: '1'.repeat(70_000) } } }],
    [415, 'POST', 'orders', '', ORDER, { 'content-type': 'text/plain' }],
    [415, 'PUT', 'prices', '', { prices: {} }, { 'content-encoding': 'gzip' }],
    [200, 'POST', 'simulate', '', SIMULATION],
    [200, 'POST', 'simulate', '', { ...SIMULATION, members: { ...SIMULATION.members, amount: '1000.1' } }],
    [200, 'POST', 'simulate', '', { ...SIMULATION, scheme: 'rsa' }],
    [200, 'POST', 'simulate', '', { ...SIMULATION, askPlugins: false }],
    [400, 'POST', 'simulate', '', { ...SIMULATION, askPlugins: 'no' }],
    [400, 'POST', 'simulate', '', { ...SIMULATION, scheme: 'sha3' }],
    [400, 'POST', 'simulate', '', { ...SIMULATION, members: { userId: '1' } }],
    [400, 'POST', 'simulate', '', { ...SIMULATION, source: 'nobody' }],
    [413, 'POST', 'simulate', '', { ...SIMULATION, scheme: '1'.repeat(70_000) }],
    [415, 'POST', 'simulate', '', SIMULATION, { 'content-type': 'text/plain' }],
    [401, 'POST', 'simulate', '', SIMULATION, { authorization: '' }],
    [404, 'POST', 'releases', '', RELEASE],
    [400, 'POST', 'releases', '', { ...RELEASE, message: '' }],
    [400, 'POST', 'releases', '', { ...RELEASE, source: 'nobody' }],
    [413, 'POST', 'releases', '', { ...RELEASE, message: '1'.repeat(70_000) }],
    [415, 'POST', 'releases', '', RELEASE, { 'content-type': 'text/plain' }],
    [401, 'POST', 'releases', '', RELEASE, { authorization: '' }],
    [200, 'PUT', 'prices', '', { prices: { BTC: { price: '97000.5' } } }],
    [200, 'GET', 'prices', ''],
    [400, 'PUT', 'prices', '', { prices: { BTC: { price: '0' } } }],
    [400, 'PUT', 'prices', '', { prices: { BTC: 1 } }],
    [401, 'POST', 'orders', '', ORDER, { authorization: 'Bearer other' }],
    [401, 'GET', 'order', '/api/orders/shop/payment/a', undefined, { authorization: 'Basic x' }],
    [401, 'DELETE', 'order', '/api/orders/shop/payment/a', undefined, { authorization: '' }],
    [401, 'GET', 'prices', '', undefined, { authorization: '' }],
    [401, 'PUT', 'prices', '', {}, { authorization: '' }],
  ])('answers %i to %s %s%s as the document says', async (status, method, name, path, body, headers) => {
    const answer = await call(method, path === '' ? PATHS[name] : path, body, headers);
    expect(answer.status).toBe(status);
    expect(faultsOfAnswer(method.toLowerCase(), PATHS[name], answer)).toEqual([]);
  });

  it('answers 201, 200 and 409 to POST /api/releases as the document says', async () => {
    const first = { appOrderId: 'r-1' };
    expect(await service.pay(first, 'rsa')).toBe('SUCCESS');
    for (const [status, body] of [
      [409, { ...RELEASE, members: { amount: '1' } }],
      [201, { ...RELEASE, members: { userId: '12345' } }],
      [200, RELEASE],
    ] as const) {
      const answer = await call('POST', PATHS.releases, body);
      expect(answer.status).toBe(status);
      expect(faultsOfAnswer('post', PATHS.releases, answer)).toEqual([]);
    }
    expect(await service.pay(first, 'rsa')).toBe('FAILURE');
  });

  it.each([
    ['post', PATHS.orders],
    ['post', PATHS.releases],
    ['post', PATHS.simulate],
    ['put', PATHS.prices],
  ])('answers 408 to a late %s %s as the document says', async (method, path) => {
    const head = `${method.toUpperCase()} ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${TOKEN}\r\n`;
    const late = `${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"prices"`;
    const answer = await answerTo(service.ops, late);
    expect(answer.status).toBe(408);
    expect(faultsOfAnswer(method, path, answer)).toEqual([]);
  });

  const ofOps = operationsOf(document).filter(({ path }) => !/^\/(?:nofity|cosigner)/.test(path));

  it.each(ofOps)('answers $method $path by other names as the document says', async ({ method, path }) => {
    const line = `${method.toUpperCase()} ${path.replaceAll(/[{}]/g, '')} HTTP/1.1\r\nConnection: close\r\n`;
    const other = await answerTo(service.ops, `${line}Host: evil.example\r\n\r\n`);
    const none = await answerTo(service.ops, `${line}\r\n`);
    expect([other.status, none.status]).toEqual([421, 400]);
    for (const answer of [other, none]) expect(faultsOfAnswer(method, path, answer)).toEqual([]);
  });

  it('answers the probes, and what is not HTTP, as the document says', async () => {
    const malformed = await answerTo(service.ops, 'GET /healthz HTTP/1.1\r\nContent-Length: many\r\n\r\n');
    expect(malformed.status).toBe(400);
    expect(faultsOfAnswer('get', '/healthz', malformed)).toEqual([]);
    for (const path of ['/healthz', '/readyz', '/metrics']) {
      const answer = await send(`${service.ops}${path}`, 'GET');
      expect(answer.status).toBe(200);
      expect(faultsOfAnswer('get', path, answer)).toEqual([]);
    }
  });

  it.each([
    ['GET', '/', 'OpsNotFound', {}],
    ['POST', '/healthz', 'OpsNotFound', {}],
    ['GET', '/console/', 'OpsNotFound', {}],
    ['GET', '/api/decisions', 'ApiNotFound', BEARER],
    ['PATCH', '/api/prices', 'ApiNotFound', BEARER],
  ])(
    'answers %s %s, which no operation describes, as the document says',
    async (method, path, name, headers) => {
      const answer = await send(`${service.ops}${path}`, method, { headers });
      const type = (answer.contentType ?? '').replace(/;.*$/, '');
      expect(answer.status).toBe(404);
      const pointer = pointerOf('components', 'responses', name, 'content', type, 'schema');
      expect(faultsOf(pointer, type === 'application/json' ? JSON.parse(answer.body) : answer.body)).toEqual(
        [],
      );
    },
  );

  describe('accepts exactly the orders that are valid', () => {
    const payment = ORDER.members;
    const to = '0x52908400098527886e0f7030069857d2e4169ee7';
    const withdrawal = { to, symbol: 'ETH', amount: '2' };
    const transaction = { to, symbol: 'ETH', amount: '0', input_data: '0xa9', interactive_contract: to };
    it.each<[boolean, string, object, object?]>([
      [true, 'payment', payment],
      [true, 'payment', { userId: '1', payCoinSymbol: 'USDT1742', orderAmount: '1', scheme: 'md5' }],
      [false, 'payment', { ...payment, payCoinSymbol: 'USDT1742' }],
      [false, 'payment', { ...payment, amount: 100 }],
      [false, 'payment', { ...payment, usrId: '1' }],
      [false, 'payment', { symbol: 'USDT1742', amount: '1', scheme: 'rsa' }],
      [false, 'payment', {}],
      [true, 'transfer', withdrawal],
      [true, 'transfer', { ...withdrawal, memo: '', withdraw_id: '7', from: to }],
      [true, 'transfer', { symbol: 'ETH', amount: '2', outputs: [{ to, amount: '2' }] }],
      [false, 'transfer', { ...withdrawal, outputs: [{ to, amount: '2' }] }],
      [false, 'transfer', { symbol: 'ETH', amount: '2', outputs: [] }],
      [false, 'transfer', { symbol: 'ETH', amount: '2', outputs: [{ to, amount: 2 }] }],
      [false, 'transfer', { symbol: 'ETH', amount: '2', outputs: JSON.stringify([{ to, amount: '2' }]) }],
      [false, 'transfer', { symbol: 'ETH', amount: '2' }],
      [false, 'transfer', payment],
      [true, 'web3', transaction],
      [true, 'web3', { to, main_chain_symbol: 'ETH', amount: '1', input_data: '' }],
      [false, 'web3', { to, symbol: 'ETH', amount: '1' }],
      [false, 'web3', { to, symbol: 'ETH', amount: '1', input_data: '0xa9' }],
      [false, 'web3', { ...transaction, main_chain_symbol: 'ETH' }],
      [false, 'gift', payment],
      [false, 'payment', payment, { note: 'x' }],
      [false, 'payment', payment, { id: 7 }],
      [false, 'payment', payment, { source: undefined }],
      [false, 'payment', payment, { expires: 7 }],
      [true, 'payment', payment, { expires: '2h' }],
    ])('%s: %s %j %j', async (isValid, kind, members, over = {}) => {
      const id = JSON.stringify([members, over]).replaceAll(/[^\w]/g, '').slice(-100);
      const body = { source: kind === 'payment' ? 'shop' : 'vault', kind, id, members, ...over };
      expect(
        faultsOf(requestPointer('post', PATHS.orders), JSON.parse(JSON.stringify(body))).length === 0,
      ).toBe(isValid);
      const answer = await send(`${service.ops}/api/orders`, 'POST', {
        headers: { ...JSON_TYPE, ...BEARER },
        body,
      });
      expect(answer.status).toBe(isValid ? 201 : 400);
    });
  });
});

describe('the ops port in trouble', () => {
  const routes = [
    ['POST', PATHS.simulate, PATHS.simulate, SIMULATION],
    ['POST', PATHS.orders, '/api/orders', ORDER],
    ['GET', PATHS.order, '/api/orders/shop/payment/a', undefined],
    ['DELETE', PATHS.order, '/api/orders/shop/payment/a', undefined],
    ['POST', PATHS.releases, '/api/releases', RELEASE],
    ['GET', PATHS.prices, '/api/prices', undefined],
    ['PUT', PATHS.prices, '/api/prices', { prices: { BTC: { price: '1' } } }],
  ] as const;

  it('answers 403 without a token in the settings as the document says', async () => {
    const service = await startTestService();
    for (const [method, path, url, body] of routes) {
      const answer = await send(`${service.ops}${url}`, method, { headers: JSON_TYPE, body });
      expect(answer.status).toBe(403);
      expect(faultsOfAnswer(method.toLowerCase(), path, answer)).toEqual([]);
    }
    await service.stop();
  });

  it('answers 503 without its store as the document says', async () => {
    const redis = await startRedisServer();
    const store = { url: redis.url, commandTimeoutMs: '500' };
    const settings = { ops: OPS, store };
    const service = await startTestService({ settings, env: { OPS_TOKEN: TOKEN } });
    await redis.kill();
    for (const [method, path, url, body] of routes) {
      const headers = { ...JSON_TYPE, ...BEARER };
      const answer = await send(`${service.ops}${url}`, method, { headers, body });
      expect(answer.status).toBe(503);
      expect(faultsOfAnswer(method.toLowerCase(), path, answer)).toEqual([]);
    }
    const ready = await send(`${service.ops}/readyz`, 'GET');
    expect(ready.status).toBe(503);
    expect(faultsOfAnswer('get', '/readyz', ready)).toEqual([]);
    await service.stop();
    await redis.stop();
  });

  it('answers 500 to a fault of its own as the document says', async () => {
    const fail = (): Promise<never> => Promise.reject(new Error('a fault of the program'));
    const requests = { openApprovalRequests: fail, approvalRequest: fail, changeApprovalRequest: fail };
    const orders = { expectOrder: fail, order: fail, cancelOrder: fail, control: fail, document: fail };
    const approvals = { subject: fail, releaseApproval: fail, entries: fail, entry: fail };
    const api: ApiParts = {
      store: { ...orders, ...requests, ...approvals, prices: fail, priceHistory: fail, changePrices: fail },
      sources: [{ name: 'shop', kinds: ['payment'] as Kind[], schemes: ['rsa'] }],
      token: () => [{ text: TOKEN, line: '' }],
      tokenUsed: () => undefined,
      releases: true,
      fourEyes: undefined,
      simulate: fail,
      clock: () => 0,
      onDenied: () => undefined,
    };
    const app = createOpsApp({ readiness: fail, metrics: fail, api, hosts: [], onFailed: () => undefined });
    const all = [
      ...routes,
      ['GET', '/readyz', '/readyz', undefined],
      ['GET', '/metrics', '/metrics', undefined],
    ];
    for (const [method = '', path = '', url = '', body] of all as readonly string[][]) {
      const name = method.toLowerCase() as 'get';
      const { status, headers, text } = await request(app)[name](url).set(BEARER).send(body);
      expect(status).toBe(url === '/readyz' ? 503 : 500);
      const contentType = String(headers['content-type']);
      expect(faultsOfAnswer(name, path, { status, contentType, body: text })).toEqual([]);
    }
  });
});

it('a simulation beyond those that wait is answered 429 as the document says', async () => {
  const busy = (): Promise<never> =>
    Promise.reject(new CountersignError('BUSY', '16 simulations are waiting'));
  const api: ApiParts = {
    store: {} as never,
    sources: [],
    token: () => [{ text: TOKEN, line: '' }],
    tokenUsed: () => undefined,
    releases: true,
    fourEyes: undefined,
    simulate: busy,
    clock: () => 0,
    onDenied: () => undefined,
  };
  const none = (): Promise<never> => Promise.reject(new Error('nobody asks'));
  const app = createOpsApp({ readiness: none, metrics: none, api, hosts: [], onFailed: () => undefined });
  const { status, headers, text } = await request(app).post(PATHS.simulate).set(BEARER).send(SIMULATION);
  expect(status).toBe(429);
  const contentType = String(headers['content-type']);
  expect(faultsOfAnswer('post', PATHS.simulate, { status, contentType, body: text })).toEqual([]);
});

it('what waits for a second person is answered 202 as the document says', async () => {
  const service = await startTestService({
    env: { OPS_TOKEN: TOKEN },
    settings: { ops: OPS, deployment: 'acme-test', fourEyes: ['orders', 'releases', 'prices'] },
  });
  const members = { userId: '12345', symbol: 'USDT1742', amount: '100', scheme: 'md5' };
  const named = { source: 'shop', kind: 'payment', id: '1' };
  expect(await service.pay({ appOrderId: '1' })).toBe('SUCCESS');
  for (const [method, path, body] of [
    ['post', '/api/orders', { ...named, id: '2', members }],
    ['post', '/api/releases', { ...named, message: 'it failed' }],
    ['put', '/api/prices', { prices: { BTC: { price: '97000.5' } } }],
  ] as const) {
    const { status, headers, text } = await request(service.ops)[method](path).set(BEARER).send(body);
    expect(status).toBe(202);
    const contentType = String(headers['content-type']);
    expect(faultsOfAnswer(method, path, { status, contentType, body: text })).toEqual([]);
  }
  await service.stop();
});

describe('the public port', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService({
      settings: { public: { port: '0', limits: { requestTimeoutMs: '1000', headersTimeoutMs: '1000' } } },
    });
  });
  afterAll(() => service.stop());

  it.each<[string, string, unknown]>([
    ['SUCCESS', PAYMENT_PATH, JSON.parse(signedPayment({ appOrderId: 'p-1' }))],
    ['SUCCESS', PAYMENT_PATH, JSON.parse(signedPayment({ appOrderId: 'p-2' }, 'rsa'))],
    ['SUCCESS', PAYMENT_PATH, JSON.parse(signedPayment({ appOrderId: 'p-3' }, 'rsa-envelope'))],
    ['FAILURE', PAYMENT_PATH, JSON.parse(signedPayment({ appOrderId: 'p-1', orderAmount: '7' }))],
    ['FAILURE', PAYMENT_PATH, JSON.parse(signedPayment({ appOrderId: 'p-4' }, { secret: 'other' }))],
    ['SUCCESS', '/cosigner/withdraw', transfer()],
    ['FAILURE', '/cosigner/withdraw', transfer({ request_id: 'w-2', amount: 11 })],
    ['SUCCESS', '/cosigner/web3', web3()],
    ['FAILURE', '/cosigner/web3', web3({ request_id: 'c-2', amount: '-1' })],
  ])('answers %s at %s to a valid callback, as the document says', async (text, path, body) => {
    expect(faultsOf(requestPointer('post', path), body)).toEqual([]);
    const answer = await service.post(path, JSON.stringify(body), { authorization: VAULT_TOKEN });
    expect(answer).toMatchObject({ status: 200, body: text });
    expect(faultsOfAnswer('post', path, answer)).toEqual([]);
  });

  it('answers a self-check as the document says', async () => {
    const hashes = { client_system_pubkey_hash: 'a', verify_sign_pub_hash: 'b' };
    const body = { type: 'verify_public_hash', app_id: 'x', ...hashes };
    expect(faultsOf(requestPointer('post', '/cosigner/withdraw'), body)).toEqual([]);
    const headers = { authorization: VAULT_TOKEN };
    const answer = await service.post('/cosigner/withdraw', JSON.stringify(body), headers);
    expect(answer.contentType).toBe('application/json');
    expect(faultsOfAnswer('post', '/cosigner/withdraw', answer)).toEqual([]);
  });

  it.each([PAYMENT_PATH, '/cosigner/withdraw', '/cosigner/web3'])(
    'answers 400 to an incomplete request for %s as the document says',
    async (path) => {
      const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`;
      const malformed = await answerTo(service.url, `${head}Content-Length: many\r\n\r\n`);
      expect(malformed).toMatchObject({ status: 400, body: 'FAILURE' });
      expect(faultsOfAnswer('post', path, malformed)).toEqual([]);
    },
  );

  it('answers anything else with 404 or 405, and an empty body', async () => {
    const other = await fetch(`${service.url}${PAYMENT_PATH}`);
    expect([other.status, other.headers.get('allow'), await other.text()]).toEqual([405, 'POST', '']);
    const elsewhere = await fetch(`${service.url}/healthz`);
    expect([elsewhere.status, await elsewhere.text()]).toEqual([404, '']);
    const { responses = {} } = document.components;
    expect(responses['PublicMethodNotAllowed']).toMatchObject({
      headers: { Allow: { schema: { const: 'POST' } } },
    });
    expect(responses['PublicNotFound']).not.toHaveProperty('content');
  });
});

describe('the examples of callbacks', () => {
  let service: TestService;
  beforeAll(async () => {
    const file = (name: string) => ({ file: join(process.cwd(), DEMO, name) });
    const platformKey = file('platform.public.pem');
    const signatures = [
      { scheme: 'md5', secret: file('shop.secret') },
      { scheme: 'rsa', platformKey },
      { scheme: 'rsa-envelope', platformKey, merchantKey: file('merchant.private.pem') },
    ];
    const shop = {
      name: 'shop',
      callback: 'payment',
      appKey: 'demo-shop',
      answer: 'json',
      bindScheme: 'false',
    };
    const vault = { name: 'vault', callback: 'cosigner', authenticate: ['none'] };
    service = await startTestService({ settings: { sources: [{ ...shop, signatures }, vault] } });
  });
  afterAll(() => service.stop());

  it('are approved with the demo credentials, also where the answer is JSON', async () => {
    for (const path of [PAYMENT_PATH, '/cosigner/withdraw', '/cosigner/web3']) {
      const examples = document.paths[path]?.['post']?.requestBody?.content?.['application/json']?.examples;
      const sent = Object.entries(examples ?? {}).filter(([name]) => name !== 'self-check');
      expect(sent.length).toBe(path === PAYMENT_PATH ? 3 : 1);
      for (const [, { value }] of sent) {
        const answer = await service.post(path, JSON.stringify(value));
        expect(answer.body).toMatch(/^SUCCESS$|"data":"success"/);
        expect(faultsOfAnswer('post', path, answer)).toEqual([]);
      }
    }
  });
});

it('all examples are valid', () => {
  const found = mediaTypesOf(document).flatMap(({ pointer, examples }) =>
    Object.values(examples).map(({ value }) => ({ pointer, faults: faultsOf(pointer, value) })),
  );
  expect(found.length).toBe(10);
  expect(found.filter(({ faults }) => faults.length > 0)).toEqual([]);
});

describe('a callback is parsed exactly if it is valid', () => {
  const VALUES: readonly unknown[] = [
    undefined,
    null,
    '',
    true,
    {},
    [],
    'x',
    'x y',
    1,
    1.5,
    0,
    '0',
    -1,
    '-1',
    '007',
    '1e2',
    '-1.0',
    'a'.repeat(600),
  ];
  const payment = {
    appOrderId: 'o',
    orderAmount: '1',
    payCoinSymbol: 'B',
    userId: '1',
    time: '1790000000',
  };
  const { transfer_id: _, ...withdrawal } = { transfer_id: 1, ...transfer({ withdraw_id: '7' }) };
  const cosigner = (kind: 'transfer' | 'web3') => (text: string) => {
    const decoded = decodeMembers(Buffer.from(text));
    return decoded.ok && parseCosigner(decoded.members, 'vault', [kind]).ok;
  };
  it.each<[string, object, (text: string) => boolean]>([
    [
      'PaymentPlaintext',
      payment,
      (text) => {
        const decoded = decodeMembers(Buffer.from(text));
        return decoded.ok && parsePayment(decoded.members, 'shop').ok;
      },
    ],
    ['Withdrawal', transfer({ txid: 't', memo: 'm' }), cosigner('transfer')],
    ['Withdrawal', withdrawal, cosigner('transfer')],
    ['Web3Transaction', web3({ txid: 't' }), cosigner('web3')],
    [
      'SelfCheck',
      { type: 'verify_public_hash', app_id: 'a', client_system_pubkey_hash: 'b', verify_sign_pub_hash: 'c' },
      cosigner('transfer'),
    ],
  ])('%s %j', (name, body, isParsed) => {
    const differences: unknown[] = [];
    for (const member of ['', ...Object.keys(body)]) {
      for (const value of VALUES) {
        const text = JSON.stringify(member === '' ? body : { ...body, [member]: value });
        const isValid = faultsOf(`/components/schemas/${name}`, JSON.parse(text)).length === 0;
        if (isParsed(text) !== isValid) differences.push([member, value, { isValid }]);
      }
    }
    // The flat schemes can't sign an empty time, so the document doesn't allow it for any scheme.
    expect(differences).toEqual(name === 'PaymentPlaintext' ? [['time', '', { isValid: false }]] : []);
  });
});

describe('the routes', () => {
  const api: ApiParts = {
    store: {} as never,
    sources: [],
    token: undefined,
    tokenUsed: () => undefined,
    releases: true,
    fourEyes: undefined,
    simulate: () => Promise.reject(new Error('nobody asks')),
    clock: () => 0,
    onDenied: () => undefined,
  };
  /** The routes of an app, as the document writes them. */
  const routesOf = ({ stack }: Pick<Router, 'stack'>, prefix = ''): readonly string[] =>
    stack.flatMap(({ route }) =>
      (route?.stack ?? []).map(
        ({ method }) => `${method} ${prefix}${route?.path.replaceAll(/:(\w+)/g, '{$1}')}`,
      ),
    );
  const documented = operationsOf(document).map(({ method, path }) => `${method} ${path}`);

  it('of the apps are those of the document', () => {
    const { sources } = settingsOfFile('config/countersign.yaml');
    const parts = {
      pipeline: {} as never,
      trustedProxies: [],
      bodyBytes: 1,
      arrivals: { of: () => 0 },
      onUnserved: () => 'keep' as const,
    };
    const ofPublic = createPublicApp({ ...parts, urls: callbackUrls(sources) });
    const never = (): Promise<never> => Promise.reject(new Error('not called'));
    const ofOps = createOpsApp({
      readiness: never,
      metrics: never,
      api,
      hosts: [],
      onFailed: () => undefined,
    });
    const served = [
      ...routesOf(ofPublic.router).filter((route) => route.startsWith('post ')),
      ...routesOf(ofOps.router),
      ...routesOf(
        createApi(api, () => undefined),
        '/api',
      ),
    ];
    expect([...new Set(served)].toSorted()).toEqual(documented.toSorted());
  });

  it('have each status and body of the document', () => {
    const described = mediaTypesOf(document)
      .map(({ pointer }) => /^\/paths\/(.*?)\/(.*?)\/responses\/(\d+)\/content\/(.*)\/schema$/.exec(pointer))
      .flatMap((match) => {
        const [, path = '', method = '', status = '', type = ''] = match ?? [];
        const plain = (text: string): string => text.replaceAll('~1', '/');
        return match === null ? [] : [`${method} ${plain(path)} ${status} ${plain(type)}`];
      });
    expect([...seen].toSorted()).toEqual(described.toSorted());
  });

  it('have the paths of the settings', () => {
    const { sources } = settingsOfFile('config/countersign.example.yaml');
    const { paths } = serviceDocument(callbackUrls(sources));
    expect(Object.keys(paths as object)).toEqual(
      expect.arrayContaining([
        PAYMENT_PATH,
        '/cosigner/withdraw/{secret}',
        '/cosigner/web3/{secret}',
        '/laboratory',
      ]),
    );
  });

  const page = readFileSync('docs/api.md', 'utf8');
  it.each(Object.values(apiRoutes))('docs/api.md names $method $path with its statuses', (route) => {
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => name.toUpperCase());
    const row = page
      .split('\n')
      .find((line) => line.startsWith(`| \`${route.method.toUpperCase()} /api${path}\``));
    const { answers, refusals } = route;
    const named: ReadonlySet<string> = new Set(['NOT_FOUND', 'ORDER_CONFLICT', 'RELEASE_REFUSED']);
    const own = refusals.filter((code) => named.has(code)).map(statusOf);
    const expected = new Set([...Object.keys(answers), ...own.map(String)]);
    expect(row?.split('|').at(-2)?.match(/\d{3}/g)?.toSorted()).toEqual([...expected].toSorted());
  });

  it('docs/api.md names each status of a refusal with its meaning', () => {
    const rows = Object.entries(REFUSALS).map(([status, meaning]) => `${status} | ${meaning}`);
    const named = page.match(/(?<=^\| )\d{3} +\| .*?(?= *\|$)/gm)?.map((row) => row.replace(/ +\|/, ' |'));
    expect(named).toEqual(rows);
  });

  it('docs name each probe', () => {
    for (const { path } of Object.values(probeRoutes)) expect(page).toContain(`\`GET ${path}\``);
  });
});
