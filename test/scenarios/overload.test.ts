import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type BlackHoleProxy, startBlackHoleProxy } from '../black-hole-proxy.ts';
import { eventually } from '../eventually.ts';
import { PAYMENT_PATH, type TestService } from '../service.ts';
import { audit, journalOf } from './audit.ts';
import { type Sent, send, startLoad, successesOf } from './load.ts';
import { upTo } from './policies.ts';
import { durableRedis, folderOf, serviceHere, serviceProcess, storeOf, untilReady } from './running.ts';

const CALLBACKS = 20;

interface SlowStore {
  readonly service: TestService;
  readonly proxy: BlackHoleProxy;
  /** How many decisions Redis has made, whether or not the service knows. */
  readonly settled: () => Promise<number>;
}

/** A service with room for 20 callbacks, and a Redis whose replies can be held back. */
async function onSlowStore({ answerTimeoutMs }: { readonly answerTimeoutMs: number }): Promise<SlowStore> {
  const redis = await durableRedis();
  const proxy = await startBlackHoleProxy(redis.port);
  onTestFinished(() => proxy.close());
  const service = await serviceHere({
    policies: upTo(100_000),
    settings: {
      answerTimeoutMs,
      public: { port: '0', limits: { callbacks: `${CALLBACKS}` } },
      store: { url: proxy.url, commandTimeoutMs: 20_000 },
    },
  });
  await untilReady(service.ops);
  expect(await service.pay({ appOrderId: 'first', orderAmount: '1' })).toBe('SUCCESS');
  const journal = await storeOf(folderOf({ redis: redis.url }));
  return { service, proxy, settled: async () => (await journalOf(journal)).length - 1 };
}

const payments = (name: string, count: number): readonly { appOrderId: string; orderAmount: string }[] =>
  Array.from({ length: count }, (_, index) => ({ appOrderId: `${name}-${index}`, orderAmount: '1' }));

const sendAll = (url: string, name: string, count: number): Promise<readonly Sent[]> =>
  Promise.all(payments(name, count).map((payment) => send(url, payment)));

const answersOf = (sent: readonly Sent[]): ReadonlySet<string | undefined> =>
  new Set(sent.map(({ answer }) => answer));

async function metricOf(ops: string, name: string): Promise<number> {
  const text = await (await fetch(`${ops}/metrics`)).text();
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? 0 : Number(line.slice(name.length + 1));
}

/** For whatever reason: on a busy machine it may be the loop, too. */
const turnedAwayAt = async (ops: string): Promise<number> =>
  (await metricOf(ops, 'countersign_turned_away_total{reason="callbacks"}')) +
  (await metricOf(ops, 'countersign_turned_away_total{reason="loop"}'));

async function loadAt(ops: string): Promise<{ readonly status: number; readonly load: unknown }> {
  const response = await fetch(`${ops}/readyz`);
  const { checks } = (await response.json()) as { readonly checks: readonly { readonly name: string }[] };
  return { status: response.status, load: checks.find(({ name }) => name === 'load') };
}

