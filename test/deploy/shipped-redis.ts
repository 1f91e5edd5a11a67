import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis, type RedisOptions } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { createAuthority } from '../certificates.ts';
import { onNextPort } from '../ports.ts';
import { launchRedis } from '../redis-process.ts';
import { ROOT, textOf } from './documents.ts';
import { manifestsIn } from '../../tools/generate/manifests.ts';
import { type Secrets } from './shipped-files.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/*
 * Runs Redis with the files of deploy/ as they are. Only what differs on each machine is given on the command
 * line, where it counts over the file: the port, the address, and where files are.
 */

/** How one of the shipped deployments runs Redis. Paths are those within its container. */
export interface Container {
  readonly command: readonly string[];
  readonly probes: readonly (readonly string[])[];
  /** Where `redis.conf` and `users.acl` are mounted. */
  readonly conf: string;
  readonly acl: string;
}

const healthcheck = z.object({ test: z.tuple([z.literal('CMD')]).rest(z.string()) });
const composed = z.object({
  services: z.object({
    redis: z.object({ command: z.array(z.string()), healthcheck, volumes: z.array(z.string()) }),
  }),
});

/** Redis of compose.yaml. */
export function composeContainer(): Container {
  const { redis } = composed.parse(parse(textOf('compose.yaml'), { merge: true })).services;
  const [, ...probe] = redis.healthcheck.test;
  const target = (from: string): string =>
    redis.volumes.find((volume) => volume.startsWith(`${from}:`))?.split(':')[1] ?? '';
  return {
    command: redis.command,
    probes: [probe],
    conf: target('./deploy/redis/redis.conf'),
    acl: `${target('redis-secrets')}/users.acl`,
  };
}

const probe = z.object({ exec: z.object({ command: z.array(z.string()) }) });
const redisContainer = z.object({
  command: z.array(z.string()),
  startupProbe: probe,
  readinessProbe: probe,
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
});
const statefulSet = z.object({
  template: z.object({ spec: z.object({ containers: z.tuple([redisContainer]) }) }),
});

/** Redis of deploy/redis/stateful-set.yaml. Its ConfigMap and its Secret are mounted in one folder. */
export function statefulSetContainer(): Container {
  const [manifest] = manifestsIn('deploy/redis/stateful-set.yaml');
  const [container] = statefulSet.parse(manifest?.object['spec']).template.spec.containers;
  const config = container.volumeMounts.find(({ name }) => name === 'config')?.mountPath ?? '';
  return {
    command: container.command,
    probes: [container.startupProbe, container.readinessProbe].map(({ exec }) => exec.command),
    conf: `${config}/redis.conf`,
    acl: `${config}/users.acl`,
  };
}

export interface ShippedRedis {
  readonly port: number;
  /** Its setting `dir`. */
  readonly data: string;
  /** Everything that it holds, by key: the type, when it expires, and the content. */
  contents(): Promise<Readonly<Record<string, unknown>>>;
  /** As the administrator of the shipped users. */
  ask(command: string, ...args: readonly string[]): Promise<unknown>;
  /** Exit codes of the probes of its container. */
  probe(): Promise<readonly (number | null)[]>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** `SHUTDOWN`, as the administrator. */
  shutdown(): Promise<void>;
  /** Starts it again, after `kill` or `shutdown`. */
  start(): Promise<void>;
}

export interface ShippedOptions {
  readonly container?: Container;
  readonly secrets: Secrets;
  /** Lines to append to the users' file. */
  readonly users?: readonly string[];
  /** Then the port speaks TLS alone. */
  readonly tls?: ShippedTls | undefined;
  /** Replaces the text of redis.conf, for what its comments say to change. */
  readonly edit?: (conf: string) => string;
}

/** deploy/redis/tls.conf with certificates of the test's own. */
export interface ShippedTls {
  /** For `redis-server`, after its own file. */
  readonly args: readonly string[];
  readonly client: NonNullable<RedisOptions['tls']>;
  /** `store.tls` of the service. */
  readonly settings: Readonly<Record<string, unknown>>;
}

export function shippedTls(): ShippedTls {
  const authority = createAuthority();
  onTestFinished(() => authority.close());
  const [server, client] = [authority.issue('/CN=redis'), authority.issue('/CN=countersign')];
  const { cert: ca, certFile: caFile } = authority.certificate;
  const files = { cert: server.certFile, key: server.keyFile, 'ca-cert': caFile };
  return {
    args: [
      '--include',
      join(ROOT, 'deploy/redis/tls.conf'),
      ...Object.entries(files).flatMap(([name, file]) => [`--tls-${name}-file`, file]),
    ],
    client: { ca, cert: client.cert, key: client.key },
    settings: { ca: caFile, certificate: client.certFile, key: { file: client.keyFile } },
  };
}

