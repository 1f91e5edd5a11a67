import { Redis } from 'ioredis';
import type { RedisProcess } from '../../../test/redis-process.ts';
import { ANY_HOUR, type Fault, clockFault, receiverFaults, repeatedly } from '../faults.ts';
import { revisionOf } from '../policies.ts';
import { type Network, type Proxy, startProxy } from '../proxy.ts';
import type { Random } from '../random.ts';
import { createReceiver, startAll } from '../receivers.ts';
import { type Topology, endings, shippedUntil, signedIn, startOne, storeOf, urlOf } from '../topology.ts';

/**
 * Below the time for a command: what is answered in time is so by the answer's own time-out, and decisions
 * come late.
 */
const TIMEOUTS = { answerTimeoutMs: 800, commandTimeoutMs: 2500 };
const CONNECT_TIMEOUT_MS = 1000;
const OPERATOR_TIMEOUT_MS = '1000';
/** As much as may still be written once it is filled up. */
const LEFT_BYTES = 100_000;

export interface SingleOptions {
  readonly answerTimeoutMs: number;
  readonly commandTimeoutMs: number;
  /** Changes the text of users.acl. */
  readonly users?: (shipped: string) => string;
}

/** Receivers on one Redis as it is shipped, each with a network of its own in between. */
export async function startSingle(
  count: number,
  { answerTimeoutMs, commandTimeoutMs, users }: SingleOptions = TIMEOUTS,
): Promise<Topology> {
  const ending = endings();
  try {
    const shipped = shippedUntil(ending, users && { users });
    const redis = await startOne(ending, shipped);
    const { port } = redis;
    const admin = new Redis({ port, ...shipped.user, maxRetriesPerRequest: 0 }).on('error', () => undefined);
    ending.add(() => admin.disconnect());
    const proxies = await Promise.all(Array.from({ length: count }, () => startProxy(port)));
    ending.add(() => Promise.all(proxies.map((proxy) => proxy.close())));
    const receivers = proxies.map(({ url }, index) =>
      createReceiver({
        name: `receiver ${index + 1}`,
        policies: revisionOf(0).files,
        settings: {
          answerTimeoutMs,
          ...signedIn(shipped.secrets, { url, commandTimeoutMs, connectTimeoutMs: CONNECT_TIMEOUT_MS }),
        },
      }),
    );
    ending.add(() => Promise.all(receivers.map((receiver) => receiver.remove())));
    await startAll(receivers);
    const [first] = receivers;
    if (first === undefined) throw new Error('there is no receiver');
    const direct = {
      COUNTERSIGN_STORE_URL: urlOf(redis),
      COUNTERSIGN_STORE_COMMAND_TIMEOUT_MS: OPERATOR_TIMEOUT_MS,
    };
    const store = await storeOf(first, { ...shipped, env: direct });
    ending.add(() => store.close());
    return {
      name: 'single',
      receivers,
      store,
      faults: [
        ...receiverFaults(receivers),
        clockFault(receivers, ANY_HOUR),
        ...redisFaults(redis, admin),
        ...networkFaults(proxies, answerTimeoutMs),
      ],
      answerTimeoutMs,
      journalLagMs: 0,
      stop: ending.run,
    };
  } catch (thrown) {
    await ending.run();
    throw thrown;
  }
}

/** What can be done to the Redis itself; all of it keeps what was acknowledged. */
function redisFaults(redis: RedisProcess, admin: Redis): readonly Fault[] {
  const named = (
    name: string,
    begin: () => Promise<() => Promise<unknown>>,
    { harmless = false, to = 'redis' } = {},
  ): Fault => ({
    name,
    to,
    harmless,
    async begin() {
      const end = await begin();
      return async () => void (await end());
    },
  });
  return [
    named('Redis killed', async () => {
      await redis.kill();
      return () => redis.restart();
    }),
    named('Redis killed and back at once', async () => {
      await redis.restart();
      return () => Promise.resolve();
    }),
    named('Redis stopped by a signal', () => {
      redis.pause();
      return Promise.resolve(() => Promise.resolve(redis.resume()));
    }),
    named('Redis filled up', async () => {
      const used = Number(/used_memory:(\d+)/.exec(await admin.info('memory'))?.[1]);
      const [, shipped = '0'] = await admin.config('GET', 'maxmemory');
      await admin.config('SET', 'maxmemory', `${used + LEFT_BYTES}`);
      return () => insisting(() => admin.config('SET', 'maxmemory', shipped));
    }),
    named('Redis read-only', async () => {
      await admin.replicaof('127.0.0.1', 1);
      return () => insisting(() => admin.replicaof('NO', 'ONE'));
    }),
    named('Redis taking no writes for a while', async () => {
      await admin.call('CLIENT', 'PAUSE', 60_000, 'WRITE');
      return () => insisting(() => admin.call('CLIENT', 'UNPAUSE'));
    }),
    named('Redis throwing its clients out', () =>
      Promise.resolve(repeatedly(() => admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'), 200)),
    ),
    named(
      'SCRIPT FLUSH again and again',
      () => Promise.resolve(repeatedly(() => admin.script('FLUSH'), 20)),
      { harmless: true, to: 'scripts' },
    ),
  ];
}

/** Until it is done: the fault's own connection may have been lost as well. */
async function insisting(does: () => Promise<unknown>): Promise<void> {
  const givenUpAtMs = performance.now() + 20_000;
  for (;;) {
    try {
      await does();
      return;
    } catch (thrown) {
      if (performance.now() > givenUpAtMs) throw thrown;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function networkFaults(proxies: readonly Proxy[], answerTimeoutMs: number): readonly Fault[] {
  const networks: readonly (readonly [
    name: string,
    becomes: (random: Random) => Network,
    harmless?: boolean,
  ])[] = [
    ['replies lost', () => ({ kind: 'drop', what: 'replies' })],
    ['requests lost', () => ({ kind: 'drop', what: 'requests' })],
    [
      'replies cut in the middle',
      (random) => ({ kind: 'cut', what: 'replies', bytes: random.whole(1, 3000) }),
    ],
    [
      'requests cut in the middle',
      (random) => ({ kind: 'cut', what: 'requests', bytes: random.whole(1, 9000) }),
    ],
    ['no connection', () => ({ kind: 'refuse' })],
    ['slow beyond every time-out', () => ({ kind: 'delay', delayMs: answerTimeoutMs })],
    ['slow up to the time-out', (random) => ({ kind: 'delay', delayMs: random.whole(100, 260) })],
    ['replies in small pieces', (random) => ({ kind: 'trickle', bytes: random.whole(1, 40) })],
  ];
  return networks.flatMap(([name, becomes]) =>
    [1, proxies.length].map((count) => ({
      name: `network of ${count === 1 ? 'one receiver' : 'all receivers'}: ${name}`,
      to: 'network',
      harmless: false,
      begin(random: Random) {
        const from = random.whole(0, proxies.length - 1);
        const network = becomes(random);
        const hit = count === 1 ? proxies.slice(from, from + 1) : proxies;
        for (const proxy of hit) proxy.set(network);
        return Promise.resolve(() => {
          for (const proxy of hit) proxy.set({ kind: 'pass' });
          return Promise.resolve();
        });
      },
    })),
  );
}
