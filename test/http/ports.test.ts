import request from 'supertest';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CountersignError } from '../../src/errors.ts';
import type { ApiParts } from '../../src/http/api.ts';
import { createOpsApp } from '../../src/http/ops.ts';
import { PAYMENT_PATH, type TestService, signedPayment, startTestService } from '../service.ts';

describe('the public port', () => {
  let service: TestService;
  beforeAll(async () => {
    service = await startTestService();
  });
  afterAll(() => service.stop());

  it('answers a callback with seven bytes of text/plain, and says nothing of itself', async () => {
    const post = request(service.url).post(PAYMENT_PATH).set('Content-Type', 'application/json');
    const answer = await post.send(signedPayment({ appOrderId: 'seven' }));
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('SUCCESS');
    expect(answer.headers).toMatchObject({ 'content-type': 'text/plain', 'content-length': '7' });
    expect(Object.keys(answer.headers)).not.toContain('x-powered-by');
  });

  it.each(['application/json', 'application/json;charset=UTF-8', 'Application/JSON; charset="utf-8"'])(
    'takes the content type %s',
    async (type) => {
      const post = request(service.url).post(PAYMENT_PATH).set('Content-Type', type);
      expect((await post.send(signedPayment({ appOrderId: type.length.toString() }))).text).toBe('SUCCESS');
    },
  );

  it.each(['get', 'put', 'patch', 'delete', 'options', 'head'] as const)(
    'says 405 to %s on a callback path',
    async (method) => {
      const answer = await request(service.url)[method](PAYMENT_PATH);
      expect(answer.status).toBe(405);
      expect(answer.headers['allow']).toBe('POST');
    },
  );

  it.each([
    '/',
    '/healthz',
    '/metrics',
    `${PAYMENT_PATH}/`,
    PAYMENT_PATH.toLowerCase(),
    `${PAYMENT_PATH}/x`,
    '/%',
  ])('says 404 or 400 to %s, and no more', async (path) => {
    const answer = await request(service.url).post(path).set('Content-Type', 'application/json').send('{}');
    expect([400, 404]).toContain(answer.status);
    expect(['', 'FAILURE']).toContain(answer.text);
  });
});

const BEARER = { authorization: 'Bearer token' };

