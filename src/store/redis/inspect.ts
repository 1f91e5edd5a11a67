import type { Connection } from './connection.ts';
import { expectReply, texts } from './reply.ts';

/** What an operator must know about a Redis, of the first primary of a Cluster unless another one is worse. */
export interface RedisFacts {
  readonly version: string;
  /** `noeviction`, unless some primary has another one. */
  readonly maxmemoryPolicy: string;
  /** True if every primary writes an append-only file, so that a decision outlives a crash. */
  readonly appendOnly: boolean;
  readonly usedMemoryBytes: number;
  /** 0: no bound is set. */
  readonly maxMemoryBytes: number;
  /** How far Redis' clock is ahead of this machine's; the way to Redis and back makes it uncertain. */
  readonly clockAheadMs: number;
}

export async function inspectRedis({ connection }: { readonly connection: Connection }): Promise<RedisFacts> {
  const askedAtMs = Date.now();
  const [seconds = '', micros = ''] = expectReply(texts, 'the time', await connection.call('time', []));
  const clockMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  const clockAheadMs = Math.round(clockMs - (askedAtMs + Date.now()) / 2);
  const servers = (await connection.infos()).map(fieldsOf);
  const [first] = servers;
  const policies = servers.map((fields) => fields.get('maxmemory_policy') ?? 'unknown');
  return {
    version: first?.get('redis_version') ?? 'unknown',
    maxmemoryPolicy: policies.find((policy) => policy !== 'noeviction') ?? policies[0] ?? 'unknown',
    appendOnly: servers.length > 0 && servers.every((fields) => fields.get('aof_enabled') === '1'),
    usedMemoryBytes: Number(first?.get('used_memory') ?? 0),
    maxMemoryBytes: Number(first?.get('maxmemory') ?? 0),
    clockAheadMs,
  };
}

function fieldsOf(info: string): ReadonlyMap<string, string> {
  return new Map(
    info.split('\r\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon < 1 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
    }),
  );
}

/** Why this Redis must not be used, and the cure; undefined if nothing speaks against it. */
export function unsafeReason(facts: RedisFacts): string | undefined {
  if (facts.maxmemoryPolicy === 'noeviction') return undefined;
  return `Redis may evict keys (maxmemory-policy is ${facts.maxmemoryPolicy}), and with them decisions and limits; set \`maxmemory-policy noeviction\` in redis.conf`;
}
