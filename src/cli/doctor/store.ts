import { randomUUID } from 'node:crypto';
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { messageOf } from '../../errors.ts';
import type { Settings, StoreSettings } from '../../settings/schema.ts';
import { storeAddress } from '../../settings/store.ts';
import { groupsOf, openStore } from '../../start/store.ts';
import type { Connection } from '../../store/redis/connection.ts';
import { type ServerFacts, clockAhead, inspectServers, tryScript } from '../../store/redis/inspect.ts';
import { createKeys } from '../../store/redis/keys.ts';
import type { RedisStore } from '../../store/redis/open.ts';
import type { Store } from '../../store/store.ts';
import { counted } from '../print.ts';
import { RUNNING_MS } from '../services.ts';
import {
  type Examined,
  type Found,
  type Problem,
  attempt,
  fault,
  guarded,
  hasFault,
  ok,
  problemsOf,
  warning,
} from './finding.ts';

/**
 * Checks the store without registering sources, and without creating a file. Keeps it open for further checks
 * if they can use it.
 */
export async function checkStore(examined: Examined): Promise<readonly Found[]> {
  const { session, settings } = examined;
  const address = storeAddress(settings.store.url);
  const file = address?.kind === 'embedded' ? checkFile(address.path) : undefined;
  if (file !== undefined) return [file];
  const store = await openStore(settings.store, session.secrets().read, session.clock, {
    groups: groupsOf(settings),
  });
  const found = isRedis(store)
    ? [...(await checkRedis(store, settings.store))]
    : [...(await guarded(() => checkEmbedded(store)))];
  if (!hasFault(found)) {
    found.push(...(await guarded(() => checkClock(store))));
    found.push(...(await guarded(() => journalSizes(store, settings))));
  }
  if (hasFault(found)) {
    await store.close();
    return found;
  }
  examined.store = store;
  // A service that is not ready doesn't prevent further checks.
  return [...found, ...(await guarded(() => runningServices(store)))];
}

const isRedis = (store: Store): store is RedisStore => store.name === 'redis' && 'connection' in store;

/** Undefined if the file exists and is writable. */
function checkFile(path: string): Found | undefined {
  const file = resolve(path);
  let folder = dirname(file);
  while (!existsSync(folder)) folder = dirname(folder);
  const exists = existsSync(file);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    if (exists) accessSync(file, constants.R_OK | constants.W_OK);
  } catch (thrown) {
    const cure = `make ${file} and its folder writable for the user that runs the service`;
    return fault(messageOf(thrown), cure);
  }
  return exists ? undefined : ok(`${file} does not exist yet; the service creates it when it starts`);
}

/** Less free space than this is a warning. It is enough for a day of many decisions. */
const ROOM_BYTES = 256 * 1024 * 1024;

