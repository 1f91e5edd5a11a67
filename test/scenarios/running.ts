import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { onTestFinished } from 'vitest';
import { openStore } from '../../src/start/store.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { createSecrets } from '../../src/settings/secrets.ts';
import type { Store } from '../../src/store/store.ts';
import { systemClock } from '../../src/values/clock.ts';
import { eventually } from '../eventually.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { type ServiceProcess, startServiceProcess } from '../service-process.ts';
import {
  type TestService,
  type TestServiceOptions,
  startTestService,
  writeServiceFolder,
} from '../service.ts';

/*
 * What a scenario runs, gone when its test is over.
 */

/** A Redis that has every answered write on disk. */
export async function durableRedis(args: readonly string[] = []): Promise<RedisServerProcess> {
  const redis = await startRedisServer({ durable: true, args });
  onTestFinished(() => redis.stop());
  return redis;
}

export async function serviceHere(options: TestServiceOptions): Promise<TestService> {
  const service = await startTestService(options);
  onTestFinished(() => service.stop());
  return service;
}

export function folderOf(options: TestServiceOptions): string {
  const folder = writeServiceFolder(options);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function serviceProcess(folder: string): Promise<ServiceProcess> {
  const service = await startServiceProcess(folder);
  onTestFinished(() => service.kill());
  return service;
}

/** A handle on the store of a service folder, as the command line would have. */
export async function storeOf(folder: string): Promise<Store> {
  const { store: settings } = loadSettings({ file: join(folder, 'settings.yaml'), env: {} });
  const store = await openStore(settings, createSecrets({ env: {} }).read, systemClock);
  onTestFinished(() => store.close());
  return store;
}

/** What `/readyz` says: its status, and why for each check that does not hold. */
export async function readinessAt(ops: string): Promise<{ status: number; because: string }> {
  const response = await fetch(`${ops}/readyz`);
  const { checks } = (await response.json()) as {
    readonly checks: readonly { readonly name: string; readonly ok: boolean; readonly because: string }[];
  };
  const failed = checks.filter(({ ok }) => !ok);
  return {
    status: response.status,
    because: failed.map(({ name, because }) => `${name}: ${because}`).join('\n'),
  };
}

export async function untilReady(ops: string): Promise<void> {
  let last = '';
  await eventually('/readyz says 200', async () => {
    const { status, because } = await readinessAt(ops);
    last = because;
    return status === 200 ? true : undefined;
  }).catch((thrown: unknown) => {
    throw new Error(`${String(thrown)}; it says ${last}`);
  });
}

/** The database in a data folder, behind the back of its service. */
export function behind(folder: string): DatabaseSync {
  const database = new DatabaseSync(join(folder, 'store.db'), { timeout: 5000 });
  onTestFinished(() => database.close());
  return database;
}
