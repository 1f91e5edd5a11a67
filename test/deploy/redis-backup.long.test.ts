import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type Socket, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { kustomized, manifestsIn } from '../../tools/generate/manifests.ts';
import { eventually } from '../eventually.ts';
import { onNextPort } from '../ports.ts';
import { ROOT, fencedLines, textOf } from './documents.ts';
import { deployed, fill, goesOn, order, urlOf } from './redis-deployed.ts';
import { clientOf } from './redis-users.ts';
import { type Secrets, makeSecrets } from './shipped-files.ts';
import { type ShippedRedis, startShippedRedis } from './shipped-redis.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/* Runs the script of the CronJob in deploy/redis, and the restore as docs/redis.md has it. */

const container = z.object({
  command: z.tuple([z.literal('sh'), z.string()]),
  env: z.array(z.object({ name: z.string(), value: z.string() })),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
});
const cronJob = z.object({
  concurrencyPolicy: z.literal('Forbid'),
  jobTemplate: z.object({
    spec: z.object({
      template: z.object({
        spec: z.object({ containers: z.tuple([container]), restartPolicy: z.literal('Never') }),
      }),
    }),
  }),
});
const shipped = manifestsIn('deploy/redis/backup.yaml').find(({ kind }) => kind === 'CronJob');
const [job] = cronJob.parse(shipped?.object['spec']).jobTemplate.spec.template.spec.containers;
const scripts = kustomized('deploy/redis').configMaps.get('countersign-redis-backup') ?? new Map();

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

async function ended(words: readonly string[], env: NodeJS.ProcessEnv, stdin?: string): Promise<Ended> {
  const [program = '', ...args] = words;
  const input = stdin === undefined ? 'ignore' : openSync(stdin, 'r');
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], ...env },
    stdio: [input, 'pipe', 'pipe'],
  });
  const chunks: unknown[] = [];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => chunks.push(chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output: chunks.join('') };
}

interface BackupPlace {
  readonly folder: string;
  /** Runs the script as the CronJob does. */
  back(env?: NodeJS.ProcessEnv): Promise<Ended>;
  copies(): readonly string[];
}

function backupOf(port: number, secrets: Secrets): BackupPlace {
  const folder = temporaryFolder();
  const [, path] = job.command;
  const mount = job.volumeMounts.find(({ name }) => name === 'script')?.mountPath ?? '';
  const script = join(ROOT, scripts.get(path.slice(mount.length + 1)) ?? 'is not mounted');
  const given = Object.fromEntries(job.env.map(({ name, value }) => [name, value]));
  const own = { HOST: '127.0.0.1', PORT: `${port}`, PASSWORD_FILE: secrets.backupFile, FOLDER: folder };
  expect(Object.keys(given)).toEqual(expect.arrayContaining(Object.keys(own)));
  return {
    folder,
    back: (env = {}) => ended(['sh', script], { ...given, ...own, ...env }),
    copies: () =>
      readdirSync(folder)
        .filter((name) => name !== 'partial')
        .sort(),
  };
}

/** Replaces the data of a Redis that is stopped, by the line of docs/redis.md. */
async function restore({ data }: ShippedRedis, folder: string, copy: string): Promise<Ended> {
  const markdown = textOf('docs/redis.md').replace('```sh restore', '```sh_restore');
  const [line = '', ...others] = fencedLines(markdown, 'sh_restore');
  const [, command = '', script = ''] = / -- (sh -s .*) < (\S+)$/.exec(line) ?? [];
  expect([others, command]).toEqual([[], 'sh -s /backup/countersign-TIME.rdb /data']);
  const words = command.replace('/backup/countersign-TIME.rdb', join(folder, copy)).replace('/data', data);
  return ended(words.split(' '), {}, join(ROOT, script));
}

async function running(users: readonly string[] = []) {
  const own = temporaryFolder();
  const secrets = makeSecrets(own);
  const redis = await startShippedRedis({ secrets, users });
  return { own, secrets, redis, backup: backupOf(redis.port, secrets) };
}

