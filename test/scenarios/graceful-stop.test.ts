import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startBlackHoleProxy } from '../black-hole-proxy.ts';
import { eventually } from '../eventually.ts';
import type { ServiceProcess } from '../service-process.ts';
import { PAYMENT_PATH, type TestServiceOptions, signedPayment } from '../service.ts';
import { approvalsIn, audit, journalOf } from './audit.ts';
import { type Sent, send } from './load.ts';
import { upTo } from './policies.ts';
import { durableRedis, folderOf, readinessAt, serviceProcess, storeOf, untilReady } from './running.ts';

const CALLBACKS = 30;
const GRACE_MS = 30_000;
/** Patient, so that a busy machine refuses nothing. */
const SETTINGS = { answerTimeoutMs: 10_000, public: { port: '0', shutdownGraceMs: GRACE_MS } };

/** A callback of which the service has the headers and waits for the body. */
async function begun(url: string, agent: Agent): Promise<ClientRequest> {
  const headers = { 'content-type': 'application/json', expect: '100-continue' };
  const asked = request(`${url}${PAYMENT_PATH}`, { method: 'POST', headers, agent });
  asked.flushHeaders();
  await once(asked, 'continue');
  return asked;
}

/** Sends the body, and reads the answer; rejects if the connection is reset. */
async function finished(asked: ClientRequest, body: string): Promise<string> {
  asked.end(body);
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  return text(response);
}

const stopping = (service: ServiceProcess): Promise<true> =>
  eventually(
    'the service is stopping',
    () => service.log.some(({ event }) => event === 'stopping') || undefined,
  );

const redis = async (): Promise<TestServiceOptions> => ({ redis: (await durableRedis()).url });
const embedded = (): Promise<TestServiceOptions> => Promise.resolve({});

describe.each([
  ['the embedded store', embedded],
  ['Redis', redis],
] as const)('told to stop, on %s', (_name, where) => {
  it('answers what is under way, says that it is not ready, ends with 0, and serves again', async () => {
    const folder = folderOf({ ...(await where()), policies: upTo(1000), settings: SETTINGS });
    const service = await serviceProcess(folder);
    await untilReady(service.ops);
    // Connections that are kept, as a gateway keeps them: they must not hold the service up.
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const asked = await Promise.all(Array.from({ length: CALLBACKS }, () => begun(service.url, agent)));

    service.terminate();
    await stopping(service);
    expect(await readinessAt(service.ops)).toEqual({
      status: 503,
      because: 'running: the service is shutting down',
    });
    expect((await send(service.url, { appOrderId: 'too-late' })).answer).toBeUndefined();
    const orders = asked.map((_, index) => ({ appOrderId: `stopping-${index}`, orderAmount: '1' }));
    const answers = await Promise.all(
      asked.map((each, index) => finished(each, signedPayment(orders[index] ?? {}))),
    );
    const answeredAtMs = performance.now();
    expect(new Set(answers)).toEqual(new Set(['SUCCESS']));
    expect(await service.ended).toBe(0);
    expect(performance.now() - answeredAtMs).toBeLessThan(GRACE_MS / 2);
    expect(service.log.at(-1)).toMatchObject({ event: 'stopped' });

    const again = await serviceProcess(folder);
    await untilReady(again.ops);
    const repeats = await Promise.all(orders.map((payment) => send(again.url, payment)));
    expect(new Set(repeats.map(({ answer }) => answer))).toEqual(new Set(['SUCCESS']));
    const store = await storeOf(folder);
    await audit(store, repeats, CALLBACKS);
    expect(approvalsIn(await journalOf(store))).toHaveLength(CALLBACKS);
  });
});

describe('told to stop', () => {
  it('ends with 0 after a client that never finished its body', async () => {
    const folder = folderOf({ settings: { ...SETTINGS, answerTimeoutMs: 300 } });
    const service = await serviceProcess(folder);
    const asked = await begun(service.url, new Agent());
    asked.write('{');
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    expect(await text(response)).toBe('FAILURE');
    asked.destroy();
    service.terminate();
    expect(await Promise.race([service.ended, pause(GRACE_MS / 2, 'still running')])).toBe(0);
  });
});

describe('told to stop while Redis', () => {
  it.each([
    ['is slow: what it decides is still answered', 'SUCCESS'],
    ['is silent: FAILURE, in time', 'FAILURE'],
  ] as const)('%s', async (_name, answer) => {
    const server = await durableRedis();
    const proxy = await startBlackHoleProxy(server.port);
    onTestFinished(() => proxy.close());
    const store = { url: proxy.url, commandTimeoutMs: 2000, connectTimeoutMs: 500 };
    const folder = folderOf({ policies: upTo(1000), settings: { ...SETTINGS, store } });
    const service = await serviceProcess(folder);
    await untilReady(service.ops);
    const journal = await storeOf(folderOf({ redis: server.url }));

    // Redis has the script from here on: a callback is one step.
    const first = await send(service.url, { appOrderId: 'first', orderAmount: '1' });
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const asked = await Promise.all(Array.from({ length: CALLBACKS }, () => begun(service.url, agent)));
    if (answer === 'SUCCESS') proxy.delay(700);
    else proxy.swallow();
    const sent = asked.map(async (each, index): Promise<Sent> => {
      const payment = { appOrderId: `order-${index}`, orderAmount: '1' };
      const body = signedPayment(payment);
      return { payment, body, answer: await finished(each, body), tookMs: 0 };
    });
    await eventually(
      'Redis has decided, and its replies are on their way',
      async () => (await journal.journalSize('shop')) > 1 || undefined,
    );
    service.terminate();
    const answered = await Promise.all(sent);
    expect(new Set(answered.map((each) => each.answer))).toEqual(new Set([answer]));
    const answeredAtMs = performance.now();
    expect(await service.ended).toBe(0);
    expect(performance.now() - answeredAtMs).toBeLessThan(GRACE_MS / 2);
    await audit(journal, [first, ...answered], CALLBACKS + 1);
  });
});
