import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A `redis-server` of the test's own, on a free port of 127.0.0.1 and in a new folder; nothing is shared with others. */
export interface RedisServerProcess {
  readonly port: number;
  readonly url: string;
  /** Starts it again on the same port and folder, after `kill`. */
  restart(): Promise<void>;
  /** SIGKILL: what was not on disk is lost. */
  kill(): Promise<void>;
  /** SIGSTOP: connections are taken, and nothing is answered. */
  pause(): void;
  resume(): void;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

export interface RedisServerOptions {
  /** Every write is on disk before it is answered (`appendfsync always`). */
  readonly durable?: boolean;
  /** More arguments: `['--cluster-enabled', 'yes']`. */
  readonly args?: readonly string[];
}

const MISSING =
  'These tests start their own Redis and there is no `redis-server` on the PATH: install Redis 7.0 or newer (Debian: `apt-get install redis-server`, macOS: `brew install redis`).';

export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServerProcess> {
  if (spawnSync('redis-server', ['--version']).error !== undefined) throw new Error(MISSING);
  const folder = mkdtempSync(join(tmpdir(), 'countersign-redis-'));
  const port = await freePort();
  const persistence =
    options.durable === true ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--save', '', ...persistence];
  const launch = (): Promise<ChildProcess> => launchRedis([...args, ...(options.args ?? [])]);
  let server = await launch();

  async function kill(): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, 'exit');
    server.kill('SIGKILL');
    await gone;
  }

  return {
    port,
    url: `redis://127.0.0.1:${port}/0`,
    kill,
    async restart() {
      await kill();
      server = await launch();
    },
    pause: () => void server.kill('SIGSTOP'),
    resume: () => void server.kill('SIGCONT'),
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Resolves once it accepts connections; rejects with what it said if it ends before. */
async function launchRedis(args: readonly string[]): Promise<ChildProcess> {
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const orphaned = (): void => void server.kill('SIGKILL');
  process.once('exit', orphaned);
  server.once('exit', () => process.off('exit', orphaned));
  const said: string[] = [];
  const lines = createInterface({ input: server.stdout });
  await new Promise<void>((resolve, reject) => {
    lines.on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve();
      else if (said.length < 50) said.push(line);
    });
    server.once('exit', () => reject(new Error(`redis-server ended:\n${said.join('\n')}`)));
  });
  return server;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
