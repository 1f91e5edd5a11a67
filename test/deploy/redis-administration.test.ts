import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../certificates.ts';
import { eventually } from '../eventually.ts';
import { onNextPort } from '../ports.ts';
import { launchRedis } from '../redis-process.ts';
import { startRedisServer } from '../redis-server.ts';
import { startTestService } from '../service.ts';
import { textOf } from './documents.ts';
import { adminOf, clientOf, grant } from './redis-users.ts';
import { PASSWORDS, documentedUsers } from './shipped-files.ts';
import { temporaryFolder } from '../temporary-folder.ts';

const ADMINISTRATOR = ['countersign-administrator', PASSWORDS['ADMINISTRATOR-PASSWORD']] as const;

/** Another program may take the port first: then on another one. */
function onFreePort<T>(start: (port: number) => Promise<T>): Promise<{ port: number; started: T }> {
  return onNextPort(async (port) => ({ port, started: await start(port) }));
}

describe('the administrator of docs/redis.md', () => {
  async function administrator(): Promise<Redis> {
    const redis = await startRedisServer();
    onTestFinished(() => redis.stop());
    await grant(adminOf(clientOf(redis.port)), documentedUsers().administrator);
    return clientOf(redis.port, ...ADMINISTRATOR);
  }

  it('looks after the server', async () => {
    const client = await administrator();
    for (const [command, ...args] of [
      ['PING'],
      ['INFO', 'replication'],
      ['CONFIG', 'GET', 'maxmemory'],
      ['CONFIG', 'SET', 'maxmemory', '768mb'],
      ['CONFIG', 'SET', 'maxmemory-policy', 'noeviction'],
      ['ACL', 'LIST'],
      ['ACL', 'LOG'],
      ['ACL', 'SETUSER', 'countersign', '>another'],
      ['CLIENT', 'LIST'],
      ['CLIENT', 'KILL', 'TYPE', 'pubsub'],
      ['SLOWLOG', 'GET'],
      ['LATENCY', 'LATEST'],
      ['COMMAND', 'DOCS', 'get'],
      ['ROLE'],
      ['DBSIZE'],
      ['LASTSAVE'],
      ['BGSAVE'],
    ] as const) {
      await expect(client.call(command, [...args])).resolves.toBeDefined();
    }
    await eventually(
      'the snapshot is written',
      async () =>
        /rdb_bgsave_in_progress:0/.test(String(await client.call('INFO', ['persistence']))) || undefined,
    );
    await expect(client.call('BGREWRITEAOF')).resolves.toBeDefined();
  });

  it.each([
    ['GET', 'countersign:{shop}:control'],
    ['HGETALL', 'countersign:{shop}:control'],
    ['XRANGE', 'countersign:{shop}:journal', '-', '+'],
    ['DEL', 'countersign:{shop}:journal'],
    ['FLUSHALL'],
    ['FLUSHDB'],
    ['KEYS', '*'],
    ['SCAN', '0'],
    ['RANDOMKEY'],
    ['EVAL', 'return 1', '0'],
    ['FUNCTION', 'LIST'],
    ['SCRIPT', 'FLUSH'],
    ['MODULE', 'LIST'],
    ['MONITOR'],
    ['SWAPDB', '0', '1'],
    ['PUBLISH', 'countersign:{global}:changed', 'x'],
  ])('is denied what reads, changes or deletes data: %s', async (command, ...args) => {
    const client = await administrator();
    await expect(client.call(command, args)).rejects.toThrow(/NOPERM|No permissions/);
  });
});

describe('deploy/redis/tls.conf', () => {
  const authority = createAuthority();
  const stranger = createAuthority();

  /** Redis with these lines, the port and files being the test's. */
  async function redisWithTls(): Promise<number> {
    const own = temporaryFolder();
    const server = authority.issue('/CN=redis');
    const { port } = await onFreePort(async (free) => {
      const replaced = textOf('deploy/redis/tls.conf')
        .replace('tls-port 6379', `tls-port ${free}`)
        .replace('/etc/redis/tls/redis.pem', server.certFile)
        .replace('/etc/redis/tls/redis.key', server.keyFile)
        .replace('/etc/redis/tls/ca.pem', authority.certificate.certFile);
      expect(replaced).not.toContain('/etc/redis/tls/');
      writeFileSync(join(own, 'tls.conf'), replaced);
      writeFileSync(join(own, 'redis.conf'), `bind 127.0.0.1\ndir ${own}\nsave ""\n`);
      const child = await launchRedis([join(own, 'redis.conf'), '--include', join(own, 'tls.conf')]);
      onTestFinished(() => void child.kill('SIGKILL'));
    });
    return port;
  }

  it('lets in the service with the settings of docs/redis.md, and no plain text and no stranger', async () => {
    onTestFinished(() => {
      authority.close();
      stranger.close();
    });
    const port = await redisWithTls();
    const client = authority.issue('/CN=countersign');
    const service = await startTestService({
      settings: {
        store: {
          url: `rediss://127.0.0.1:${port}/0`,
          tls: {
            ca: authority.certificate.certFile,
            certificate: client.certFile,
            key: { file: client.keyFile },
          },
        },
      },
    });
    onTestFinished(() => service.stop());
    expect(await service.pay({})).toBe('SUCCESS');

    const ping = async (tls?: ConnectionOptions): Promise<unknown> => {
      const connection = new Redis({
        host: '127.0.0.1',
        port,
        retryStrategy: () => null,
        lazyConnect: true,
        ...(tls !== undefined && { tls }),
      });
      connection.on('error', () => undefined);
      try {
        await connection.connect();
        return await connection.ping();
      } finally {
        connection.disconnect();
      }
    };
    const { cert: ca } = authority.certificate;
    // OpenSSL's alert may come before or after the connection is closed.
    const REFUSED = /closed|reset|alert|EPIPE/i;
    const other = stranger.issue('/CN=countersign');
    expect(await ping({ ca, cert: client.cert, key: client.key })).toBe('PONG');
    await expect(ping()).rejects.toThrow(REFUSED);
    await expect(ping({ ca })).rejects.toThrow(REFUSED);
    await expect(ping({ ca, cert: other.cert, key: other.key })).rejects.toThrow(REFUSED);
    await expect(ping({ cert: client.cert, key: client.key })).rejects.toThrow(REFUSED);
  });
});
