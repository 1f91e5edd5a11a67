import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import {
  PAYMENT_PATH,
  type TestService,
  signedPayment,
  startTestService,
  transfer,
  web3,
} from '../service.ts';

describe.each(['embedded', 'redis'] as const)('a callback is decided, on %s', (kind) => {
  let redis: RedisServerProcess | undefined;
  let service: TestService;
  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedisServer() : undefined;
    service = await startTestService(redis === undefined ? {} : { redis: redis.url });
  });
  afterAll(async () => {
    await service.stop();
    await redis?.stop();
  });

  it('with HTTP 200, text/plain and the seven bytes alone', async () => {
    const answer = await service.post(PAYMENT_PATH, signedPayment({ appOrderId: 'bytes' }));
    expect(answer).toEqual({ status: 200, contentType: 'text/plain', body: 'SUCCESS' });
    const refused = await service.post(
      PAYMENT_PATH,
      signedPayment({ appOrderId: 'bytes-2', orderAmount: '1001' }),
    );
    expect(refused).toEqual({ status: 200, contentType: 'text/plain', body: 'FAILURE' });
  });

  it.each(['md5', 'rsa', 'rsa-envelope'] as const)(
    'signed with %s: within the limit SUCCESS, above it FAILURE',
    async (scheme) => {
      expect(await service.pay({ appOrderId: `${scheme}-1`, orderAmount: '1000' }, scheme)).toBe('SUCCESS');
      expect(
        await service.pay({ appOrderId: `${scheme}-2`, orderAmount: `1000.${'0'.repeat(35)}1` }, scheme),
      ).toBe('FAILURE');
    },
  );

  it('from a co-signer, with the reason in the journal and the log', async () => {
    expect(await service.cosign('/cosigner/withdraw', transfer())).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/withdraw', transfer({ request_id: 'w-2', amount: 10.5 }))).toBe(
      'FAILURE',
    );
    expect(await service.cosign('/cosigner/web3', web3())).toBe('SUCCESS');
    expect(await service.cosign('/cosigner/web3', web3({ request_id: 'c-2', amount: -1 }))).toBe('FAILURE');
    const [entry] = await service.store.entries({ source: 'vault', subject: 'transfer:w-2', limit: 1 });
    expect(entry).toMatchObject({ type: 'decision', verdict: 'FAILURE', code: 'RULE_REFUSED' });
    expect(service.log).toContainEqual(
      expect.objectContaining({
        subject: 'transfer:w-2',
        rule: 'transfers/amount-limit#1',
        verdict: 'FAILURE',
      }),
    );
  });

  it('elsewhere: 404, and 405 for another method', async () => {
    expect((await fetch(`${service.url}${PAYMENT_PATH}`)).status).toBe(405);
    expect((await service.post(`${PAYMENT_PATH}/`, '{}')).status).toBe(404);
    expect((await service.post(PAYMENT_PATH.toUpperCase(), '{}')).status).toBe(404);
    expect((await service.post('/healthz', '{}')).status).toBe(404);
  });
});
