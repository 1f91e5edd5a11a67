import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { Lockout, Store } from '../../src/store/store.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { readied, temporaryPath } from './embedded-folder.ts';
import { countedOf, keyOf } from './requests.ts';

const CHILD = fileURLToPath(new URL('./counting-child.ts', import.meta.url));
const [PROCESSES, EACH, MAX, AFTER] = [3, 80, 11, 25] as const;

interface Said {
  readonly value: string;
  readonly isRefused: boolean;
  readonly verdict: string;
  readonly results: readonly { readonly holds: boolean; readonly lockedAtMs?: number }[];
}

async function settleIn(address: string, name: string): Promise<readonly Said[]> {
  const argv = [CHILD, address, name, EACH, MAX, AFTER].map(String);
  const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const said: Said[] = [];
  for await (const line of createInterface(child.stdout)) said.push(JSON.parse(line) as Said);
  return said;
}

describe.each(['embedded', 'redis'] as const)('several processes on one %s store', (kind) => {
  let redis: RedisServerProcess | undefined;
  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedisServer() : undefined;
  });
  afterAll(() => redis?.stop());

  async function opened(): Promise<{ readonly store: Store; readonly address: string }> {
    const address = redis?.url ?? temporaryPath();
    const store = await readied(
      await (redis === undefined ? openEmbeddedStore({ path: address }) : openRedisStore({ url: address })),
    );
    onTestFinished(() => store.close());
    return { store, address };
  }

  it('together approve no more different values than the maximum, and lock out once', async () => {
    const { store, address } = await opened();
    const names = Array.from({ length: PROCESSES }, (_, index) => `p${index}`);
    const said = (await Promise.all(names.map((name) => settleIn(address, name)))).flat();
    expect(said).toHaveLength(PROCESSES * EACH);

    const approved = said.filter(({ isRefused, verdict }) => !isRefused && verdict === 'SUCCESS');
    const values = new Set(approved.map(({ value }) => value));
    expect(values.size).toBe(MAX);
    expect(await countedOf(store)).toBe(MAX);

    const refused = said.filter(({ isRefused }) => isRefused).flatMap(({ results }) => results);
    const counted = refused.filter(({ holds }) => holds);
    expect(counted).toHaveLength(AFTER);
    expect(counted.filter(({ lockedAtMs = 0 }) => lockedAtMs > 0)).toHaveLength(1);
    const lockouts: Lockout[] = [];
    for await (const lockout of store.lockouts('shop')) lockouts.push(lockout);
    expect(lockouts).toMatchObject([{ id: keyOf('refusals'), refusals: AFTER }]);
  });
});
