import type { Connection } from './connection.ts';
import { parseReply, texts } from './reply.ts';
import { loadScript, run } from './script.ts';

interface Connected {
  readonly connection: Connection;
}

/** Facts about a Redis for an operator. On a Cluster, each field says which primary it describes. */
export interface RedisFacts {
  /** The oldest version of all primaries. */
  readonly version: string;
  /** `noeviction` if every primary has it; otherwise the first other policy. */
  readonly maxmemoryPolicy: string;
  /** True if every primary writes an append-only file, so that decisions survive a crash. */
  readonly appendOnly: boolean;
  /** How many replicas are in sync, of the primary that has the fewest. */
  readonly replicas: number;
  /** Of the first primary, like `maxMemoryBytes`. */
  readonly usedMemoryBytes: number;
  /** 0 if `maxmemory` is not set. */
  readonly maxMemoryBytes: number;
  /** How far Redis' clock is ahead of this machine's, with an error of up to the round-trip time. */
  readonly clockAheadMs: number;
}

/** Facts of one server: the only one, or a primary of a Cluster. */
export interface ServerFacts {
  /** Identifies the server in messages. */
  readonly port: string;
  readonly version: string;
  /** `master`, or `slave` for a replica. */
  readonly role: string;
  /** How many replicas are in sync. */
  readonly replicas: number;
  readonly maxmemoryPolicy: string;
  readonly usedMemoryBytes: number;
  readonly maxMemoryBytes: number;
  readonly appendOnly: boolean;
  /** False if the last write to the append-only file failed. */
  readonly appends: boolean;
  /** False if the last rewrite of the append-only file failed. */
  readonly rewrites: boolean;
  /** False if the last snapshot failed. */
  readonly snapshots: boolean;
  /** Writes since the last snapshot. */
  readonly unsaved: number;
}

/** Rejects like any command. Also rejects with STORE_UNREACHABLE if the user has no right to INFO or TIME. */
export async function inspectRedis({ connection }: Connected): Promise<RedisFacts> {
  const clockAheadMs = await clockAhead({ connection });
  const servers = await inspectServers({ connection });
  const [first] = servers;
  const policies = servers.map(({ maxmemoryPolicy }) => maxmemoryPolicy);
  const [oldest = 'unknown'] = servers
    .map(({ version }) => version)
    .sort((a, b) => (releaseOf(a) ?? 0) - (releaseOf(b) ?? 0));
  return {
    version: oldest,
    maxmemoryPolicy: policies.find((policy) => policy !== 'noeviction') ?? policies[0] ?? 'unknown',
    appendOnly: servers.length > 0 && servers.every(({ appendOnly }) => appendOnly),
    replicas: servers.length === 0 ? 0 : Math.min(...servers.map(({ replicas }) => replicas)),
    usedMemoryBytes: first?.usedMemoryBytes ?? 0,
    maxMemoryBytes: first?.maxMemoryBytes ?? 0,
    clockAheadMs,
  };
}

export async function inspectServers({ connection }: Connected): Promise<readonly ServerFacts[]> {
  return (await connection.infos()).map((info) => factsOf(fieldsOf(info)));
}

/** How many milliseconds Redis' clock is ahead of this machine's. */
export async function clockAhead({ connection }: Connected): Promise<number> {
  const askedAtMs = Date.now();
  const [seconds = '', micros = ''] = parseReply(texts, 'the time', await connection.call('time', []));
  const clockMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  return Math.round(clockMs - (askedAtMs + Date.now()) / 2);
}

const clockScript = loadScript('clock-1');

/**
 * Runs a script that writes the store's time unchanged, and nothing else. Rejects if the server or its user
 * does not allow scripts or writes.
 */
export async function tryScript({ connection }: Connected, inForceKey: string): Promise<void> {
  await run(connection, clockScript, [inForceKey], ['', 'try', 0, '']);
}

function factsOf(fields: ReadonlyMap<string, string>): ServerFacts {
  const text = (name: string): string => fields.get(name) ?? 'unknown';
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  return {
    port: text('tcp_port'),
    version: text('redis_version'),
    role: text('role'),
    replicas: [...fields].filter(([name, value]) => /^slave\d+$/.test(name) && ONLINE.test(value)).length,
    maxmemoryPolicy: text('maxmemory_policy'),
    usedMemoryBytes: number('used_memory'),
    maxMemoryBytes: number('maxmemory'),
    appendOnly: fields.get('aof_enabled') === '1',
    appends: fields.get('aof_last_write_status') !== 'err',
    rewrites: fields.get('aof_last_bgrewrite_status') !== 'err',
    snapshots: fields.get('rdb_last_bgsave_status') !== 'err',
    unsaved: number('rdb_changes_since_last_save'),
  };
}

const ONLINE = /(?:^|,)state=online(?:,|$)/;

function fieldsOf(info: string): ReadonlyMap<string, string> {
  return new Map(
    info.split('\r\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon < 1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
    }),
  );
}

/** The oldest release that has what the scripts and the ACL users need. */
const OLDEST_RELEASE = 7;

/** `7` for `7.0.15`; undefined if the text is not a version. */
function releaseOf(version: string): number | undefined {
  const release = /^\d{1,4}(?=\.)/.exec(version)?.[0];
  return release === undefined ? undefined : Number(release);
}

/** Why this Redis must not be used, and the fix; undefined if it may be used. */
export function unsafeReason({
  version,
  maxmemoryPolicy,
}: Pick<RedisFacts, 'version' | 'maxmemoryPolicy'>): string | undefined {
  if ((releaseOf(version) ?? 0) < OLDEST_RELEASE) {
    return `Redis ${version} is too old; run ${OLDEST_RELEASE}.0 or newer`;
  }
  if (maxmemoryPolicy === 'noeviction') return undefined;
  return (
    `Redis may evict keys (maxmemory-policy is ${maxmemoryPolicy}), and with them decisions and limits; ` +
    'set `maxmemory-policy noeviction` in redis.conf'
  );
}
