import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startServiceProcess } from '../service-process.ts';
import { signedPayment, writeServiceFolder } from '../service.ts';
import { untilReady } from '../scenarios/running.ts';
import { place } from './terminal.ts';
import { PROGRAM } from '../service-process.ts';
import { runIn } from './process.ts';

interface Unread {
  readonly code: number | null;
  readonly signal: string | null;
  /** What it said on the stream that was read. */
  readonly said: string;
}

/**
 * A call whose standard output, standard error or both nobody reads: the other end is closed before it
 * begins.
 */
async function unread(
  folder: string,
  argv: readonly string[],
  { closed, input = '' }: { readonly closed: readonly ('stdout' | 'stderr')[]; readonly input?: string },
): Promise<Unread> {
  const child = spawn(process.execPath, [PROGRAM, ...argv], {
    cwd: folder,
    env: { PATH: process.env['PATH'], COUNTERSIGN_CONFIG: join(folder, 'settings.yaml') },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: 60_000,
    killSignal: 'SIGKILL',
  });
  let said = '';
  for (const name of ['stdout', 'stderr'] as const) {
    if (closed.includes(name)) child[name].destroy();
    else child[name].on('data', (chunk: Buffer) => (said += chunk.toString()));
  }
  child.stdin.on('error', () => undefined).end(input);
  const [code, signal]: [number | null, string | null] = (await once(child, 'close')) as never;
  return { code, signal, said };
}

function folderOf(options: Parameters<typeof writeServiceFolder>[0] = {}): string {
  const folder = writeServiceFolder(options);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const quietly = (code: number): Unread => ({ code, signal: null, said: '' });

const WITHOUT_WARNINGS = join(import.meta.dirname, '../../docs/examples/day-and-night');

describe('where nobody reads', () => {
  it.each([
    ['--help', 0, ['--help']],
    ['the help of a command', 0, ['decisions', 'search', '--help']],
    ['--version', 0, ['--version']],
    ['what is done', 0, ['policy', 'validate', WITHOUT_WARNINGS]],
    ['what is done, as JSON', 0, ['policy', 'validate', '--json']],
    ['a fault as JSON', 2, ['policy', 'show', 'a'.repeat(64), '--config', '/nowhere.yaml', '--json']],
    ['that there is no test', 1, ['policy', 'test']],
  ])('standard output, a command ends quietly: %s', async (_, code, argv) => {
    expect(await unread(folderOf(), argv, { closed: ['stdout'] })).toEqual(quietly(code));
  });

  it.each([
    ['a fault', 2, ['policy', 'history', '--config', '/nowhere.yaml']],
    ['an unknown command', 2, ['polcy']],
    ['an unknown option', 2, ['policy', 'show', '--al']],
  ])('standard error, a command ends quietly, with its code: %s', async (_, code, argv) => {
    expect(await unread(folderOf(), argv, { closed: ['stderr'] })).toEqual(quietly(code));
    expect(await unread(folderOf(), argv, { closed: ['stdout', 'stderr'] })).toEqual(quietly(code));
  });

  it('an answer of no is still an exit code of 1', async () => {
    const input = signedPayment({}).replace('100', '101');
    expect(await unread(folderOf(), ['signature', 'explain'], { closed: ['stdout'], input })).toEqual(
      quietly(1),
    );
  });

  it('what a command was called to do is done all the same', async () => {
    const { folder } = place();
    const argv = ['policy', 'push', '--message', 'first'];
    expect(await unread(folder, argv, { closed: ['stdout', 'stderr'] })).toEqual(quietly(0));
    const { code, out } = await runIn(folder, ['policy', 'history', '--json']);
    expect({ code, history: JSON.parse(out) }).toMatchObject({ code: 0, history: [{ message: 'first' }] });
  });
});

it('a service goes on where nobody reads its log any more', async () => {
  const folder = folderOf();
  const service = await startServiceProcess(folder);
  service.deafen();
  for (let time = 0; time < 3; time++) {
    await untilReady(service.ops);
    const { status } = await fetch(`${service.url}/nofity/transferToMerchantAuthCheck`, {
      method: 'POST',
    });
    expect(status).toBe(200);
  }
  service.terminate();
  expect(await service.ended).toBe(0);
});
