import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAM } from '../service-process.ts';
import { type TestServiceOptions, writeServiceFolder } from '../service.ts';

/** How a call of the program ended by itself, as a process; `code` is null where it did not. */
export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/**
 * A process that is there for so long never ends: all time-outs of the settings used here come to a fraction
 * of it.
 */
const NEVER_MS = 60_000;

/** Runs one call of the program as a process of its own, with settings of its own. */
export async function runProcess(
  argv: readonly string[],
  options: TestServiceOptions & { readonly input?: string } = {},
): Promise<Ended> {
  const folder = writeServiceFolder(options);
  try {
    return await runIn(folder, argv, options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same, in a folder that `writeServiceFolder` has written. */
export async function runIn(
  folder: string,
  argv: readonly string[],
  { env = {}, input = '' }: { readonly env?: TestServiceOptions['env']; readonly input?: string } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [PROGRAM, ...argv, '--config', join(folder, 'settings.yaml')], {
    cwd: folder,
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: NEVER_MS,
    killSignal: 'SIGKILL',
  });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said.err += text));
  child.stdin.on('error', () => undefined).end(input);
  const [code]: (number | null)[] = await once(child, 'close');
  return { code: code ?? null, ...said };
}
