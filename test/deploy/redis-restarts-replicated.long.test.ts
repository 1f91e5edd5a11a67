import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { eventually } from '../eventually.ts';
import { onNextPort } from '../ports.ts';
import { launchRedis } from '../redis-process.ts';
import { WAYS, deployed, droppedBy, fill, goesOn, urlOf } from './redis-deployed.ts';
import { type Secrets, makeSecrets, replicatedConf, sentinelConf, usersOf } from './shipped-files.ts';
import { type ShippedRedis, type ShippedTls, shippedTls, startShippedRedis } from './shipped-redis.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/*
 * What restarts and a failover of replicated Redis keep, with the files of deploy/ as they are shipped and
 * with what the service itself writes.
 */

const SLOW_MS = 240_000;

/** The lines of redis.conf for replicas, without their `#`, and the primary of this node. */
const replicated =
  (primary?: ShippedRedis) =>
  (conf: string): string => {
    const active = replicatedConf(conf);
    expect(active).toMatch(/^masterauth password-of-the-replicas$/m);
    return primary === undefined ? active : `${active}\nreplicaof 127.0.0.1 ${primary.port}\n`;
  };

/** A primary and two replicas. */
async function startReplicated(
  secrets: Secrets,
  tls?: ShippedTls,
): Promise<readonly [ShippedRedis, ShippedRedis, ShippedRedis]> {
  const users = usersOf('sentinel', 'replica');
  const primary = await startShippedRedis({ secrets, users, tls, edit: replicated() });
  const replica = (): Promise<ShippedRedis> =>
    startShippedRedis({ secrets, users, tls, edit: replicated(primary) });
  const nodes = [primary, await replica(), await replica()] as const;
  await inSync(primary, nodes);
  return nodes;
}

/**
 * Both replicas follow, and each node has an append-only file: a replica writes its own after it has copied.
 */
function inSync(primary: ShippedRedis, nodes: readonly ShippedRedis[]): Promise<true> {
  return eventually('two replicas are in sync, with a complete file', async () => {
    const info = String(await primary.ask('INFO', 'replication').catch(() => ''));
    if ((info.match(/state=online,offset=[1-9]/g)?.length ?? 0) !== 2) return undefined;
    const infos = await Promise.all(nodes.map((node) => node.ask('INFO', 'persistence').catch(() => '')));
    const complete = /aof_enabled:1\r\naof_rewrite_in_progress:0\r\naof_rewrite_scheduled:0/;
    return infos.every((each) => complete.test(String(each))) ? true : undefined;
  });
}

const DURABILITY = { replicas: 2, timeoutMs: 5000 };

describe('redis.conf with replicas', () => {
  it(
    'loses nothing on the primary, nor on a replica that starts without it',
    async () => {
      const folder = temporaryFolder();
      const secrets = makeSecrets(folder);
      const nodes = await startReplicated(secrets);
      const [primary, replica, other] = nodes;
      const { service, operate } = await deployed(folder, secrets, {
        url: urlOf(primary),
        durability: DURABILITY,
      });
      await fill({ service, operate });
      await service.stop({ keep: true });
      const before = await primary.contents();
      expect(Object.keys(before).length).toBeGreaterThan(15);
      expect(await replica.contents()).toEqual(before);
      for (const way of WAYS) {
        for (const node of nodes) await node[way]();
        // What a replica has without its primary is what its own append-only file has.
        await replica.start();
        expect(await replica.contents()).toEqual(before);
        await primary.start();
        expect(await primary.contents()).toEqual(before);
        await other.start();
        await inSync(primary, nodes);
      }
      for (const node of nodes) expect(await droppedBy(node)).toBe(0);
    },
    SLOW_MS,
  );
});

