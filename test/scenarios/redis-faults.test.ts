import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { Store } from '../../src/store/store.ts';
import { type BlackHoleProxy, startBlackHoleProxy } from '../black-hole-proxy.ts';
import { eventually } from '../eventually.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { startServiceProcess } from '../service-process.ts';
import { PAYMENT_PATH, type TestService, signedPayment } from '../service.ts';
import { approvedIn, audit, journalOf } from './audit.ts';
import { type Sent, send, startLoad, successesOf } from './load.ts';
import { upTo } from './policies.ts';
import { durableRedis, folderOf, readinessAt, serviceHere, untilReady } from './running.ts';

const ANSWER_TIMEOUT_MS = 3000;
/** By how much an answer may be later than `answerTimeoutMs`, also on a busy machine. */
const SLACK_MS = 2000;
const COMMAND_TIMEOUT_MS = 1000;
const LIMIT = 150;

interface Rig {
  readonly redis: RedisServerProcess;
  /** Between the service and Redis; nothing else goes through it. */
  readonly proxy: BlackHoleProxy;
  readonly client: Redis;
  readonly service: TestService;
  /** On Redis itself. */
  readonly store: Store;
}

interface Timeouts {
  readonly answerTimeoutMs?: number;
  readonly commandTimeoutMs?: number;
}

async function startRig({
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
  commandTimeoutMs = COMMAND_TIMEOUT_MS,
}: Timeouts = {}): Promise<Rig> {
  const redis = await durableRedis();
  const proxy = await startBlackHoleProxy(redis.port);
  onTestFinished(() => proxy.close());
  const client = new Redis(redis.url).on('error', () => undefined);
  onTestFinished(() => client.disconnect());
  const store = await openRedisStore({ url: redis.url, commandTimeoutMs: 20_000 });
  onTestFinished(() => store.close());
  const timeouts = { commandTimeoutMs, connectTimeoutMs: COMMAND_TIMEOUT_MS };
  const service = await serviceHere({
    policies: upTo(LIMIT),
    settings: { answerTimeoutMs, store: { url: proxy.url, ...timeouts } },
  });
  await untilReady(service.ops);
  return { redis, proxy, client, service, store };
}

interface Fault {
  readonly name: string;
  readonly begin: (rig: Rig) => unknown;
  readonly end: (rig: Rig) => unknown;
  /** What `/readyz` says meanwhile. */
  readonly because: RegExp;
}

const faults: readonly Fault[] = [
  {
    name: 'killed',
    begin: ({ redis }) => redis.kill(),
    end: ({ redis }) => redis.restart(),
    because: /store: Redis at .* does not answer/,
  },
  {
    name: 'stopped by a signal: connections are taken, nothing is answered',
    begin: ({ redis }) => redis.pause(),
    end: ({ redis }) => redis.resume(),
    because: /store: Redis at .* does not answer/,
  },
  {
    name: 'behind a black hole: requests arrive, replies do not',
    begin: ({ proxy }) => proxy.swallow(),
    end: ({ proxy }) => proxy.pass(),
    because: /store: Redis at .* does not answer/,
  },
  {
    name: 'cut off in the middle of every reply',
    begin: ({ proxy }) => proxy.cutAfter(10),
    end: ({ proxy }) => proxy.pass(),
    because: /store: Redis at .* does not answer/,
  },
  {
    name: 'a replica of nothing, and so read-only',
    begin: ({ client }) => client.replicaof('127.0.0.1', 1),
    end: ({ client }) => client.replicaof('NO', 'ONE'),
    because: /store: Redis at .* is a replica; name the primary/,
  },
  {
    name: 'out of memory',
    begin: ({ client }) => client.config('SET', 'maxmemory', '1'),
    end: ({ client }) => client.config('SET', 'maxmemory', '0'),
    because: /store: Redis at .* has no memory left; raise `maxmemory`/,
  },
];

/**
 * Every answer came in time, the journal bears out every SUCCESS, and what the limit has left is just that.
 */
