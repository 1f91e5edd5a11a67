import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ShippedFiles } from './deploy/shipped-files.ts';
import { eventually } from './eventually.ts';
import { type RedisProcess, type RedisTls, startRedisProcess } from './redis-process.ts';

/** A primary with replicas, watched by Sentinels that fail over; real processes of the test's own. */
export interface RedisSentinels {
  /** `redis-sentinel://127.0.0.1:a,127.0.0.1:b/main/0`, or `rediss-sentinel` with TLS. */
  readonly url: string;
  /** The primary at the beginning, then its replicas. */
  readonly nodes: readonly RedisProcess[];
  readonly sentinels: readonly RedisProcess[];
  /** The port that most of the Sentinels say is the primary's. */
  primary(): Promise<number>;
  node(port: number): RedisProcess;
  /** SIGKILL. Resolves with its port. */
  killPrimary(): Promise<number>;
  /** SIGSTOP: a half-open primary. Resolves with its port; `node(port).resume()` lets it go on. */
  pausePrimary(): Promise<number>;
  /**
   * Starts what was killed, and makes it a replica of the primary that the Sentinels name, if that is
   * another.
   */
  restart(port: number): Promise<void>;
  /**
   * Resolves with the port of the primary once it is another than the one last killed or paused, and is
   * promoted.
   */
  reconfigured(): Promise<number>;
  /** Resolves once the primary has that many replicas online. */
  replicated(replicas: number): Promise<void>;
  /** Ends all of it and removes its files. */
  stop(): Promise<void>;
}

export interface RedisSentinelsOptions {
  /** Default 2. */
  readonly replicas?: number;
  /** Default 3. */
  readonly sentinels?: number;
  /** Starts all of it with them. They say what is written when, so `durable` says nothing. */
  readonly shipped?: ShippedFiles | undefined;
  /**
   * After how long without an answer a Sentinel takes a server for dead. Default 1000, or what the shipped file
   * says.
   */
  readonly downAfterMs?: number;
  /** Every write of every node is on disk before it is answered. */
  readonly durable?: boolean;
  /** More lines for the configuration of the nodes. */
  readonly config?: readonly string[];
  readonly tls?: RedisTls;
}

const NAME = 'main';
/**
 * Sentinels speak to each other each second or two, and look at replicas each ten; here oftener. The ping
 * period stays: a Sentinel takes for unfit a replica that it has not looked at for five of them, and looks each
 * second once the primary is gone. With a shorter one it might promote a replica that has less than others.
 */
const DEBUG = ['ask-period 200 info-period 500 publish-period 200', 'tilt-period 1000'];

export async function startSentinels(options: RedisSentinelsOptions = {}): Promise<RedisSentinels> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-sentinels-'));
  const nodes: RedisProcess[] = [];
  const sentinels: RedisProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all([...sentinels, ...nodes].map((each) => each.kill()));
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    const { replicas = 2, sentinels: watching = 3 } = options;
    for (let index = 0; index <= replicas; index++) nodes.push(await startNode(folder, options, nodes[0]));
    await replicated(() => Promise.resolve(nodes[0]), replicas);
    for (let index = 0; index < watching; index++) {
      sentinels.push(await startSentinel(folder, options, nodes[0]));
    }
    await Promise.all(sentinels.map((sentinel) => knowsAll(sentinel, replicas, watching - 1)));
    return rigOf({ nodes, sentinels, stop, tls: options.tls });
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

function startNode(
  folder: string,
  { durable = false, config = [], tls, shipped }: RedisSentinelsOptions,
  primary: RedisProcess | undefined,
): Promise<RedisProcess> {
  return startRedisProcess({
    folder,
    tls,
    user: shipped?.user,
    config: () => [
      ...(shipped?.redis ?? [
        'save ""',
        ...(durable ? ['appendonly yes', 'appendfsync always'] : ['appendonly no']),
      ]),
      // Without a disk in between, a replica would be online for up to a second before it gets anything.
      'repl-diskless-sync no',
      'repl-ping-replica-period 1',
      ...(primary === undefined ? [] : [`replicaof 127.0.0.1 ${primary.port}`]),
      ...config,
    ],
  });
}

