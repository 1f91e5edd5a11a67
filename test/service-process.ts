import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { eventually } from './eventually.ts';

/** `countersign serve` as a process of its own. */
export interface ServiceProcess {
  readonly url: string;
  readonly ops: string;
  readonly pid: number;
  /** The lines of its log so far. */
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** SIGKILL: nothing is finished, nothing is closed. */
  kill(): Promise<void>;
  /** SIGTERM, or another signal; it ends in its own time. */
  terminate(signal?: NodeJS.Signals): void;
  /** From here on nobody reads what it writes. */
  deafen(): void;
  /** Leaves its log unread, as a reader that has stalled. Returns what reads it again. */
  stallLog(): () => void;
  /** The exit code; null where a signal ended it. */
  readonly ended: Promise<number | null>;
}

/** The launcher, which keeps compiled code for the next start. */
export const PROGRAM = fileURLToPath(new URL('../bin/countersign.js', import.meta.url));

/**
 * Serves from a folder written by `writeServiceFolder`. `through` is a command that runs it, such as one that
 * sets limits first.
 */
export function startServiceProcess(
  folder: string,
  through: readonly string[] = [],
): Promise<ServiceProcess> {
  const command = [process.execPath, PROGRAM, 'serve', '--config', join(folder, 'settings.yaml')];
  return startServing([...through, ...command], { cwd: folder, env: { PATH: process.env['PATH'] } });
}

/**
 * Runs a command that serves. Resolves once the ports are open; rejects with exit code and standard error if it
 * ends before.
 */
export async function startServing(
  [program = '', ...args]: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<ServiceProcess> {
  const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const orphaned = (): void => void child.kill('SIGKILL');
  process.once('exit', orphaned);
  const log: Record<string, unknown>[] = [];
  const reader = createInterface(child.stdout).on('line', (line) => {
    try {
      log.push(JSON.parse(line) as Record<string, unknown>);
    } catch {
      // Cut off by a kill.
    }
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  let refused: Error | undefined;
  const ended = once(child, 'close').then(([code]: (number | null)[]) => {
    process.off('exit', orphaned);
    refused = new Error(`the service ended with exit code ${code}: ${said}`);
    return code ?? null;
  });

  const [, url = '', ops = ''] = await eventually('the service serves', () => {
    const serving = log.find(({ event }) => event === 'serving');
    return /callbacks at (\S+), ops at (\S+)/.exec(String(serving?.['because'])) ?? refused;
  });
  return {
    url,
    ops,
    pid: child.pid ?? -1,
    log,
    ended,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    terminate: (signal = 'SIGTERM') => void child.kill(signal),
    stallLog() {
      reader.pause();
      return () => void reader.resume();
    },
    deafen() {
      child.stdout.destroy();
      child.stderr.destroy();
    },
  };
}
