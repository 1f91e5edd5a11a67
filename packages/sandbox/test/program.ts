import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { eventually } from '../../../test/eventually.ts';
import { PROGRAM } from '../../../test/service-process.ts';

/** `countersign sandbox` as a process of its own. */
export interface SandboxProgram {
  /** With the path of the operations. */
  readonly url: string;
  readonly controlUrl: string;
  /** What it printed, a JSON value a line. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  terminate(): void;
  kill(): void;
  /** The exit code; null if a signal ended it. */
  readonly ended: Promise<number | null>;
}

/** Starts it on free ports, with polls by command only. Resolves once it listens; rejects if it ends before. */
export async function startSandboxProgram(
  credentials: string,
  options: readonly string[],
): Promise<SandboxProgram> {
  const fixed = ['--port', '0', '--control-port', '0', '--poll-ms', '0', '--json'];
  const argv = [PROGRAM, 'sandbox', ...fixed, '--credentials', credentials, ...options];
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'pipe'] });
  const orphaned = (): void => void child.kill('SIGKILL');
  process.once('exit', orphaned);
  const lines: Record<string, unknown>[] = [];
  createInterface(child.stdout).on('line', (line) => {
    lines.push(JSON.parse(line) as Record<string, unknown>);
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  let failed: Error | undefined;
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      process.off('exit', orphaned);
      failed = new Error(`the sandbox ended with exit code ${code}: ${said}`);
      resolve(code);
    });
  });
  const ready = await eventually('the sandbox is ready', () => lines[0] ?? failed);
  return {
    url: String(ready['url']),
    controlUrl: String(ready['control']),
    lines,
    terminate: () => void child.kill('SIGTERM'),
    kill: orphaned,
    ended,
  };
}

/** Sends a command to the control port; resolves with its value. */
export async function steerSandbox(
  controlUrl: string,
  command: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const response = await fetch(controlUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(command),
  });
  const done = (await response.json()) as { readonly value: unknown; readonly message?: string };
  if (!response.ok) throw new Error(done.message);
  return done.value;
}
