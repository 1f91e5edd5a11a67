import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Redis } from 'ioredis';
import type { RedisUser } from './deploy/shipped-files.ts';
import { onNextPort } from './ports.ts';

/**
 * Files by which servers and clients know each other; then every port speaks TLS alone, and wants a client
 * certificate.
 */
export interface RedisTls {
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
}

/** One server of a rig of several, on one port of 127.0.0.1 for as long as the rig stands. */
export interface RedisProcess {
  readonly port: number;
  /** One command, over a connection of its own; rejects within a second or so if there is no answer. */
  ask(command: string, ...args: readonly (string | number)[]): Promise<unknown>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again on the same port and files, after `kill`. */
  restart(): Promise<void>;
  /** SIGSTOP: connections are taken, and nothing is answered. */
  pause(): void;
  resume(): void;
  isRunning(): boolean;
}

export interface RedisProcessOptions {
  /** Files of this process lie in a folder of its own within. */
  readonly folder: string;
  /** Lines of its configuration. It is written once for a port: what the server writes into it stays. */
  readonly config: (port: number) => readonly string[] | Promise<readonly string[]>;
  readonly sentinel?: boolean;
  /** As whom `ask` signs in; by default it does not. */
  readonly user?: RedisUser | undefined;
  readonly tls?: RedisTls | undefined;
}

const MISSING =
  'These tests start their own Redis and there is no `redis-server` on the PATH: install Redis 7.0 or newer (Debian: `apt-get install redis-server`, macOS: `brew install redis`).';
const READY = /Ready to accept connections|Sentinel ID is/;
const ASK_MS = 10_000;

export function startRedisProcess(options: RedisProcessOptions): Promise<RedisProcess> {
  return onNextPort(async (port) => {
    const file = await configured(options, port);
    return processOf(options, port, file, await launchRedis(argumentsOf(file, options.sentinel)));
  });
}

async function configured({ folder, config, tls }: RedisProcessOptions, port: number): Promise<string> {
  const own = join(folder, `${port}`);
  mkdirSync(own);
  const file = join(own, 'redis.conf');
  const lines = ['bind 127.0.0.1', `dir ${own}`, ...portLines(port, tls), ...(await config(port))];
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}

function portLines(port: number, tls: RedisTls | undefined): readonly string[] {
  if (tls === undefined) return [`port ${port}`];
  return [
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${tls.certFile}`,
    `tls-key-file ${tls.keyFile}`,
    `tls-ca-cert-file ${tls.caFile}`,
    'tls-auth-clients yes',
    'tls-replication yes',
  ];
}

function processOf(
  { sentinel, tls, user }: RedisProcessOptions,
  port: number,
  file: string,
  first: ChildProcess,
): RedisProcess {
  let server = first;
  const isRunning = (): boolean => server.exitCode === null && server.signalCode === null;
  async function kill(): Promise<void> {
    if (!isRunning()) return;
    const gone = once(server, 'exit');
    server.kill('SIGKILL');
    await gone;
  }
  return {
    port,
    isRunning,
    kill,
    ask: (command, ...args) => ask({ port, tls, user }, command, args),
    async restart() {
      await kill();
      server = await launchRedis(argumentsOf(file, sentinel));
    },
    pause: () => void server.kill('SIGSTOP'),
    resume: () => void server.kill('SIGCONT'),
  };
}

function argumentsOf(file: string, sentinel = false): readonly string[] {
  return sentinel ? [file, '--sentinel'] : [file];
}

/**
 * Resolves once it accepts connections; rejects with what it said if it ends before. It ends with this
 * process.
 */
export async function launchRedis(args: readonly string[]): Promise<ChildProcess> {
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const orphaned = (): void => void server.kill('SIGKILL');
  process.once('exit', orphaned);
  server.once('exit', () => process.off('exit', orphaned));
  const said: string[] = [];
  const lines = createInterface({ input: server.stdout });
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      if (READY.test(line)) resolve();
      else if (said.length < 50) said.push(line);
    });
    server.once('error', () => reject(new Error(MISSING)));
    // Not `exit`: what it said last may come after that.
    server.once('close', () => reject(new Error(`redis-server ended:\n${said.join('\n')}`)));
  });
  return server;
}

interface Asked {
  readonly port: number;
  readonly tls: RedisTls | undefined;
  readonly user: RedisUser | undefined;
}

async function ask(asked: Asked, command: string, args: readonly (string | number)[]): Promise<unknown> {
  const client = rawClientOf(asked);
  try {
    await client.connect();
    return await client.call(command, [...args]);
  } finally {
    client.disconnect();
  }
}

/** A client that is not connected yet, gives up at once, and speaks to any kind of server. */
function rawClientOf({ port, tls, user }: Asked): Redis {
  const client = new Redis({
    host: '127.0.0.1',
    port,
    ...user,
    lazyConnect: true,
    enableReadyCheck: false,
    disableClientInfo: true,
    protocol: 2,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    connectTimeout: ASK_MS,
    commandTimeout: ASK_MS,
    ...(tls !== undefined && { tls: readTls(tls) }),
  });
  client.on('error', () => {});
  return client;
}

/** As clients take it. */
function readTls({ caFile, certFile, keyFile }: RedisTls): { ca: string; cert: string; key: string } {
  const [ca, cert, key] = [caFile, certFile, keyFile].map((file) => readFileSync(file, 'utf8'));
  return { ca: ca ?? '', cert: cert ?? '', key: key ?? '' };
}
