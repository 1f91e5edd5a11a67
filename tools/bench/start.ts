import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { EMBEDDED_MANY, type Program, TWENTY_RULES } from './programs.ts';
import type { Stage } from './stage.ts';

/** From the start of a process to the first `/readyz` that says so, in milliseconds. */
export interface StartTimes {
  readonly store: 'embedded' | 'Redis';
  /** The first start of all, when nothing of the program has been compiled. */
  readonly firstMs: number;
  /** The median of those after it. */
  readonly medianMs: number;
}

const STARTS = 7;
const POLL_MS = 2;
const PROGRAM = fileURLToPath(new URL('../../bin/countersign.js', import.meta.url));

/**
 * Starts the service as `npm start` does, time after time on one store, with a hundred policies to put in
 * force at first.
 */
export async function startTimes(stage: Stage): Promise<readonly StartTimes[]> {
  return [await timesOf('embedded', stage, EMBEDDED_MANY), await timesOf('Redis', stage, TWENTY_RULES)];
}

async function timesOf(store: StartTimes['store'], stage: Stage, program: Program): Promise<StartTimes> {
  const [parts] = await stage.set(program);
  if (parts?.program !== 'countersign') throw new Error('there is nothing to start');
  const compiled = mkdtempSync(join(tmpdir(), 'countersign-compiled-'));
  try {
    const firstMs = await oneStart(parts.settings, compiled);
    const others: number[] = [];
    for (let start = 1; start < STARTS; start++) others.push(await oneStart(parts.settings, compiled));
    others.sort((a, b) => a - b);
    return { store, firstMs, medianMs: others[Math.floor(others.length / 2)] ?? Number.NaN };
  } finally {
    rmSync(compiled, { recursive: true, force: true });
  }
}

async function oneStart(settings: string, compiled: string): Promise<number> {
  const startedMs = performance.now();
  const child = spawn(
    process.execPath,
    ['--max-semi-space-size=64', PROGRAM, 'serve', '--config', settings],
    { env: { ...process.env, NODE_COMPILE_CACHE: compiled }, stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const ended = once(child, 'close');
  try {
    const ready = new URL('/readyz', await opsOf(child.stdout));
    while (!(await fetch(ready)).ok) await pause(POLL_MS);
    return performance.now() - startedMs;
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

async function opsOf(log: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(log)) {
    const ops = /callbacks at \S+, ops at ([^\s"]+)/.exec(line)?.[1];
    if (ops !== undefined) {
      log.resume();
      return ops;
    }
  }
  throw new Error('the service ended before it served');
}
