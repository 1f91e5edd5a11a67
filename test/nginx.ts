import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:net';
import { eventually } from './eventually.ts';

/** Debian has it where not every user looks. */
const PROGRAM = ['nginx', '/usr/sbin/nginx'].find((name) => spawnSync(name, ['-v']).status === 0);

export const hasNginx = PROGRAM !== undefined;

export interface Nginx {
  /** What it has written to a log of its folder. */
  log(name: string): string;
  stop(): Promise<void>;
}

/**
 * An nginx of the test's own with a configuration within `http`, in a new folder. Resolves once it takes
 * connections on `ports`.
 */
export async function startNginx(http: string, ports: readonly number[]): Promise<Nginx> {
  if (PROGRAM === undefined) throw new Error('there is no nginx');
  const folder = mkdtempSync(join(tmpdir(), 'countersign-nginx-'));
  mkdirSync(join(folder, 'temporary'));
  const file = join(folder, 'nginx.conf');
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path temporary/${name};`)
    .join('\n');
  // As root, its workers would be of a user that may not look into the folder.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  writeFileSync(
    file,
    `${user}\nworker_processes 1;\ndaemon off;\npid nginx.pid;\nevents {}\nhttp {\n${temporary}\n${http}\n}\n`,
  );
  const child = spawn(PROGRAM, ['-p', folder, '-c', file, '-e', 'error.log'], { stdio: 'pipe' });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const stop = async (): Promise<void> => {
    await ended(child);
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', () => child.kill('SIGTERM'));
  try {
    await eventually('nginx takes connections', async () => {
      if (child.exitCode !== null) return new Error(`nginx ended: ${said}`);
      return (await Promise.all(ports.map(takes))).every(Boolean) || undefined;
    });
  } catch (thrown) {
    await stop();
    throw thrown;
  }
  return { log: (name) => readFileSync(join(folder, name), 'utf8'), stop };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  // Its workers end with it.
  child.kill('SIGTERM');
  await exit;
}

function takes(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port });
    const done = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    socket.once('connect', () => done(true)).once('error', () => done(false));
  });
}
