import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import type { ServiceProcess } from '../service-process.ts';
import { PAYMENT_PATH, signedPayment } from '../service.ts';
import { audit } from './audit.ts';
import { type Sent, send } from './load.ts';
import { upTo } from './policies.ts';
import { durableRedis, folderOf, readinessAt, serviceProcess, storeOf, untilReady } from './running.ts';

/** Much longer than the sender takes to notice, on a busy machine too. */
const DELAY_MS = 12_000;
const GRACE_MS = 10_000;

/**
 * A load balancer and its clients: good callbacks in turn to each instance whose `/readyz` says 200, over
 * kept connections.
 */
interface Sender {
  readonly sent: readonly (Sent & { readonly to: string; readonly closes: boolean })[];
  instances: readonly ServiceProcess[];
  stop(): Promise<void>;
}

function startSender(first: readonly ServiceProcess[]): Sender {
  const agent = new Agent({ keepAlive: true });
  const sent: Sender['sent'][number][] = [];
  const stopped = new AbortController();
  const ready = new Set<ServiceProcess>();
  let turn = 0;
  let orders = 0;

  async function look(): Promise<void> {
    while (!stopped.signal.aborted) {
      await Promise.all(sender.instances.map(lookAt));
      for (const instance of ready) if (!sender.instances.includes(instance)) ready.delete(instance);
      await pause(20);
    }
  }

  async function lookAt(instance: ServiceProcess): Promise<void> {
    const status = await fetch(`${instance.ops}/readyz`).then(
      (response) => response.status,
      () => undefined,
    );
    if (status === 200 && sender.instances.includes(instance)) ready.add(instance);
    else ready.delete(instance);
  }

  async function work(): Promise<void> {
    while (!stopped.signal.aborted) {
      const instances = [...ready];
      const instance = instances[turn++ % Math.max(instances.length, 1)];
      if (instance !== undefined) sent.push(await post(instance.url, `order-${orders++}`));
      await pause(2);
    }
  }

  async function post(to: string, appOrderId: string): Promise<Sender['sent'][number]> {
    const payment = { appOrderId, orderAmount: '1' };
    const body = signedPayment(payment);
    const headers = { 'content-type': 'application/json', 'content-length': body.length };
    const sentAtMs = performance.now();
    try {
      const asked = request(`${to}${PAYMENT_PATH}`, { method: 'POST', headers, agent }).end(body);
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      const closes = response.headers.connection === 'close';
      return {
        to,
        payment,
        body,
        answer: await text(response),
        closes,
        tookMs: performance.now() - sentAtMs,
      };
    } catch {
      return { to, payment, body, answer: undefined, closes: false, tookMs: performance.now() - sentAtMs };
    }
  }

  const sender: Sender = {
    sent,
    instances: first,
    async stop() {
      stopped.abort();
      await working;
      agent.destroy();
    },
  };
  const working = Promise.all([look(), ...Array.from({ length: 6 }, work)]);
  onTestFinished(() => sender.stop());
  return sender;
}

describe('a rolling restart of two instances under load', () => {
  it('loses no callback: each is answered SUCCESS, and no connection breaks', async () => {
    const redis = await durableRedis();
    const folders = [0, 1].map(() =>
      folderOf({
        redis: redis.url,
        policies: upTo(1_000_000),
        settings: {
          answerTimeoutMs: 10_000,
          public: { port: '0', shutdownDelayMs: DELAY_MS, shutdownGraceMs: GRACE_MS },
        },
      }),
    );
    const instances = await Promise.all(folders.map(serviceProcess));
    await Promise.all(instances.map(({ ops }) => untilReady(ops)));
    const sender = startSender(instances);
    const answeredBy = (instance: ServiceProcess, from: number): number =>
      sender.sent.slice(from).filter(({ to }) => to === instance.url).length;

    for (const [index, folder] of folders.entries()) {
      const leaving = instances[index];
      if (leaving === undefined) throw new Error('there is no such instance');
      const from = sender.sent.length;
      await eventually('it is sent callbacks', () => answeredBy(leaving, from) > 20 || undefined);
      leaving.terminate();
      await eventually('it says that it is not ready', async () =>
        (await readinessAt(leaving.ops)).status === 503 ? true : undefined,
      );
      expect((await readinessAt(leaving.ops)).because).toContain('running: the service is shutting down');
      expect(await leaving.ended).toBe(0);
      expect(leaving.log.at(-1)).toMatchObject({ event: 'stopped' });

      const coming = await serviceProcess(folder);
      instances[index] = coming;
      sender.instances = [...instances];
      const since = sender.sent.length;
      await eventually('the new one is sent callbacks', () => answeredBy(coming, since) > 20 || undefined);
    }

    await sender.stop();
    expect(sender.sent.filter(({ answer }) => answer !== 'SUCCESS')).toEqual([]);
    expect(sender.sent.length).toBeGreaterThan(100);
    await audit(await storeOf(folders[0] ?? ''), sender.sent, 1_000_000);
  });

  it('is what the delay is for: until it is over all is answered, and each answer ends its connection', async () => {
    const folder = folderOf({
      policies: upTo(1000),
      settings: { answerTimeoutMs: 5000, public: { port: '0', shutdownDelayMs: DELAY_MS } },
    });
    const service = await serviceProcess(folder);
    await untilReady(service.ops);
    const sender = startSender([service]);
    await eventually('callbacks are answered', () => sender.sent.length > 5 || undefined);
    expect(sender.sent.some(({ closes }) => closes)).toBe(false);
    service.terminate();
    await eventually('it says that it is not ready', async () =>
      (await readinessAt(service.ops)).status === 503 ? true : undefined,
    );
    const response = await fetch(`${service.url}${PAYMENT_PATH}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: signedPayment({ appOrderId: 'while-leaving', orderAmount: '1' }),
    });
    expect(response.headers.get('connection')).toBe('close');
    expect(await response.text()).toBe('SUCCESS');
    expect(await service.ended).toBe(0);
    await sender.stop();
    expect(sender.sent.filter(({ answer }) => answer !== 'SUCCESS')).toEqual([]);
  });
});

describe('told to stop', () => {
  it('an instance is not held up by connections on which nothing was ever said, or which are idle', async () => {
    const folder = folderOf({
      settings: { public: { port: '0', shutdownGraceMs: 30_000 } },
    });
    const service = await serviceProcess(folder);
    await untilReady(service.ops);
    const { hostname, port } = new URL(service.url);
    const silent = Array.from({ length: 5 }, () => connect(Number(port), hostname));
    onTestFinished(() => silent.forEach((socket) => void socket.destroy()));
    await Promise.all(silent.map((socket) => once(socket, 'connect')));
    // One that was used, and is kept.
    expect((await send(service.url, { appOrderId: 'before', orderAmount: '1' })).answer).toBe('SUCCESS');
    const toldAtMs = performance.now();
    service.terminate();
    expect(await service.ended).toBe(0);
    expect(performance.now() - toldAtMs).toBeLessThan(15_000);
  });
});
