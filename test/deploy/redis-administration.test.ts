import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../certificates.ts';
import { placeIn } from '../cli/terminal.ts';
import { eventually } from '../eventually.ts';
import { onNextPort } from '../ports.ts';
import { launchRedis } from '../redis-process.ts';
import { startRedisServer } from '../redis-server.ts';
import { startTestService } from '../service.ts';
import { fencedLines, textOf } from './documents.ts';
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

describe('a restore, step by step as docs/redis.md has it', () => {
  it('brings back what the backup has, freezes, and approves nothing until somebody says so', async () => {
    const own = temporaryFolder();
    const data = join(own, 'data');
    mkdirSync(data);
    const config = join(own, 'redis.conf');
    const start = async (...more: readonly string[]): Promise<() => Promise<void>> => {
      const child = await launchRedis([config, ...more]);
      onTestFinished(() => void child.kill('SIGKILL'));
      const exit = once(child, 'exit');
      return () => exit.then(() => undefined);
    };
    const ask = async (...words: readonly string[]): Promise<string> => {
      const client = new Redis({ port, lazyConnect: true, retryStrategy: () => null });
      client.on('error', () => undefined);
      const [command = '', ...args] = words;
      try {
        await client.connect();
        return String(await client.call(command, args));
      } finally {
        client.disconnect();
      }
    };
    const persisted = (what: RegExp): Promise<true> =>
      eventually(`${what}`, async () => what.test(await ask('INFO', 'persistence')) || undefined);

    const { port, started } = await onFreePort((free) => {
      const lines = [
        'bind 127.0.0.1',
        `port ${free}`,
        `dir ${data}`,
        'save ""',
        'appendonly yes',
        'appendfsync always',
      ];
      writeFileSync(config, `${lines.join('\n')}\n`);
      return start();
    });
    let ended = started;
    const service = await startTestService({
      folder: own,
      settings: {
        store: { url: `redis://127.0.0.1:${port}/0`, connectTimeoutMs: 1000 },
        answerTimeoutMs: 5000,
      },
    });
    onTestFinished(() => service.stop({ keep: true }));
    expect(await service.pay({ appOrderId: 'before' })).toBe('SUCCESS');

    // The backup.
    await ask('BGSAVE');
    await persisted(/rdb_bgsave_in_progress:0\r\n[^]*rdb_last_bgsave_status:ok/);
    copyFileSync(join(data, 'dump.rdb'), join(own, 'backup.rdb'));
    expect(await service.pay({ appOrderId: 'after' })).toBe('SUCCESS');

    // Stopped, put away, and the backup in its place.
    await ask('SHUTDOWN').catch(() => undefined);
    await ended();
    renameSync(data, `${data}.before`);
    mkdirSync(data);
    copyFileSync(join(own, 'backup.rdb'), join(data, 'dump.rdb'));
    ended = await start('--appendonly', 'no');
    const steps = fencedLines(
      textOf('docs/redis.md').replace('```sh restore', '```sh_restore'),
      'sh_restore',
    );
    const calls = steps.map((line) =>
      line
        .replace('redis-cli --user countersign-administrator ', '')
        .replace(/\s*#.*$/, '')
        .split(' '),
    );
    expect(calls.map(([command]) => command)).toEqual(['CONFIG', 'INFO', 'SHUTDOWN']);
    await ask(...(calls[0] ?? []));
    await persisted(/aof_rewrite_in_progress:0\r\n[^]*aof_last_bgrewrite_status:ok/);
    expect(existsSync(join(data, 'appendonlydir'))).toBe(true);
    await ask(...(calls[2] ?? [])).catch(() => undefined);
    await ended();
    await start();

    // The service that lived through it says so, and nothing is approved: neither again nor anew.
    const approvals = async (): Promise<{ ok: boolean; because: string } | undefined> => {
      const { checks } = (await (await fetch(`${service.ops}/readyz`)).json()) as {
        checks: { name: string; ok: boolean; because: string }[];
      };
      return checks.find(({ name }) => name === 'approvals');
    };
    await eventually('it is frozen for lost data', async () => {
      const state = await approvals();
      return state?.ok === false && state.because.includes('data was lost') ? true : undefined;
    });
    expect(await service.pay({ appOrderId: 'after', orderAmount: '900' })).toBe('FAILURE');
    expect(await service.pay({ appOrderId: 'new' })).toBe('FAILURE');
    const found = await eventually('the journal can be read again', () =>
      service.store.entries({ source: 'shop', subject: 'payment:before', limit: 10 }).catch(() => undefined),
    );
    expect(found.map(({ code }) => code)).toContain('APPROVED');

    // Acknowledged by name, where the program asks for that.
    const { run } = placeIn(own);
    const { out } = await run('unfreeze', '--help');
    const acknowledge = out.includes('--acknowledge-loss') ? ['--acknowledge-loss'] : [];
    // Ends with 2 where more is found lost just then: all stays frozen, and the operator looks once more.
    await eventually('the loss is acknowledged', async () =>
      (await run('unfreeze', ...acknowledge)).code === 0 ? true : undefined,
    );
    await eventually('it approves again', async () =>
      (await service.pay({ appOrderId: 'before' })) === 'SUCCESS' ? true : undefined,
    );
    await eventually('it is ready', async () =>
      (await fetch(`${service.ops}/readyz`)).status === 200 ? true : undefined,
    );
  });

  it('a snapshot beside an append-only file that is switched on is not read: hence the detour', async () => {
    const own = temporaryFolder();
    const { port, started: first } = await onFreePort((free) =>
      launchRedis(['--port', `${free}`, '--bind', '127.0.0.1', '--dir', own, '--appendonly', 'no']),
    );
    onTestFinished(() => void first.kill('SIGKILL'));
    const client = clientOf(port);
    await client.set('a', '1');
    await client.call('SAVE');
    client.disconnect();
    const gone = once(first, 'exit');
    first.kill('SIGKILL');
    await gone;
    expect(existsSync(join(own, 'dump.rdb'))).toBe(true);
    const again = await launchRedis([
      '--port',
      `${port}`,
      '--bind',
      '127.0.0.1',
      '--dir',
      own,
      '--appendonly',
      'yes',
    ]);
    onTestFinished(() => void again.kill('SIGKILL'));
    expect(await clientOf(port).dbsize()).toBe(0);
  });
});
