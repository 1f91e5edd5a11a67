import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { inspect } from 'node:util';
import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { temporaryPath } from './embedded-folder.ts';
import type { InspectedStore } from './previews.ts';
import { GROUPS } from './random-requests.ts';
import { UNHURRIED } from './redis-under-test.ts';

export type OpenInspected = (clock: () => number) => Promise<InspectedStore>;

/** To be called in a test. */
export function openInspectedEmbedded(): OpenInspected {
  const folder = temporaryPath();
  return async (clock) => {
    const path = `${folder}-${randomUUID()}`;
    const store = await openEmbeddedStore({ path, clock });
    const behind = new DatabaseSync(path, { readOnly: true });
    return {
      store,
      contents: () => Promise.resolve(rowsOf(behind)),
      async close() {
        behind.close();
        await store.close();
        for (const suffix of ['', '-wal', '-shm', '.lock']) rmSync(`${path}${suffix}`, { force: true });
      },
    };
  };
}

/** Every row of every table, and the schema. */
function rowsOf(connection: DatabaseSync): readonly string[] {
  const schema = connection.prepare('SELECT * FROM sqlite_schema').all();
  const tables = schema.filter(({ type }) => type === 'table').map(({ name }) => String(name));
  return ['sqlite_schema', ...tables].flatMap((table) =>
    connection
      .prepare(`SELECT * FROM "${table}"`)
      .all()
      .map((row) => `${table} ${inspect({ ...row })}`)
      .sort(),
  );
}

/** Starts a server for the tests of a file. To be called outside of tests. */
export function redisForInspection(): OpenInspected {
  let server: RedisServerProcess | undefined;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server?.stop());
  return async (clock) => {
    const url = server?.url ?? '';
    const store = await openRedisStore({ url, clock, groups: GROUPS, ...UNHURRIED });
    const behind = new Redis(url);
    return {
      store,
      contents: () => keysOf(behind),
      async close() {
        await store.close();
        await behind.flushall();
        behind.disconnect();
      },
    };
  };
}

/**
 * Every key with its content and the instant at which it expires, and how many writes the server has counted.
 * `DUMP` is no help: Redis may order the fields of a hash anew when they are read.
 */
async function keysOf(client: Redis): Promise<readonly string[]> {
  const [, writes] = /^rdb_changes_since_last_save:(\d+)/m.exec(await client.info('persistence')) ?? [];
  const keys = (await client.keys('*')).sort();
  const contents = await Promise.all(
    keys.map(async (key) => {
      const [content, expiresMs] = await Promise.all([contentOf(client, key), client.pexpiretime(key)]);
      return `${key} ${expiresMs} ${inspect(content, { depth: 9, maxArrayLength: null })}`;
    }),
  );
  return [`${writes} writes`, ...contents];
}

async function contentOf(client: Redis, key: string): Promise<unknown> {
  const type = await client.type(key);
  switch (type) {
    case 'string':
      return client.get(key);
    case 'hash':
      return Object.entries(await client.hgetall(key)).sort(([a], [b]) => (a < b ? -1 : 1));
    case 'list':
      return client.lrange(key, 0, -1);
    case 'set':
      return (await client.smembers(key)).sort();
    case 'zset':
      return client.zrange(key, '0', '-1', 'WITHSCORES');
    case 'stream':
      return [await client.call('XINFO', 'STREAM', key), await client.xrange(key, '-', '+')];
    default:
      throw new Error(`${key} is a ${type}, whose content nobody reads here`);
  }
}
