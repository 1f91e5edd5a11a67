import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { POLICIES } from '../service.ts';
import { folderOf, serviceProcess, storeOf } from './running.ts';

const LOAD = fileURLToPath(new URL('./load-child.ts', import.meta.url));
const STORE_LOAD = fileURLToPath(new URL('../store/embedded-saturating.ts', import.meta.url));

const policies = (max: number): string => POLICIES['payments.yaml'].replace('max: 1000 ', `max: ${max} `);

function spawned(...argv: readonly string[]): void {
  const child = spawn(process.execPath, [...argv], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
}

/** Waits until others have decided so many callbacks more. */
async function decidedMore(folder: string, more: number): Promise<void> {
  const store = await storeOf(folder);
  const before = await store.journalSize('shop');
  await eventually('the others decide', async () =>
    (await store.journalSize('shop')) >= before + more ? true : undefined,
  );
}

async function changesAgainAndAgain(folder: string, rounds: number): Promise<readonly string[]> {
  const { run, write } = placeIn(folder);
  const failed: string[] = [];
  const changed = async (...argv: readonly string[]): Promise<void> => {
    const { code, err } = await run(...argv);
    if (code !== 0) failed.push(`${argv.join(' ')}: ${code} ${err}`);
  };
  for (let round = 0; round < rounds; round++) {
    write('policies/payments.yaml', policies(2000 + round));
    await changed('policy', 'push', '--message', `round ${round}`);
    await changed('freeze', `round ${round}`);
    await changed('unfreeze');
  }
  return failed;
}

describe('beside heavy load on the embedded store', { timeout: 240_000 }, () => {
  it('every push and every freeze comes about, while a service decides', async () => {
    const folder = folderOf({ settings: { answerTimeoutMs: 10_000 } });
    const service = await serviceProcess(folder);
    spawned(LOAD, service.url, '64');
    await decidedMore(folder, 200);
    expect(await changesAgainAndAgain(folder, 15)).toEqual([]);
    await decidedMore(folder, 200);
  });

  it('and while several processes write without a pause', async () => {
    const folder = folderOf({});
    await serviceProcess(folder);
    for (let count = 0; count < 3; count++) spawned(STORE_LOAD, join(folder, 'store.db'));
    await decidedMore(folder, 200);
    expect(await changesAgainAndAgain(folder, 6)).toEqual([]);
    await decidedMore(folder, 200);
  });
});