describe('more callbacks than can be under way', () => {
  it('are answered FAILURE at once, while those under way are decided; the operator is told; and then all is as before', async () => {
    const { service, proxy, settled } = await onSlowStore({ answerTimeoutMs: 10_000 });
    expect((await loadAt(service.ops)).load).toMatchObject({ ok: true, decisive: false });
    proxy.hold();
    let decided = false;
    const inFlight = sendAll(service.url, 'let-in', CALLBACKS).finally(() => (decided = true));
    await eventually('all that may be under way are', async () =>
      (await settled()) === CALLBACKS ? true : undefined,
    );

    const turnedAway = await sendAll(service.url, 'turned-away', 60);
    expect(answersOf(turnedAway)).toEqual(new Set(['FAILURE']));
    expect((await loadAt(service.ops)).load).toEqual({
      name: 'load',
      ok: false,
      decisive: false,
      because: expect.stringContaining('60 callbacks or connections were turned away') as string,
    });
    expect(await turnedAwayAt(service.ops)).toBe(60);
    expect(decided).toBe(false);
    proxy.pass();
    expect(answersOf(await inFlight)).toEqual(new Set(['SUCCESS']));
    expect(await settled()).toBe(CALLBACKS);
    const told = service.log.filter(({ event }) => event === 'turned-away');
    expect(told.length).toBeLessThan(5);
    expect(told[0]).toMatchObject({
      level: 'warn',
      code: 'OVERLOADED',
      because: expect.stringContaining('add a replica') as string,
    });

    expect(answersOf(await sendAll(service.url, 'after', CALLBACKS))).toEqual(new Set(['SUCCESS']));
    expect(
      await metricOf(
        service.ops,
        'countersign_authentication_failures_total{code="OVERLOADED",source="unknown"}',
      ),
    ).toBe(0);
  });

  it('count as under way until they are decided, though FAILURE was answered long before', async () => {
    const { service, proxy, settled } = await onSlowStore({ answerTimeoutMs: 2000 });
    proxy.hold();
    expect(answersOf(await sendAll(service.url, 'late', CALLBACKS))).toEqual(new Set(['FAILURE']));
    await eventually('Redis has decided them', async () =>
      (await settled()) === CALLBACKS ? true : undefined,
    );
    expect(answersOf(await sendAll(service.url, 'turned-away', 30))).toEqual(new Set(['FAILURE']));
    expect(await turnedAwayAt(service.ops)).toBe(30);
    proxy.pass();
    await eventually('there is room again', async () =>
      (await send(service.url, { appOrderId: 'after', orderAmount: '1' })).answer === 'SUCCESS'
        ? true
        : undefined,
    );
  });

  it('are not those whose body is slow to come: they keep nobody out', async () => {
    const { service } = await onSlowStore({ answerTimeoutMs: 10_000 });
    const agent = new Agent();
    onTestFinished(() => agent.destroy());
    const headers = { 'content-type': 'application/json', expect: '100-continue' };
    const slow = Array.from({ length: CALLBACKS * 2 }, async () => {
      const asked = request(`${service.url}${PAYMENT_PATH}`, { method: 'POST', headers, agent });
      asked.on('error', () => undefined).flushHeaders();
      await once(asked, 'continue');
      asked.write('{');
    });
    await Promise.all(slow);
    expect(answersOf(await sendAll(service.url, 'quick', CALLBACKS / 2))).toEqual(new Set(['SUCCESS']));
    expect(await turnedAwayAt(service.ops)).toBe(0);
  });
});

describe('a service under much more load than it can take', () => {
  it('answers each callback within its time, approves what it can, keeps its memory, and recovers by itself', async () => {
    const redis = await durableRedis();
    const answerTimeoutMs = 3000;
    const limits = { callbacks: '16' };
    const folder = folderOf({
      redis: redis.url,
      policies: upTo(1_000_000),
      settings: { answerTimeoutMs, public: { port: '0', limits } },
    });
    const service = await serviceProcess(folder);
    await untilReady(service.ops);
    const load = startLoad(service.url, { workers: 300 });
    await eventually('thousands have been answered', () =>
      load.sent.length > 5000 && load.successes() > 100 ? true : undefined,
    );
    const sent = await load.stop();
    expect(sent.filter(({ answer }) => answer !== 'SUCCESS' && answer !== 'FAILURE')).toEqual([]);
    expect(await turnedAwayAt(service.ops)).toBeGreaterThan(0);
    const timesMs = service.log
      .filter(({ event }) => event === 'callback')
      .map(({ totalMs }) => Number(totalMs));
    expect(Math.max(...timesMs)).toBeLessThan(2 * answerTimeoutMs);
    expect(await metricOf(service.ops, 'process_resident_memory_bytes')).toBeLessThan(600e6);

    // It says so, and stays ready: the others would else have its load on top of theirs.
    expect(await loadAt(service.ops)).toMatchObject({ status: 200, load: { ok: false, decisive: false } });

    const after = [];
    for (const payment of payments('after', 50)) after.push(await send(service.url, payment));
    expect(successesOf(after)).toHaveLength(after.length);
    await audit(await storeOf(folder), [...sent, ...after], 1_000_000);
  });
});
