import type { Command, Connection, ServerReplies } from './connection.ts';
import type { Keys } from './keys.ts';
import { parseReply, texts } from './reply.ts';
import { loadScript, run } from './script.ts';

interface Connected {
  readonly connection: Connection;
}

interface Inspected extends Connected {
  readonly keys: Keys;
}

/** Facts about a Redis for an operator. On a Cluster, each field says which primary it describes. */
export interface RedisFacts {
  /** The oldest version of all primaries. */
  readonly version: string;
  /** `noeviction` if every primary has it; otherwise the first other policy. */
  readonly maxmemoryPolicy: string;
  /** True if every primary writes an append-only file, so that decisions survive a crash. */
  readonly appendOnly: boolean;
  /** See ServerFacts; undefined if no primary denies anything and one can't be asked. */
  readonly loadDenied: string | undefined;
  /** See ServerFacts; of the primary that has dropped the most. */
  readonly dropped: number;
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
  /**
   * What a restart would lose, in Redis' words: Redis loads its append-only file as the user `default`, and
   * drops what this user may not do. '' if that is nothing; undefined if the user may not ask Redis.
   */
  readonly loadDenied: string | undefined;
  /** How many transactions Redis dropped while it loaded its append-only file or followed a primary. */
  readonly dropped: number;
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
export async function inspectRedis({ connection, keys }: Inspected): Promise<RedisFacts> {
  const clockAheadMs = await clockAhead({ connection });
  const servers = await inspectServers({ connection, keys });
  const [first] = servers;
  const policies = servers.map(({ maxmemoryPolicy }) => maxmemoryPolicy);
  const denied = servers.map(({ loadDenied }) => loadDenied);
  const [oldest = 'unknown'] = servers
    .map(({ version }) => version)
    .sort((a, b) => (releaseOf(a) ?? 0) - (releaseOf(b) ?? 0));
  return {
    version: oldest,
    maxmemoryPolicy: policies.find((policy) => policy !== 'noeviction') ?? policies[0] ?? 'unknown',
    appendOnly: servers.length > 0 && servers.every(({ appendOnly }) => appendOnly),
    loadDenied: denied.find((words) => words) ?? (denied.includes(undefined) ? undefined : ''),
    dropped: Math.max(0, ...servers.map(({ dropped }) => dropped)),
    replicas: servers.length === 0 ? 0 : Math.min(...servers.map(({ replicas }) => replicas)),
    usedMemoryBytes: first?.usedMemoryBytes ?? 0,
    maxMemoryBytes: first?.maxMemoryBytes ?? 0,
    clockAheadMs,
  };
}

export async function inspectServers({ connection, keys }: Inspected): Promise<readonly ServerFacts[]> {
  const servers = await connection.inspect(loadedCommands(keys).map((command) => [...DRY_RUN, ...command]));
  return servers.map((server) => factsOf(fieldsOf(server.info), server));
}

const DRY_RUN = ['acl', 'dryrun', 'default'] as const;

/**
 * The commands that the append-only file has: those of the scripts that write, as Redis records their
 * effects. The effects of a script are one transaction, and Redis checks the rights of `default` to each of
 * its commands.
 */
export function loadedCommands(keys: Keys): readonly Command[] {
  const { inForce: key } = keys;
  return [
    ['select', 0],
    ['del', ...sampleKeys(keys)],
    ['unlink', key],
    ['set', key, 'x', 'PXAT', 1],
    ['pexpireat', key, 1],
    ['hset', key, 'x', 'x'],
    ['hsetnx', key, 'x', 'x'],
    ['hdel', key, 'x'],
    ['sadd', key, 'x'],
    ['lpush', key, 'x'],
    ['xadd', key, '1-1', 'x', 'x'],
    ['xdel', key, '1-1'],
    ['xtrim', key, 'MAXLEN', 0],
    ['zadd', key, 1, 'x'],
    ['zrem', key, 'x'],
    ['zremrangebyrank', key, 0, 0],
    ['zremrangebyscore', key, 0, 0],
  ];
}

/** A key of each kind. */
function sampleKeys({ of, access, sharedRequest, changed: _channel, ...ofAll }: Keys): readonly string[] {
  const { subject, counter, distinct, list, mark, order, refusals, request, ...ofSource } = of('x');
  const kinds = [access, sharedRequest, subject, counter, distinct, list, mark, order, refusals, request];
  const named = kinds.map((name) => name('x'));
  return [...Object.values(ofAll), ...Object.values(ofSource), ...named];
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

function factsOf(fields: ReadonlyMap<string, string>, { replies }: ServerReplies): ServerFacts {
  const text = (name: string): string => fields.get(name) ?? 'unknown';
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const appendOnly = fields.get('aof_enabled') === '1';
  return {
    port: text('tcp_port'),
    version: text('redis_version'),
    role: text('role'),
    replicas: [...fields].filter(([name, value]) => /^slave\d+$/.test(name) && ONLINE.test(value)).length,
    maxmemoryPolicy: text('maxmemory_policy'),
    usedMemoryBytes: number('used_memory'),
    maxMemoryBytes: number('maxmemory'),
    appendOnly,
    // A snapshot is loaded without a user. So is a file of another form, which a managed Redis may have.
    loadDenied: appendOnly ? deniedIn(replies) : '',
    dropped: appendOnly ? number('unexpected_error_replies') : 0,
    appends: fields.get('aof_last_write_status') !== 'err',
    rewrites: fields.get('aof_last_bgrewrite_status') !== 'err',
    snapshots: fields.get('rdb_last_bgsave_status') !== 'err',
    unsaved: number('rdb_changes_since_last_save'),
  };
}

/** What the dry runs say that is not OK. */
function deniedIn(replies: readonly unknown[]): string | undefined {
  const said = texts.safeParse(replies);
  return said.success ? (said.data.find((reply) => reply !== 'OK') ?? '') : undefined;
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
  loadDenied = '',
  dropped,
}: Pick<RedisFacts, 'version' | 'maxmemoryPolicy' | 'loadDenied' | 'dropped'>): string | undefined {
  if ((releaseOf(version) ?? 0) < OLDEST_RELEASE) {
    return `Redis ${version} is too old; run ${OLDEST_RELEASE}.0 or newer`;
  }
  if (maxmemoryPolicy !== 'noeviction') {
    return (
      `Redis may evict keys (maxmemory-policy is ${maxmemoryPolicy}), and with them decisions and limits; ` +
      'set `maxmemory-policy noeviction` in redis.conf'
    );
  }
  if (dropped > 0) {
    return (
      `Redis dropped ${dropped} transaction${dropped === 1 ? '' : 's'} when it loaded its append-only file or ` +
      'followed its primary (unexpected_error_replies in INFO), so decisions are missing; do what ' +
      'docs/runbook.md says under "Redis dropped transactions"'
    );
  }
  if (loadDenied === '') return undefined;
  return (
    'Redis would lose decisions at its next restart: it loads its append-only file as the user default, and ' +
    `${loadDenied.replace(/^This user/, 'this user')}; before Redis restarts, run ` +
    '`ACL SETUSER default reset off ~* &* +@all` and `ACL SAVE`, as docs/redis.md says under Users'
  );
}