describe('a backup of Redis', () => {
  it('brings back decisions, limits, lists and the revision, after all data was destroyed', async () => {
    const { own, secrets, redis, backup } = await running();
    const first = await deployed(own, secrets, { url: urlOf(redis) });
    await fill(first);
    await first.service.stop({ keep: true });
    const before = await redis.contents();
    expect(await backup.back()).toMatchObject({ code: 0 });
    const [copy = '', ...others] = backup.copies();
    expect([copy, others]).toEqual([expect.stringMatching(/^countersign-[\dTZ-]+\.rdb$/), []]);
    // It needed no right that its user lacks.
    expect(await redis.ask('ACL', 'LOG')).toEqual([]);

    await redis.kill();
    rmSync(redis.data, { recursive: true });
    mkdirSync(redis.data);
    expect(await restore(redis, backup.folder, copy)).toMatchObject({ code: 0 });
    await redis.start();
    expect(await redis.contents()).toEqual(before);
    const second = await deployed(own, secrets, { url: urlOf(redis) });
    await goesOn(second);
    // What was decided after the restore is in the append-only file.
    await redis.kill();
    await redis.start();
    await eventually('it approves again', async () =>
      (await second.service.pay(order(10))) === 'SUCCESS' ? true : undefined,
    );
    expect(await second.service.pay(order(11))).toBe('FAILURE');
    await second.service.stop({ keep: true });
  });

  it('that is older than an approval stops all approvals until an operator acknowledges the loss', async () => {
    const { own, secrets, redis, backup } = await running();
    const { service, operate } = await deployed(own, secrets, { url: urlOf(redis) });
    await fill({ service, operate });
    expect(await backup.back()).toMatchObject({ code: 0 });
    expect((await operate('unfreeze')).code).toBe(0);
    await eventually('it approves again', async () =>
      (await service.pay(order(10))) === 'SUCCESS' ? true : undefined,
    );

    await redis.shutdown();
    expect(await restore(redis, backup.folder, backup.copies()[0] ?? '')).toMatchObject({ code: 0 });
    expect(readdirSync(redis.data).filter((name) => name.startsWith('before-')).length).toBe(1);
    await redis.start();
    await eventually('it is frozen for lost data', async () => {
      const ready = await (await fetch(`${service.ops}/readyz`)).text();
      return ready.includes('data was lost') ? true : undefined;
    });
    // Neither again nor anew.
    expect(await service.pay(order(0))).toBe('FAILURE');
    expect(await service.pay(order(10))).toBe('FAILURE');
    expect((await operate('unfreeze')).code).not.toBe(0);
    expect(await service.pay(order(0))).toBe('FAILURE');
    // Ends with 2 if more is found lost just then: all stays frozen.
    await eventually('the loss is acknowledged', async () =>
      (await operate('unfreeze', '--acknowledge-loss')).code === 0 ? true : undefined,
    );
    await operate('unfreeze');
    await eventually('it approves again', async () =>
      (await service.pay(order(0))) === 'SUCCESS' ? true : undefined,
    );
    await service.stop({ keep: true });
  });
});

