import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { groupsOf, openStore } from '../../start/store.ts';
import type { Settings } from '../../settings/schema.ts';
import { storeAddress } from '../../settings/store.ts';
import { messageOf } from '../../errors.ts';
import type { RedisStore } from '../../store/redis/open.ts';
import type { ClockState } from '../../store/clock-state.ts';
import type { Store } from '../../store/store.ts';
import { type Finding, attempt, guarded } from './finding.ts';
import { checkRedis } from './redis.ts';
import { counted } from '../print.ts';
import { RUNNING_MS } from '../services.ts';
import type { Session } from '../session.ts';

/**
 * The findings, and the open store for further checks; undefined if it can't be used or doesn't exist yet.
 */
export interface StoreChecked {
  readonly findings: readonly Finding[];
  readonly store: Store | undefined;
}

/** Checks the store without registering sources, and without creating a file. */
export async function checkStore(session: Session, settings: Settings): Promise<StoreChecked> {
  const address = storeAddress(settings.store.url);
  const file = address?.kind === 'embedded' ? checkFile(address.path) : undefined;
  if (file !== undefined) return { findings: [file], store: undefined };
  const opened = await attempt('store', () =>
    openStore(settings.store, session.secrets().read, session.clock, { groups: groupsOf(settings) }),
  );
  if (!opened.ok) return { findings: [opened.fault], store: undefined };
  const store = opened.value;
  const findings = [
    ...(isRedis(store)
      ? await checkRedis(store, settings.store)
      : await guarded('store', () => checkEmbedded(store))),
  ];
  if (findings.every(({ state }) => state !== 'fault')) {
    findings.push(...(await guarded('store', async () => clockFindings(await store.readClock()))));
    findings.push(...(await guarded('store', () => journalSizes(store, settings))));
  }
  if (findings.every(({ state }) => state !== 'fault')) {
    // A service that is not ready doesn't prevent further checks.
    return { findings: [...findings, ...(await guarded('store', () => runningServices(store)))], store };
  }
  await store.close();
  return { findings, store: undefined };
}

const isRedis = (store: Store): store is RedisStore => store.name === 'redis' && 'connection' in store;

/** Undefined if the file exists and is writable. */
function checkFile(path: string): Finding | undefined {
  const file = resolve(path);
  let folder = dirname(file);
  while (!existsSync(folder)) folder = dirname(folder);
  const exists = existsSync(file);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    if (exists) accessSync(file, constants.R_OK | constants.W_OK);
  } catch (thrown) {
    const fix = `make ${file} and its folder writable for the user that runs the service`;
    return { check: 'store', state: 'fault', because: `${messageOf(thrown)}; ${fix}` };
  }
  return exists ? undefined : ok(`${file} does not exist yet; the service creates it when it starts`);
}

/** Less free space than this is a warning. It is enough for a day of many decisions. */
const ROOM_BYTES = 256 * 1024 * 1024;

async function checkEmbedded(store: Store): Promise<readonly Finding[]> {
  await tryWrite(store);
  const { details } = await store.health();
  const { file, sqlite, freeBytes } = details;
  const found = ok(
    `${file}, SQLite ${sqlite}, with a write-ahead log; serves one machine; several machines need Redis`,
  );
  if (typeof freeBytes !== 'number' || freeBytes >= ROOM_BYTES) return [found];
  const because =
    `the disk of ${file} has ${Math.floor(freeBytes / 1024 / 1024)} MiB left; free space, or ` +
    'archive the journal (`countersign journal archive`); once it is full, every answer is ' +
    'FAILURE';
  return [found, { check: 'store', state: 'warning', because }];
}

/**
 * Writes more than an ordinary decision, and removes it again. Other programs ignore a service without a
 * name.
 */
async function tryWrite(store: Store): Promise<void> {
  const id = `doctor-${randomUUID()}`;
  try {
    await store.heartbeat({ id, name: '', sequence: 0, trouble: '', probe: true });
  } finally {
    await store.removeService(id);
  }
}

async function runningServices(store: Store): Promise<readonly Finding[]> {
  const { nowMs, services } = await store.services();
  const running = services.filter(({ atMs }) => Math.abs(nowMs - atMs) < RUNNING_MS);
  if (running.length === 0) return [ok('no running service uses the store')];
  return running.map(({ name, trouble }) =>
    trouble === ''
      ? ok(`the service ${name} uses the store`)
      : { check: 'store', state: 'fault', because: `the service ${name} is not ready: ${trouble}` },
  );
}

function clockFindings({ state, because }: ClockState): readonly Finding[] {
  if (state === 'right') return [];
  return [{ check: 'store', state: state === 'jumped' ? 'fault' : 'warning', because }];
}

const ok = (because: string): Finding => ({ check: 'store', state: 'ok', because });

async function journalSizes(store: Store, { sources }: Settings): Promise<readonly Finding[]> {
  const sizes: string[] = [];
  for (const { name } of sources) {
    sizes.push(`${name} ${counted(await store.journalSize(name), 'entry', 'entries')}`);
  }
  return [ok(`journal: ${sizes.join(', ')}`)];
}
