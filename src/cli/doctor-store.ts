import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { openStore } from '../compose/store.ts';
import type { Settings } from '../settings/schema.ts';
import { storeAddress } from '../settings/store-address.ts';
import { messageOf } from '../errors.ts';
import type { Store, StoreHealth } from '../store/store.ts';
import { type Finding, attempt, guarded } from './finding.ts';
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
  const findings = await guarded('store', async () => {
    const health = await store.health();
    const facts = store.name === 'redis' ? redisFindings(health) : [embeddedFinding(health)];
    const unsafe = await guarded('store', () => examine().then(() => []));
    return [...facts, ...unsafe, ...(await journalSizes(store, settings))];
  });
  if (findings.every(({ state }) => state !== 'fault')) return { findings, store };
  await store.close();
  return { findings, store: undefined };
}

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

const ok = (because: string): Finding => ({ check: 'store', state: 'ok', because });

const OLDEST_REDIS = 7;
const CLOCK_OFF_MS = 1000;
const FULL = 0.8;

/** What is odd about a Redis. Whether it may evict keys, `examine` says. */
function redisFindings({ details }: StoreHealth): readonly Finding[] {
  const { version, maxmemoryPolicy, appendOnly } = details;
  const usedBytes = Number(details['usedMemoryBytes']);
  const mostBytes = Number(details['maxMemoryBytes']);
  const aheadMs = Number(details['clockAheadMs']);
  const findings: Finding[] = [
    ok(
      `Redis ${version}, maxmemory-policy ${maxmemoryPolicy}, append-only file ${appendOnly}, ${mebibytes(usedBytes)} of ${mostBytes === 0 ? 'unbounded memory' : mebibytes(mostBytes)} used, clock ${aheadMs} ms ahead of this machine's`,
    ),
  ];
  const add = (state: Finding['state'], because: string): void =>
    void findings.push({ check: 'store', state, because });
  if (!(Number.parseInt(String(version), 10) >= OLDEST_REDIS)) {
    add('fault', `Redis ${version} is too old; run ${OLDEST_REDIS}.0 or newer`);
  }
  if (appendOnly !== 'yes') {
    add(
      'warning',
      'Redis keeps no append-only file, so a crash can undo decisions; set `appendonly yes` in redis.conf',
    );
  }
  if (mostBytes > 0 && usedBytes / mostBytes > FULL) {
    add(
      'warning',
      'the memory of Redis is nearly full; when it is, every answer is FAILURE: raise `maxmemory`, or shorten store.retention',
    );
  }
  if (!(Math.abs(aheadMs) <= CLOCK_OFF_MS)) {
    add('warning', "the clocks of Redis and of this machine differ; Redis' own counts: run NTP on both");
  }
  return findings;
}

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MiB`;

async function journalSizes(store: Store, { sources }: Settings): Promise<readonly Finding[]> {
  const sizes: string[] = [];
  for (const { name } of sources) {
    sizes.push(`${name} ${counted(await store.journalSize(name), 'entry', 'entries')}`);
  }
  return [ok(`journal: ${sizes.join(', ')}`)];
}