export async function startShippedRedis(options: ShippedOptions): Promise<ShippedRedis> {
  const { secrets, tls, users = [], container = statefulSetContainer() } = options;
  const own = temporaryFolder();
  const [data, conf, acl] = [join(own, 'data'), join(own, 'redis.conf'), join(own, 'users.acl')];
  mkdirSync(data);
  const shipped = (options.edit ?? ((text) => text))(textOf('deploy/redis/redis.conf'));
  // Redis enters this folder while it reads the file, so the command line comes too late.
  const placed = shipped.replace(/^dir \/data$/m, `dir ${data}`);
  expect(placed).not.toBe(shipped);
  writeFileSync(conf, placed);
  cpSync(secrets.aclFile, acl);
  if (users.length > 0)
    writeFileSync(acl, `${readFileSync(acl, 'utf8')}${users.join('\n')}\n`, { mode: 0o600 });
  const mounted = container.command.map((word) =>
    word === container.conf ? conf : word === container.acl ? acl : word,
  );
  const [program, file, ...shippedArgs] = mounted;
  expect([program, file]).toEqual(['redis-server', conf]);

  const argumentsOn = (port: number): readonly string[] => [
    conf,
    ...shippedArgs,
    ...(tls?.args ?? []),
    '--bind',
    '127.0.0.1',
    '--aclfile',
    acl,
    ...(tls === undefined ? ['--port', `${port}`] : ['--tls-port', `${port}`]),
  ];
  const { port, first } = await onNextPort(async (free) => ({
    port: free,
    first: await launchRedis(argumentsOn(free)),
  }));
  let server = first;
  const gone = async (end: () => unknown): Promise<void> => {
    const exit = once(server, 'exit');
    await end();
    await exit;
  };
  onTestFinished(() => void server.kill('SIGKILL'));

  async function asUser<T>(
    username: string,
    password: string,
    use: (client: Redis) => Promise<T>,
  ): Promise<T> {
    const client = new Redis({
      host: '127.0.0.1',
      port,
      username,
      password,
      lazyConnect: true,
      protocol: 2,
      retryStrategy: () => null,
      enableReadyCheck: false,
      ...(tls && { tls: tls.client }),
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await use(client);
    } finally {
      client.disconnect();
    }
  }
  const ask: ShippedRedis['ask'] = (command, ...words) =>
    asUser('countersign-administrator', secrets.administrator, (client) => client.call(command, [...words]));

  return {
    port,
    data,
    ask,
    async contents() {
      // The administrator may read no key, but may create users. This one is gone with the next restart.
      await ask('ACL', 'SETUSER', 'reader-of-the-tests', 'on', '>of-the-tests', '~*', '+@all');
      return asUser('reader-of-the-tests', 'of-the-tests', contentsOf);
    },
    probe: () => Promise.all(container.probes.map((words) => exitCodeOf(words, port))),
    kill: () => gone(() => server.kill('SIGKILL')),
    shutdown: () =>
      gone(async () => {
        // Without a reply it ends; a reply is the reason why it doesn't.
        const refused = await ask('SHUTDOWN').catch((thrown: unknown) => String(thrown));
        if (/ReplyError/.test(String(refused))) throw new Error(`Redis refuses SHUTDOWN: ${String(refused)}`);
      }),
    async start() {
      server = await launchRedis(argumentsOn(port));
    },
  };
}

/** Of the command of a probe, which runs within the container and so names no port. */
async function exitCodeOf([program = '', ...args]: readonly string[], port: number): Promise<number | null> {
  const child = spawn(program, ['-p', `${port}`, ...args], { stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

/** A key that expires this soon may be gone the next time. */
const SOON_MS = 600_000;

async function contentsOf(client: Redis): Promise<Readonly<Record<string, unknown>>> {
  const keys = (await client.keys('*')).toSorted((a, b) => (a < b ? -1 : 1));
  const entries = await Promise.all(
    keys.map(async (key) => {
      const [type, expiresAtMs] = [await client.type(key), await client.pexpiretime(key)];
      if (expiresAtMs > 0 && expiresAtMs < Date.now() + SOON_MS) return [];
      return [[key, { type, expiresAtMs, content: await contentOf(client, type, key) }] as const];
    }),
  );
  return Object.fromEntries(entries.flat());
}

function contentOf(client: Redis, type: string, key: string): Promise<unknown> {
  if (type === 'hash') return client.hgetall(key);
  if (type === 'set') return client.smembers(key).then((members) => members.toSorted());
  if (type === 'zset') return client.zrange(key, '0', '-1', 'WITHSCORES');
  if (type === 'list') return client.lrange(key, 0, -1);
  if (type === 'stream') return client.xrange(key, '-', '+');
  return client.get(key);
}
