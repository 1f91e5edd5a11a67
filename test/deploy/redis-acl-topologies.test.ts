import { describe, expect, it, onTestFinished } from 'vitest';
import { type RedisServer } from '../../src/store/redis/connection.ts';
import { createKeys } from '../../src/store/redis/keys.ts';
import { type RedisStore, openRedisStore } from '../../src/store/redis/open.ts';
import { eventually } from '../eventually.ts';
import { startRedisCluster } from '../redis-cluster.ts';
import type { RedisProcess } from '../redis-process.ts';
import { startSentinels } from '../redis-sentinel.ts';
import { push, request, thaw } from '../store/requests.ts';
import { denied, grant } from './redis-users.ts';
import { PASSWORDS, documentedUsers } from './shipped-files.ts';

const documented = documentedUsers();
const RIG_MS = 60_000;

async function open(server: RedisServer): Promise<RedisStore> {
  const store = await openRedisStore({ ...server, commandTimeoutMs: 5000 });
  onTestFinished(() => store.close());
  return store;
}

interface User {
  readonly username: string;
  readonly password: string;
}
const SERVICE: User = { username: 'countersign', password: PASSWORDS['SERVICE-PASSWORD'] };
const OPERATOR: User = { username: 'countersign-operator', password: PASSWORDS['OPERATOR-PASSWORD'] };

/** Pushes as the operator, decides as the service. */
async function decides(as: (user: User) => RedisServer): Promise<RedisStore> {
  const [service, operator] = [await open(as(SERVICE)), await open(as(OPERATOR))];
  await service.register(['shop', 'vault']);
  await operator.push(push('first', ''));
  for (const source of ['shop', 'vault']) {
    expect(await service.settle(request({ source }))).toMatchObject({
      outcome: 'decided',
      verdict: 'SUCCESS',
    });
    expect((await operator.entries({ source, limit: 10 })).length).toBe(1);
  }
  await operator.freeze({ reason: 'a test', by: 'ada' });
  expect((await service.control()).frozen[0]?.by).toBe('ada');
  await thaw(operator);
  return service;
}

describe('with the rights of docs/redis.md,', () => {
  it(
    'both users work on a Cluster, and are denied nothing',
    async () => {
      const cluster = await startRedisCluster();
      onTestFinished(() => cluster.stop());
      for (const node of cluster.nodes) {
        await grant(node, [...documented.service, ...documented.operator, ...documented.cluster]);
      }
      const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
      const service = await decides((user) => ({ cluster: nodes, client: user }));
      // While a slot moves, its node redirects what has moved.
      const { control } = createKeys('countersign').of('shop');
      const owner = await cluster.ownerOf(control);
      const other = cluster.nodes.find(({ port }) => port !== owner)?.port ?? owner;
      const move = await cluster.beginMove(control, other);
      await move.moveKeys(1000);
      const operator = await open({ cluster: nodes, client: OPERATOR });
      expect((await operator.entries({ source: 'shop', limit: 10 })).length).toBeGreaterThan(0);
      // A step of several keys, some of which are new, is decided only once the slot has moved.
      const moved = (): Promise<unknown> => service.settle(request({ subject: 'payment:moved' }));
      await expect(moved()).rejects.toMatchObject({ code: 'STORE_UNREACHABLE' });
      await move.finish();
      expect(await moved()).toMatchObject({ outcome: 'decided', verdict: 'SUCCESS' });
      for (const node of cluster.nodes) expect(await denied(node)).toEqual([]);
    },
    RIG_MS,
  );

  it(
    'Sentinels fail over to a replica, both with users of their own, and the service goes on there',
    async () => {
      const rig = await startSentinels({ replicas: 1 });
      onTestFinished(() => rig.stop());
      for (const node of rig.nodes) {
        const lines = [
          ...documented.service,
          ...documented.operator,
          ...documented.sentinel,
          ...documented.replica,
        ];
        await grant(node, lines);
        await node.ask('CONFIG', 'SET', 'masteruser', 'replica', 'masterauth', PASSWORDS['REPLICA-PASSWORD']);
      }
      for (const sentinel of rig.sentinels) {
        const credentials = ['auth-user', 'sentinel', 'auth-pass', PASSWORDS['SENTINEL-PASSWORD']];
        await sentinel.ask('SENTINEL', 'SET', 'main', ...credentials);
      }
      const sentinels = rig.sentinels.map(({ port }) => ({ host: '127.0.0.1', port }));
      const service = await decides((user) => ({ client: { ...user, sentinels, name: 'main', db: 0 } }));
      for (const node of rig.nodes) {
        // The link of the replica, and those of the Sentinels, are of before they had users.
        await node.ask('CLIENT', 'KILL', 'TYPE', 'replica');
        await node.ask('CLIENT', 'KILL', 'USER', 'default', 'SKIPME', 'yes');
        await node.ask('ACL', 'LOG', 'RESET');
      }
      await eventually('the Sentinels and the replica use their users', () => linkedAs(rig.nodes));
      await rig.replicated(1);
      await rig.killPrimary();
      const promoted = rig.node(await rig.reconfigured());
      expect(await denied(promoted)).toEqual([]);
      await eventually('the service decides on the new primary', async () =>
        service.settle(request({ subject: 'payment:after' })).then(
          ({ outcome }) => (outcome === 'decided' ? true : undefined),
          () => undefined,
        ),
      );
      expect(await denied(promoted)).toEqual([]);
    },
    RIG_MS,
  );
});

async function linkedAs([primary, replica]: readonly RedisProcess[]): Promise<true | undefined> {
  if (primary === undefined || replica === undefined) return undefined;
  const [onPrimary, onReplica] = [
    String(await primary.ask('CLIENT', 'LIST')),
    String(await replica.ask('CLIENT', 'LIST')),
  ];
  const users =
    / user=sentinel /.test(onPrimary) &&
    / user=sentinel /.test(onReplica) &&
    / user=replica /.test(onPrimary);
  const others = [onPrimary, onReplica].some((list) => /name=sentinel-\S+ .* user=default /.test(list));
  return users && !others ? true : undefined;
}