describe('the ops port', () => {
  const metrics = (): Promise<{ contentType: string; text: string }> =>
    Promise.resolve({ contentType: 'text/x', text: 'm 1\n' });
  const never = (): Promise<never> => Promise.reject(new Error('the store is not to be asked'));
  const requests = { openApprovalRequests: never, approvalRequest: never, changeApprovalRequest: never };
  const orders = { expectOrder: never, order: never, cancelOrder: never, control: never, document: never };
  const approvals = { subject: never, releaseApproval: never, entries: never, entry: never };
  const api: ApiParts = {
    store: { ...orders, ...requests, ...approvals, prices: never, priceHistory: never, changePrices: never },
    sources: [],
    token: undefined,
    tokenUsed: () => undefined,
    releases: true,
    fourEyes: undefined,
    simulate: never,
    clock: () => 0,
    onDenied: () => undefined,
  };
  const failures: (readonly [request: string, because: string])[] = [];
  const onFailed = (...failure: [request: string, because: string]): void => void failures.push(failure);
  const check = { name: 'store', ok: false, because: 'the store is down' };

  it('is alive while it is not ready, and says what is missing', async () => {
    const app = createOpsApp({
      metrics,
      api,
      hosts: [],
      onFailed,
      readiness: () => Promise.resolve({ ready: false, checks: [check] }),
    });
    expect((await request(app).get('/healthz')).status).toBe(200);
    const ready = await request(app).get('/readyz');
    expect(ready.status).toBe(503);
    expect(ready.body).toEqual({ ready: false, checks: [check] });
  });

  it('serves metrics in their own content type, and nothing else', async () => {
    const app = createOpsApp({
      metrics,
      api,
      hosts: [],
      onFailed,
      readiness: () => Promise.resolve({ ready: true, checks: [] }),
    });
    const answer = await request(app).get('/metrics');
    expect(answer.text).toBe('m 1\n');
    expect(answer.headers['content-type']).toContain('text/x');
    expect((await request(app).get('/readyz')).status).toBe(200);
    expect((await request(app).get('/nofity/transferToMerchantAuthCheck')).status).toBe(404);
  });

  it('answers without a stack if it fails, and says why to the log only', async () => {
    const fail = (): Promise<never> => Promise.reject(new Error('a fault at /srv/app'));
    const app = createOpsApp({ metrics: fail, readiness: fail, api, hosts: [], onFailed });
    const ready = await request(app).get('/readyz');
    expect([ready.status, ready.body]).toEqual([
      503,
      { ready: false, checks: [{ name: 'readiness', ok: false, because: 'it failed; the log says why' }] },
    ]);
    const failed = await request(app).get('/metrics');
    expect([failed.status, failed.text]).toEqual([500, 'it failed; the log says why\n']);
    expect(failed.headers['content-type']).toBe('text/plain; charset=utf-8');
    const called = await request(app).get('/api/prices').set('Authorization', 'Bearer token');
    expect([called.status, called.text]).toEqual([403, expect.stringContaining('API_OFF')]);
    const open = createOpsApp({
      metrics,
      readiness: fail,
      api: { ...api, token: () => [{ text: 'token', line: '' }] },
      hosts: [],
      onFailed,
    });
    const broken = await request(open).get('/api/prices').set('Authorization', 'Bearer token');
    expect([broken.status, broken.body]).toEqual([
      500,
      { error: { code: 'INTERNAL', message: 'an internal error occurred' } },
    ]);
    expect(failures.splice(0)).toEqual([
      ['GET /readyz', 'a fault at /srv/app'],
      ['GET /metrics', 'a fault at /srv/app'],
      ['GET /api/prices', 'the store is not to be asked'],
    ]);
  });

  it.each(['STORE_UNREACHABLE', 'STORE_MOVED', 'STORE_LOST', 'STORE_CORRUPT', 'STORE_UNSAFE'] as const)(
    'answers 503 and the cure if the store fails with %s, and says so to the log without the order',
    async (code) => {
      const message = 'the order can’t be read; restore the store from a backup';
      const order = (): Promise<never> => Promise.reject(new CountersignError(code, message));
      const sources = [{ name: 'shop', kinds: ['payment'] as const, schemes: ['rsa'] }];
      const app = createOpsApp({
        metrics,
        readiness: never,
        api: { ...api, sources, store: { ...api.store, order }, token: () => [{ text: 'token', line: '' }] },
        hosts: [],
        onFailed,
      });
      const answer = await request(app).get('/api/orders/shop/payment/11321').set(BEARER);
      expect([answer.status, answer.body]).toEqual([503, { error: { code, message } }]);
      expect(failures.splice(0)).toEqual([['GET /api/orders/:source/:kind/:id', message]]);
    },
  );

  it.each([
    ['/api/orders/shop/payment/11321', 404],
    ['/api/orders/other/payment/11321', 400],
    ['/api/orders/shop/payment/%ff', 400],
    ['/api/other', 404],
  ])('says nothing of a wrong call to the log: %s', async (path, status) => {
    const order = (): Promise<undefined> => Promise.resolve(undefined);
    const sources = [{ name: 'shop', kinds: ['payment'] as const, schemes: ['rsa'] }];
    const app = createOpsApp({
      metrics,
      readiness: never,
      api: { ...api, sources, store: { ...api.store, order }, token: () => [{ text: 'token', line: '' }] },
      hosts: [],
      onFailed,
    });
    expect((await request(app).get(path).set(BEARER)).status).toBe(status);
    expect(failures).toEqual([]);
  });
});