describe('deploy/redis/sentinel.conf', () => {
  it.each([
    ['without TLS', () => undefined],
    ['with deploy/redis/tls.conf', shippedTls],
  ])(
    'loses nothing when the primary is killed, and nothing when all nodes are: %s',
    async (_form, tlsOf) => {
      const tls = tlsOf();
      const folder = temporaryFolder();
      const secrets = makeSecrets(folder);
      const nodes = await startReplicated(secrets, tls);
      const [primary] = nodes;
      const sentinels: number[] = [];
      for (let number = 0; number < 3; number++)
        sentinels.push(await startShippedSentinel(primary.port, tls));
      const scheme = tls === undefined ? 'redis-sentinel' : 'rediss-sentinel';
      const url = `${scheme}://${sentinels.map((port) => `127.0.0.1:${port}`).join()}/main/0`;
      const store = { url, durability: DURABILITY, ...(tls && { tls: tls.settings }) };
      const first = await deployed(folder, secrets, store);
      await fill(first);
      await first.service.stop({ keep: true });
      const before = await primary.contents();
      await eventually('the Sentinels know both replicas and each other', async () =>
        (await knownBy(sentinels, tls)).every((known) => known === '2 2') ? true : undefined,
      );
      await primary.kill();
      const promoted = await eventually('a replica is promoted', () => promotedOf(nodes));
      expect(promoted.port).not.toBe(primary.port);
      expect(await promoted.contents()).toEqual(before);
      await primary.start();
      await inSync(promoted, nodes);
      expect(await primary.contents()).toEqual(before);

      for (const node of nodes) await node.kill();
      for (const node of nodes) await node.start();
      const next = await eventually('a primary has two replicas', async () => {
        const found = await promotedOf(nodes);
        const info = String(await found?.ask('INFO', 'replication'));
        return /connected_slaves:2/.test(info) ? found : undefined;
      });
      await inSync(next, nodes);
      for (const node of nodes) expect(await node.contents()).toEqual(before);
      const second = await deployed(folder, secrets, store);
      onTestFinished(() => second.service.stop({ keep: true }));
      await goesOn(second);
      for (const node of nodes) expect(await droppedBy(node)).toBe(0);
    },
    SLOW_MS,
  );
});

/** On a free port, with the primary's address and the password in the places that are left for them. */
async function startShippedSentinel(primary: number, tls: ShippedTls | undefined): Promise<number> {
  const folder = temporaryFolder();
  const file = join(folder, 'sentinel.conf');
  return onNextPort(async (port) => {
    const own = `port ${port}\nbind 127.0.0.1\ndir ${folder}`;
    writeFileSync(file, sentinelConf(primary).replace(/^port 26379$/m, own));
    const overTls = tls === undefined ? [] : [...tls.args, '--tls-port', `${port}`];
    const child = await launchRedis([file, '--sentinel', ...overTls]);
    onTestFinished(() => void child.kill('SIGKILL'));
    return port;
  });
}

/** How many replicas and other Sentinels each Sentinel knows. */
function knownBy(sentinels: readonly number[], tls: ShippedTls | undefined): Promise<readonly string[]> {
  return Promise.all(
    sentinels.map(async (port) => {
      const client = new Redis({
        port,
        lazyConnect: true,
        enableReadyCheck: false,
        ...(tls && { tls: tls.client }),
      });
      try {
        await client.connect();
        const [flat, at] = [z.array(z.string()).parse(await client.call('SENTINEL', ['MASTER', 'main'])), 1];
        const field = (name: string): string => flat[flat.indexOf(name) + at] ?? '';
        return `${field('num-slaves')} ${field('num-other-sentinels')}`;
      } finally {
        client.disconnect();
      }
    }),
  );
}

/** The node that is a primary; undefined while none is, or two are. */
async function promotedOf(nodes: readonly ShippedRedis[]): Promise<ShippedRedis | undefined> {
  const roles = await Promise.all(
    nodes.map(async (node) => String(await node.ask('ROLE').catch(() => '')).split(',')[0]),
  );
  const primaries = nodes.filter((_node, index) => roles[index] === 'master');
  return primaries.length === 1 ? primaries[0] : undefined;
}