async function expectInOrder({ store, service }: Rig, sent: readonly Sent[]): Promise<void> {
  expect(sent.filter(({ answer }) => answer === undefined)).toEqual([]);
  expect(sent.filter(({ tookMs }) => tookMs > ANSWER_TIMEOUT_MS + SLACK_MS)).toEqual([]);
  // The test's own handle comes back by itself too, but in its own time.
  await eventually('the store answers', () => store.health().catch(() => undefined));
  const left = LIMIT - approvedIn(await journalOf(store));
  const orders = Array.from({ length: left + 1 }, (_, index) => `last-${index}`);
  const last: Sent[] = [];
  for (const appOrderId of orders) last.push(await send(service.url, { appOrderId, orderAmount: '1' }));
  expect(last.map(({ answer }) => answer)).toEqual(
    orders.map((_, index) => (index < left ? 'SUCCESS' : 'FAILURE')),
  );
  await audit(store, [...sent, ...last], LIMIT);
}

const approvedOf = (sent: readonly Sent[]): Sent => {
  const [approved] = successesOf(sent);
  if (approved === undefined) throw new Error('nothing was approved');
  return approved;
};

describe('Redis under load', () => {
  it.each(faults)('$name: FAILURE in time, not ready, and well again by itself', async (fault) => {
    const rig = await startRig();
    const { url, ops } = rig.service;
    const load = startLoad(url);
    await eventually('callbacks are approved', () => load.successes() >= 30 || undefined);
    const approved = approvedOf(load.sent);

    await fault.begin(rig);
    await eventually(`/readyz says ${fault.because}`, async () => {
      const { status, because } = await readinessAt(ops);
      return (status === 503 && fault.because.test(because)) || undefined;
    });
    const meanwhile = [
      await send(url, { appOrderId: 'meanwhile', orderAmount: '1' }),
      await send(url, approved.payment),
    ];
    expect(meanwhile.map(({ answer }) => answer)).toEqual(['FAILURE', 'FAILURE']);

    await fault.end(rig);
    await untilReady(ops);
    const sent = [...(await load.stop()), ...meanwhile];
    const repeat = await send(url, approved.payment);
    expect(repeat.answer).toBe('SUCCESS');
    await expectInOrder(rig, [...sent, repeat]);
  });

  it('restarted in the middle: no decision is lost, none is made twice', async () => {
    const rig = await startRig();
    const load = startLoad(rig.service.url);
    await eventually('callbacks are approved', () => load.successes() >= 30 || undefined);
    const before = successesOf(load.sent);
    await rig.redis.restart();
    await untilReady(rig.service.ops);
    const sent = await load.stop();
    const repeats = await Promise.all(before.map(({ payment }) => send(rig.service.url, payment)));
    expect(repeats.filter(({ answer }) => answer !== 'SUCCESS')).toEqual([]);
    await expectInOrder(rig, [...sent, ...repeats]);
  });

  it('told to forget its scripts again and again: nobody notices', async () => {
    const rig = await startRig();
    const sent: Sent[] = [];
    for (let from = 0; from < LIMIT - 20; from += 10) {
      const orders = Array.from({ length: 10 }, (_, index) => `flushed-${from + index}`);
      const asked = orders.map((appOrderId) => send(rig.service.url, { appOrderId, orderAmount: '1' }));
      await rig.client.script('FLUSH');
      sent.push(...(await Promise.all(asked)));
    }
    expect(sent.filter(({ answer }) => answer !== 'SUCCESS')).toEqual([]);
    await expectInOrder(rig, sent);
  });

  it('back without its data: nothing is in force, so nothing is approved', async () => {
    const rig = await startRig();
    const approved = await send(rig.service.url, { appOrderId: 'forgotten', orderAmount: '1' });
    expect(approved.answer).toBe('SUCCESS');
    await rig.client.flushall();
    await eventually('/readyz says 503', async () => {
      const { status, because } = await readinessAt(rig.service.ops);
      return (status === 503 && /policies: no policies are in force/.test(because)) || undefined;
    });
    for (const payment of [approved.payment, { appOrderId: 'new', orderAmount: '1' }]) {
      expect((await send(rig.service.url, payment)).answer).toBe('FAILURE');
    }
  });
});

