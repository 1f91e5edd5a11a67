import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { systemClock } from '../values/clock.ts';
import type { ExitCode } from './command.ts';
import { runProgram } from './program.ts';

/** The command line as this process was called. */
export function runMain(): Promise<ExitCode> {
  return runProgram(process.argv.slice(2), {
    out: (written) => process.stdout.write(written),
    err: (written) => process.stderr.write(written),
    drained,
    ...(process.stderr.isTTY ? { progress: overwrite } : {}),
    input: () => text(process.stdin),
    env: process.env,
    clock: systemClock,
    user: userInfo().username,
    version: versionOf(new URL('../../package.json', import.meta.url)),
    stopped: () =>
      new Promise((resolve) => {
        for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve);
      }),
  });
}

function overwrite(line: string): void {
  process.stderr.write(`\r\u001b[K${line}`);
}

async function drained(): Promise<void> {
  const { stdout } = process;
  if (!stdout.listeners('error').includes(leaveQuietly)) stdout.on('error', leaveQuietly);
  if (stdout.writableNeedDrain) await once(stdout, 'drain');
}

/** Whoever reads has seen enough, as in `countersign decisions export | head`. */
function leaveQuietly(thrown: Error): void {
  if ('code' in thrown && thrown.code === 'EPIPE') process.exit(0);
  throw thrown;
}

function versionOf(file: URL): string {
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8'))).version;
}
