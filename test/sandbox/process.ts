import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { onTestFinished } from 'vitest';
import { eventually } from '../eventually.ts';
import { PROGRAM } from '../service-process.ts';
import { type TestSandbox, createClient, sharedCredentials } from './sandbox.ts';

export interface SandboxProcess extends Pick<TestSandbox, 'call' | 'post'> {
  readonly controlPort: string;
  /** What it printed, a JSON value a line. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  terminate(): void;
  /** The exit code; null if a signal ended it. */
  readonly ended: Promise<number | null>;
}

/** `countersign sandbox` as a process of its own, on free ports. */
export async function startSandboxProcess(...options: readonly string[]): Promise<SandboxProcess> {
  const folder = sharedCredentials();
  const fixed = ['--port', '0', '--control-port', '0', '--poll-ms', '0', '--json', '--credentials', folder];
  const child = spawn(process.execPath, [PROGRAM, 'sandbox', ...fixed, ...options], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: Record<string, unknown>[] = [];
  createInterface(child.stdout).on('line', (line) => {
    lines.push(JSON.parse(line) as Record<string, unknown>);
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  let failed: Error | undefined;
  const ended = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      failed = new Error(`the sandbox ended with exit code ${code}: ${said}`);
      resolve(code);
    });
  });
  const ready = await eventually('the sandbox is ready', () => lines[0] ?? failed);
  return {
    ...createClient(String(ready['url']), folder),
    controlPort: new URL(String(ready['control'])).port,
    lines,
    terminate: () => void child.kill('SIGTERM'),
    ended,
  };
}