async function checkEmbedded(store: Store): Promise<readonly Found[]> {
  await tryWrite(store);
  const { details } = await store.health();
  const { file, sqlite, freeBytes } = details;
  const found = ok(
    `${file}, SQLite ${sqlite}, with a write-ahead log; serves one machine; several machines need Redis`,
  );
  if (typeof freeBytes !== 'number' || freeBytes >= ROOM_BYTES) return [found];
  const room = `the disk of ${file} has ${Math.floor(freeBytes / 1024 / 1024)} MiB left`;
  const cure =
    'free space, or archive the journal (`countersign journal archive`); once it is full, every answer is ' +
    'FAILURE';
  return [found, warning(room, cure)];
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

async function runningServices(store: Store): Promise<readonly Found[]> {
  const { nowMs, services } = await store.services();
  const running = services.filter(({ atMs }) => Math.abs(nowMs - atMs) < RUNNING_MS);
  if (running.length === 0) return [ok('no running service uses the store')];
  return running.map(({ name, trouble }) =>
    trouble === ''
      ? ok(`the service ${name} uses the store`)
      : fault(`the service ${name} is not ready: ${trouble}`),
  );
}

async function checkClock(store: Store): Promise<readonly Found[]> {
  const { state, because } = await store.readClock();
  if (state === 'right') return [];
  return [state === 'jumped' ? fault(because) : warning(because)];
}

async function journalSizes(store: Store, { sources }: Settings): Promise<readonly Found[]> {
  const sizes: string[] = [];
  for (const { name } of sources) {
    sizes.push(`${name} ${counted(await store.journalSize(name), 'entry', 'entries')}`);
  }
  return [ok(`journal: ${sizes.join(', ')}`)];
}

// ---- Redis ----

const CLOCK_OFF_MS = 1000;
const FULL = 0.8;

/**
 * Checks each primary of a Redis. A missing permission is a fault with its fix. Needs no permission that the
 * service doesn't need, such as CONFIG.
 */
export async function checkRedis(
  store: { readonly connection: Connection } & Pick<Store, 'checkSafety'>,
  { prefix, durability }: Pick<StoreSettings, 'prefix' | 'durability'>,
): Promise<readonly Found[]> {
  const { connection } = store;
  const keys = createKeys(prefix);
  const servers = await attempt(() => inspectServers({ connection, keys }));
  if (!servers.ok) return [withoutInfo(servers.fault)];
  const clock = await attempt(() => clockAhead({ connection }));
  const found = servers.value.flatMap((facts) => {
    const name = connection.isCluster ? `the primary on port ${facts.port}` : 'Redis';
    const server = { ...facts, name, wanted: durability.replicas };
    return serverFindings(server, clock.ok ? clock.value : undefined);
  });
  found.push(...(clock.ok ? clockFindings(clock.value) : [clock.fault]));
  // A replica refuses scripts that write, and is already reported as a fault.
  if (servers.value.every(({ role }) => role === 'master')) {
    found.push(...(await guarded(() => tryScript({ connection }, keys.inForce).then(() => []))));
  }
  // The service makes the same check: the version, the eviction policy, and what Redis loads at a restart.
  found.push(...(await guarded(() => store.checkSafety().then(() => []))));
  const distinct = new Map(found.map((each) => [each.because, each]));
  return [...distinct.values()];
}

function withoutInfo(found: Found): Found {
  if (!found.because.includes('NOPERM')) return found;
  return fault(
    found.because,
    "without INFO the service can't see whether Redis evicts keys, and approves nothing",
  );
}

function clockFindings(aheadMs: number): readonly Found[] {
  if (Math.abs(aheadMs) <= CLOCK_OFF_MS) return [];
  const because = `the clocks of Redis and of this machine differ by ${Math.abs(aheadMs)} ms`;
  return [warning(because, 'limits use the clock of Redis; run NTP on both machines')];
}

/** A primary, what it is called, and how many replicas the settings want. */
interface Server extends ServerFacts {
  readonly name: string;
  readonly wanted: number;
}

function serverFindings(server: Server, aheadMs: number | undefined): readonly Found[] {
  if (server.role === 'master') return [summary(server, aheadMs), ...problemsOf(SERVER_PROBLEMS, server)];
  return [
    fault(
      `${server.name} on port ${server.port} is a replica and accepts no writes`,
      'name the primary, or the Sentinels, in the setting `store`',
    ),
  ];
}

function summary(server: Server, aheadMs: number | undefined): Found {
  const { name, version, maxmemoryPolicy, appendOnly, usedMemoryBytes, maxMemoryBytes, replicas } = server;
  const memory = maxMemoryBytes === 0 ? 'unbounded memory' : mebibytes(maxMemoryBytes);
  const clock = aheadMs === undefined ? '' : `, clock ${offText(aheadMs)} this machine's`;
  const called = name === 'Redis' ? `Redis ${version}` : `${name}: Redis ${version}`;
  return ok(
    `${called}, maxmemory-policy ${maxmemoryPolicy}, append-only file ` +
      `${appendOnly ? 'yes' : 'no'}, ${mebibytes(usedMemoryBytes)} of ${memory} used` +
      `${clock}, ${counted(replicas, 'replica')}`,
  );
}

const SERVER_PROBLEMS: readonly Problem<Server>[] = [
  {
    state: 'warning',
    if: ({ appendOnly }) => !appendOnly,
    because: ({ name, unsaved }) => {
      const changes = counted(unsaved, 'change');
      const lost = unsaved === 0 ? '' : `; ${changes} since the last snapshot would be lost now`;
      return `${name} runs without an append-only file, so a crash can lose decisions${lost}`;
    },
    cure: 'set `appendonly yes` in redis.conf',
  },
  {
    state: 'warning',
    if: ({ loadDenied }) => loadDenied === undefined,
    because: ({ name }) =>
      `${name} doesn't let this user run \`ACL DRYRUN\`, so nobody checks whether it can load its append-only ` +
      'file at a restart',
    cure:
      'grant `+acl|dryrun` to this user, or make sure that the user default has all rights (docs/redis.md, ' +
      'Users)',
  },
  {
    state: 'fault',
    if: ({ appends }) => !appends,
    because: ({ name }) => `${name} can't write its append-only file and rejects writes`,
    cure: 'repair its disk, or make room on it',
  },
  {
    state: 'warning',
    if: ({ rewrites }) => !rewrites,
    because: ({ name }) => `${name} can't rewrite its append-only file, which grows until the disk is full`,
    cure: 'see its log for the cause, fix it, then run `BGREWRITEAOF`',
  },
  {
    state: 'fault',
    if: ({ snapshots }) => !snapshots,
    because: ({ name }) =>
      `${name} could not save its last snapshot and may reject writes (stop-writes-on-bgsave-error)`,
    cure: 'repair its disk or make room on it, then run `BGSAVE`',
  },
  {
    state: 'warning',
    if: ({ maxMemoryBytes }) => maxMemoryBytes === 0,
    because: ({ name }) =>
      `${name} has no \`maxmemory\`, so the kernel may kill it when the machine runs out of memory`,
    cure: 'set `maxmemory` below the memory of the machine in redis.conf (docs/sizing.md)',
  },
  {
    state: 'warning',
    if: ({ maxMemoryBytes, usedMemoryBytes }) =>
      maxMemoryBytes > 0 && usedMemoryBytes / maxMemoryBytes > FULL,
    because: ({ name }) => `the memory of ${name} is nearly full; when it is full, every answer is FAILURE`,
    cure:
      'raise `maxmemory`, shorten store.retention, or move old entries to files with `countersign journal ' +
      'archive`',
  },
  {
    state: 'fault',
    if: ({ replicas, wanted }) => replicas < wanted,
    because: ({ name, replicas, wanted }) =>
      `${name} has ${counted(replicas, 'connected replica')}, but store.durability.replicas requires ` +
      `${wanted}, so every approval becomes FAILURE`,
    cure: 'start replicas, or lower the setting',
  },
  {
    state: 'warning',
    if: ({ replicas, wanted }) => replicas > 0 && wanted === 0,
    because: ({ name, replicas }) =>
      `${name} has ${counted(replicas, 'replica')} but approvals wait for none, so a failover can lose the ` +
      'last approvals',
    cure: 'set store.durability.replicas',
  },
];

const offText = (aheadMs: number): string => `${Math.abs(aheadMs)} ms ${aheadMs < 0 ? 'behind' : 'ahead of'}`;

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1_048_576)} MiB`;
