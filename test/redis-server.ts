import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nextPort, onNextPort } from './ports.ts';
import { launchRedis } from './redis-process.ts';

/**
 * A `redis-server` of the test's own, on a free port of 127.0.0.1 and in a new folder; nothing is shared with
 * others.
 */
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

export async function startRedisServer(options: RedisServerOptions = {}): Promise<RedisServerProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-redis-'));
  const { durable = false, args = [] } = options;
  const { port, first, launch } = await onNextPort(async (own) => {
    const persistence = durable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
    // Without it the bus would be 10000 above, where others have their ports.
    const bus = args.includes('--cluster-enabled') ? ['--cluster-port', `${await nextPort()}`] : [];
    const where = ['--port', `${own}`, '--bind', '127.0.0.1', '--dir', folder, '--save', ''];
    const all = [...where, ...persistence, ...bus, ...args];
    const launchThere = (): Promise<ChildProcess> => launchRedis(all);
    return { port: own, first: await launchThere(), launch: launchThere };
  }).catch((thrown: unknown) => {
    rmSync(folder, { recursive: true, force: true });
    throw thrown;
  });
  let server = first;

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
      // A child of Redis that writes a snapshot may outlive it for a moment, and add a file.
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