async function startSentinel(
  folder: string,
  { downAfterMs, tls, shipped }: RedisSentinelsOptions,
  primary: RedisProcess | undefined,
): Promise<RedisProcess> {
  const watched = primary?.port ?? 0;
  const sentinel = await startRedisProcess({
    folder,
    tls,
    sentinel: true,
    config: () => [
      ...(shipped?.sentinel(watched) ?? [
        `sentinel monitor ${NAME} 127.0.0.1 ${watched} 2`,
        `sentinel down-after-milliseconds ${NAME} 1000`,
        `sentinel failover-timeout ${NAME} 5000`,
        `sentinel parallel-syncs ${NAME} 2`,
      ]),
      ...(downAfterMs === undefined ? [] : [`sentinel down-after-milliseconds ${NAME} ${downAfterMs}`]),
    ],
  });
  for (const settings of DEBUG) await sentinel.ask('SENTINEL', 'DEBUG', ...settings.split(' '));
  return sentinel;
}

interface Parts {
  readonly nodes: readonly RedisProcess[];
  readonly sentinels: readonly RedisProcess[];
  readonly stop: () => Promise<void>;
  readonly tls: RedisTls | undefined;
}

function rigOf({ nodes, sentinels, stop, tls }: Parts): RedisSentinels {
  let lost: number | undefined;
  const primary = (): Promise<number> => primaryOf(sentinels);
  const node = (port: number): RedisProcess => {
    const found = nodes.find((each) => each.port === port);
    if (found === undefined) throw new Error(`no node of these Sentinels is on port ${port}`);
    return found;
  };
  const addresses = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',');
  return {
    url: `redis${tls === undefined ? '' : 's'}-sentinel://${addresses}/${NAME}/0`,
    nodes,
    sentinels,
    primary,
    node,
    stop,
    async killPrimary() {
      lost = await primary();
      await node(lost).kill();
      return lost;
    },
    async pausePrimary() {
      lost = await primary();
      node(lost).pause();
      return lost;
    },
    async restart(port) {
      await node(port).restart();
      const current = await primary();
      if (current !== port) await node(port).ask('REPLICAOF', '127.0.0.1', current);
    },
    reconfigured: () =>
      eventually('another primary is promoted', async () => {
        const current = await primary();
        if (current === lost) return undefined;
        // Not a write: it may have fewer replicas now than a write needs.
        const role = await node(current)
          .ask('ROLE')
          .catch(() => undefined);
        return String(role).startsWith('master') ? current : undefined;
      }),
    replicated: (replicas) => replicated(async () => node(await primary()), replicas),
  };
}

async function primaryOf(sentinels: readonly RedisProcess[]): Promise<number> {
  return eventually('most Sentinels agree on the primary', async () => {
    const answers = await Promise.all(
      sentinels.map((each) => each.ask('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME).catch(() => undefined)),
    );
    const ports = answers.map((answer) => (Array.isArray(answer) ? Number(answer[1]) : undefined));
    return ports.find(
      (port) => port !== undefined && ports.filter((each) => each === port).length * 2 > sentinels.length,
    );
  });
}

/** Asks for the primary each time, because the Sentinels may replace it meanwhile. */
async function replicated(primary: () => Promise<RedisProcess | undefined>, replicas: number): Promise<void> {
  await eventually(`${replicas} replicas follow`, async () => {
    const info = String(await (await primary())?.ask('INFO', 'replication').catch(() => ''));
    return (info.match(/state=online/g)?.length ?? 0) >= replicas ? true : undefined;
  });
}

async function knowsAll(sentinel: RedisProcess, replicas: number, others: number): Promise<void> {
  await eventually(`a Sentinel knows ${replicas} replicas and ${others} others`, async () => {
    const reply = await sentinel.ask('SENTINEL', 'MASTER', NAME).catch(() => []);
    const flat = Array.isArray(reply) ? reply.map(String) : [];
    const field = (name: string): string | undefined => flat[flat.indexOf(name) + 1];
    const knows =
      field('num-slaves') === `${replicas}` &&
      field('num-other-sentinels') === `${others}` &&
      field('flags') === 'master';
    return knows ? true : undefined;
  });
}