describe('a SUCCESS that comes too late', () => {
  it('is answered FAILURE, stands in the journal, and is given to a repeat', async () => {
    const rig = await startRig({ answerTimeoutMs: 500, commandTimeoutMs: 20_000 });
    rig.proxy.delay(4000);
    const payment = { appOrderId: 'late', orderAmount: '1' };
    const late = await send(rig.service.url, payment);
    expect(late.answer).toBe('FAILURE');
    expect(late.tookMs).toBeLessThan(500 + SLACK_MS);
    await expectLate(rig, 'payment:late');

    rig.proxy.pass();
    await untilReady(rig.service.ops);
    const repeat = await send(rig.service.url, payment);
    expect(repeat.answer).toBe('SUCCESS');
    const changed = await send(rig.service.url, { ...payment, orderAmount: '2' });
    expect(changed.answer).toBe('FAILURE');
    await audit(rig.store, [late, repeat, changed], 1);
  });

  it('because its client has gone is the same', async () => {
    const rig = await startRig({ answerTimeoutMs: 10_000, commandTimeoutMs: 20_000 });
    rig.proxy.delay(2000);
    const gone = new AbortController();
    const body = signedPayment({ appOrderId: 'gone', orderAmount: '1' });
    const headers = { 'content-type': 'application/json' };
    const asked = fetch(`${rig.service.url}${PAYMENT_PATH}`, {
      method: 'POST',
      headers,
      body,
      signal: gone.signal,
    });
    await eventually('it is decided', async () => {
      const [decision] = await rig.store.entries({ source: 'shop', subject: 'payment:gone', limit: 1 });
      return decision;
    });
    gone.abort();
    await expect(asked).rejects.toMatchObject({ name: 'AbortError' });
    await expectLate(rig, 'payment:gone');
    rig.proxy.pass();
    await untilReady(rig.service.ops);
    const repeat = await send(rig.service.url, { appOrderId: 'gone', orderAmount: '1' });
    expect(repeat.answer).toBe('SUCCESS');
  });

  async function expectLate({ store, service }: Rig, subject: string): Promise<void> {
    const entries = await eventually(`${subject} is marked late`, async () => {
      const found = await store.entries({ source: 'shop', subject, limit: 10 });
      return found.length > 1 ? found : undefined;
    });
    expect(entries).toMatchObject([
      { type: 'decision', verdict: 'SUCCESS', code: 'APPROVED' },
      { type: 'late', verdict: 'FAILURE', code: 'ANSWERED_LATE', of: entries[0]?.id },
    ]);
    expect(service.log).toContainEqual(expect.objectContaining({ subject, outcome: 'late' }));
  }
});

describe('started on a Redis', () => {
  const settingsFor = (url: string): object => ({
    store: { url, connectTimeoutMs: 200 },
    answerTimeoutMs: ANSWER_TIMEOUT_MS,
  });

  it('that is down: answers FAILURE, and is ready once it has come', async () => {
    const redis = await durableRedis();
    await redis.kill();
    const service = await serviceHere({ policies: upTo(LIMIT), settings: { ...settingsFor(redis.url) } });
    const { status, because } = await readinessAt(service.ops);
    expect(status).toBe(503);
    expect(because).toMatch(/prepared: Redis at .* does not answer: .*ECONNREFUSED/);
    expect(await service.pay({ orderAmount: '1' })).toBe('FAILURE');
    await redis.restart();
    await untilReady(service.ops);
    expect(await service.pay({ orderAmount: '1' })).toBe('SUCCESS');
  });

  it('that may evict keys: refuses to start, and says what to set', async () => {
    const redis = await startRedisServer({
      args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'],
    });
    onTestFinished(() => redis.stop());
    await expect(startServiceProcess(folderOf({ settings: { ...settingsFor(redis.url) } }))).rejects.toThrow(
      /exit code 2: STORE_UNSAFE: .*maxmemory-policy is allkeys-lru.*set `maxmemory-policy noeviction`/,
    );
  });

  it('that is down, and may evict keys when it comes: approves nothing until that is mended', async () => {
    const redis = await durableRedis(['--maxmemory-policy', 'volatile-ttl']);
    await redis.kill();
    const service = await serviceHere({ policies: upTo(LIMIT), settings: { ...settingsFor(redis.url) } });
    await redis.restart();
    await eventually('/readyz names the policy', async () => {
      const { status, because } = await readinessAt(service.ops);
      return (status === 503 && /maxmemory-policy is volatile-ttl/.test(because)) || undefined;
    });
    expect(await service.pay({ orderAmount: '1' })).toBe('FAILURE');
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    await untilReady(service.ops);
    expect(await service.pay({ orderAmount: '1' })).toBe('SUCCESS');
  });
});