describe('the script of the backup', () => {
  const OLD = ['1', '2', '3'].map((day) => `countersign-2026-01-0${day}T00-00-00Z.rdb`);
  const keepOld = ({ folder }: BackupPlace): void => {
    for (const name of OLD) writeFileSync(join(folder, name), 'a copy');
  };
  const FILLER = ['user filler on >filler ~* +set'];
  const set = (port: number) => clientOf(port, 'filler', 'filler').set('key', 'value');

  it('keeps as many copies as it is given, the newest', async () => {
    const { redis, backup } = await running(FILLER);
    await set(redis.port);
    keepOld(backup);
    expect(await backup.back({ KEEP: '2' })).toMatchObject({ code: 0 });
    expect(backup.copies()).toEqual([OLD[2], expect.not.stringContaining('2026-01-0')]);
    expect(readdirSync(backup.folder)).not.toContain('partial');
  });

  it.each<[string, NodeJS.ProcessEnv, string]>([
    ['its password is refused', { PASSWORD_FILE: join(ROOT, 'LICENSE') }, 'AUTH failed'],
    ['its password is missing', { PASSWORD_FILE: '/nowhere' }, 'No such file'],
    ['Redis does not answer', { PORT: '1' }, 'Could not connect'],
    ['it would keep none', { KEEP: '0' }, 'Set it to 1 or more'],
    ['a setting is missing', { HOST: '' }, 'the address of Redis'],
    ['the folder is not there', { FOLDER: '/nowhere' }, '/nowhere/partial'],
  ])('ends with an error and leaves all copies where %s', async (_, env, said) => {
    const { redis, backup } = await running(FILLER);
    await set(redis.port);
    keepOld(backup);
    const { code, output } = await backup.back({ KEEP: '1', ...env });
    expect(code).not.toBe(0);
    expect(output).toContain(said);
    expect(backup.copies()).toEqual(OLD);
  });

  it('ends with an error and leaves all copies where Redis has no data', async () => {
    const { backup } = await running();
    keepOld(backup);
    const { code, output } = await backup.back({ KEEP: '1' });
    expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining('Redis has no data') });
    expect(backup.copies()).toEqual(OLD);
  });

  it.each([
    ['breaks off', '$1000\r\nREDIS0010', 'I/O Error'],
    // A key and its value, and then no end and no checksum.
    ['is damaged', '$20\r\nREDIS0010\0\x03key\x05value', 'the copy is damaged'],
  ])('ends with an error and gives no copy its name if what it receives %s', async (_, sent, said) => {
    const answer = (socket: Socket): void => {
      socket.on('error', () => undefined);
      socket.on('data', (data: Buffer) => {
        if (data.includes('SYNC')) socket.end(sent);
        else socket.write('+OK\r\n'.repeat(data.toString().split('\r\n*').length));
      });
    };
    const port = await onNextPort(async (free) => {
      const server = createServer(answer).listen(free, '127.0.0.1');
      onTestFinished(() => void server.close());
      await once(server, 'listening');
      return free;
    });
    const backup = backupOf(port, makeSecrets(temporaryFolder()));
    keepOld(backup);
    const { code, output } = await backup.back({ KEEP: '1' });
    expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining(said) });
    expect(backup.copies()).toEqual(OLD);
  });

  it('has a user that may do nothing else', async () => {
    const { redis, secrets } = await running();
    const client = clientOf(redis.port, 'countersign-backup', readFileSync(secrets.backupFile, 'utf8'));
    for (const [command, ...args] of [
      ['GET', 'key'],
      ['SET', 'key', 'value'],
      ['DEL', 'key'],
      ['KEYS', '*'],
      ['FLUSHALL'],
      ['CONFIG', 'GET', '*'],
      ['ACL', 'LIST'],
      ['INFO'],
      ['EVAL', 'return 1', '0'],
      ['REPLICAOF', 'NO', 'ONE'],
      ['SHUTDOWN'],
      ['PUBLISH', 'countersign:{global}:changed', 'x'],
    ] as const) {
      await expect(client.call(command, [...args])).rejects.toThrow(/NOPERM/);
    }
  });
});

describe('a restore', () => {
  it('refuses a damaged copy, and leaves the data where it is', async () => {
    const { redis, backup } = await running();
    await redis.shutdown();
    const before = readdirSync(redis.data);
    expect(before).toContain('appendonlydir');
    writeFileSync(join(backup.folder, 'damaged.rdb'), 'REDIS0010');
    expect((await restore(redis, backup.folder, 'damaged.rdb')).code).toBe(1);
    expect(readdirSync(redis.data)).toEqual(before);
  });
});
