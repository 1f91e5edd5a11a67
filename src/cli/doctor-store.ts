import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { openStore } from '../compose/store.ts';
import type { Settings } from '../settings/schema.ts';
import { storeAddress } from '../settings/store-address.ts';
import { messageOf } from '../errors.ts';
import type { RedisStore } from '../store/redis/open.ts';
import type { ClockState } from '../store/clock-state.ts';
import type { Store, StoreHealth } from '../store/store.ts';
import { type Finding, attempt, guarded } from './finding.ts';
import { checkRedis } from './doctor-redis.ts';
import { counted } from './print.ts';
import type { Session } from './session.ts';

/** What the store came to; and the store itself, for whoever looks further, unless it can't be used or isn't there yet. */
export interface StoreChecked {
  readonly findings: readonly Finding[];
  readonly store: Store | undefined;
}

/** Looks without registering sources, and without making a file that is not there. */
export async function checkStore(session: Session, settings: Settings): Promise<StoreChecked> {
  const address = storeAddress(settings.store.url);
  const file = address?.kind === 'embedded' ? checkFile(address.path) : undefined;
  if (file !== undefined) return { findings: [file], store: undefined };
  const opened = await attempt('store', () =>
    openStore(settings.store, session.secrets().read, session.clock),
  );
  if (!opened.ok) return { findings: [opened.fault], store: undefined };
  const { store, examine } = opened.value;
  const findings = [
    ...(isRedis(store)
      ? await checkRedis(store, settings.store, examine)
      : await guarded('store', async () => [embeddedFinding(await store.health())])),
  ];
  if (findings.every(({ state }) => state !== 'fault')) {
    findings.push(...(await guarded('store', async () => clockFindings(await store.lookAtClock()))));
    findings.push(...(await guarded('store', () => journalSizes(store, settings))));
  }
  if (findings.every(({ state }) => state !== 'fault')) return { findings, store };
  await store.close();
  return { findings, store: undefined };
}

const isRedis = (store: Store): store is RedisStore => store.name === 'redis' && 'connection' in store;

/** Undefined where the file is there and can be written to. */
function checkFile(path: string): Finding | undefined {
  const file = resolve(path);
  let folder = dirname(file);
  while (!existsSync(folder)) folder = dirname(folder);
  const there = existsSync(file);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    if (there) accessSync(file, constants.R_OK | constants.W_OK);
  } catch (thrown) {
    const because = `${messageOf(thrown)}; make ${file} and its folder writable for the user that runs the service`;
    return { check: 'store', state: 'fault', because };
  }
  return there ? undefined : ok(`${file} is not there yet; the service makes it at its start`);
}

function embeddedFinding({ details }: StoreHealth): Finding {
  return ok(
    `${details['file']}, SQLite ${details['sqlite']}, with a write-ahead log; for one machine: several need Redis`,
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
