import { expect, it, onTestFinished } from 'vitest';
import { startBlackHoleProxy } from '../black-hole-proxy.ts';
import { eventually } from '../eventually.ts';
import { onNextPort } from '../ports.ts';
import { answersIn, rawConnection } from '../raw-connection.ts';
import { PAYMENT_PATH, type TestService, signedPayment } from '../service.ts';
import { journalOf } from './audit.ts';
import { durableRedis, serviceHere } from './running.ts';

it('a callback that waited for the start of the service is not approved after its time', async () => {
  const redis = await durableRedis();
  const proxy = await startBlackHoleProxy(redis.port);
  onTestFinished(() => proxy.close());
  proxy.delay(250);
  const { port, starting } = await onNextPort(async (free) => {
    const service: Promise<TestService> = serviceHere({
      settings: {
        answerTimeoutMs: 1000,
        public: { port: `${free}` },
        store: { url: proxy.url, commandTimeoutMs: 60_000 },
      },
    });
    // It is in use, or the service waits for Redis.
    const url = `http://127.0.0.1:${free}`;
    await Promise.race([
      service,
      eventually('the port is open', () =>
        rawConnection(url).then(
          () => true,
          () => undefined,
        ),
      ),
    ]);
    return { port: free, starting: service };
  });
  const connection = await rawConnection(`http://127.0.0.1:${port}`);
  const body = signedPayment({ appOrderId: 'early' });
  connection.write(
    `POST ${PAYMENT_PATH} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  const sentMs = performance.now();
  const service = await starting;
  // Each reply of Redis takes so long that the callback has waited for longer than its time.
  expect(performance.now() - sentMs).toBeGreaterThan(1000);
  expect(answersIn(await connection.received(20_000))).toEqual([{ status: 200, body: 'FAILURE' }]);
  proxy.pass();
  expect(await journalOf(service.store)).toEqual([]);
  expect(await service.pay({ appOrderId: 'early' })).toBe('SUCCESS');
}, 60_000);
