import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RedisUser, ShippedFiles } from './deploy/shipped-files.ts';
import { eventually } from './eventually.ts';
import { nextPort } from './ports.ts';
import { type RedisProcess, type RedisTls, startRedisProcess } from './redis-process.ts';

/** A Cluster of real processes of the test's own, that serves all slots. */
export interface RedisCluster {
  /** `redis-cluster://127.0.0.1:a,127.0.0.1:b`, or `rediss-cluster` with TLS. */
  readonly url: string;
  /** The primaries at the beginning, then the replicas of the first, of the second, and so on. */
  readonly nodes: readonly RedisProcess[];
  node(port: number): RedisProcess;
  /** The port of the primary that serves the key's slot, or the slot. */
  ownerOf(slotOrKey: number | string): Promise<number>;
  slotOf(key: string): Promise<number>;
  /** The whole of a move: all keys, while traffic goes on. Nothing happens if the slot is there already. */
  moveSlot(slotOrKey: number | string, toPort: number): Promise<void>;
  /** A move that stays half done until it is finished. */
  beginMove(slotOrKey: number | string, toPort: number): Promise<SlotMove>;
  killNode(port: number): Promise<void>;
  /** Starts what was killed, and resolves once the Cluster serves all slots again. */
  restart(port: number): Promise<void>;
  /** Resolves once no running node has that one for the owner of any slot: a replica of it took over. */
  failedOver(port: number): Promise<void>;
  /** Resolves once every running node says that all slots are served. */
  served(): Promise<void>;
  /** Ends all of it and removes its files. */
  stop(): Promise<void>;
}

export interface SlotMove {
  /** Moves at most that many keys; returns how many it moved. */
  moveKeys(most: number): Promise<number>;
  /** Moves what is left, and gives the slot to its new owner. */
  finish(): Promise<void>;
}

export interface RedisClusterOptions {
  /** Default 3. */
  readonly primaries?: number;
  /** Of each primary; default 0. */
  readonly replicas?: number;
  /** Every write of every node is on disk before it is answered. */
  readonly durable?: boolean;
  /** After how long without an answer nodes take one for dead. Default 1500. */
  readonly nodeTimeoutMs?: number;
  /** Starts all of it with them. They say what is written when, so `durable` says nothing. */
  readonly shipped?: ShippedFiles | undefined;
  /** More lines for the configuration of the nodes. */
  readonly config?: readonly string[];
  readonly tls?: RedisTls;
}

const SLOTS = 16_384;
const HOST = '127.0.0.1';
const MIGRATE_MS = 5000;

export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-cluster-'));
  const { primaries = 3, replicas = 0, tls, shipped } = options;
  const nodes: RedisProcess[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.kill()));
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    const buses = new Map<number, number>();
    for (let index = 0; index < primaries * (1 + replicas); index++)
      nodes.push(await startNode(folder, options, buses));
    await meet(nodes, buses, primaries);
    await follow(nodes, primaries, replicas);
    await served(nodes);
    return rigOf({ nodes, primaries: nodes.slice(0, primaries), tls, user: shipped?.user, stop });
  } catch (thrown) {
    await stop();
    throw thrown;
  }
}

function startNode(
  folder: string,
  { durable = false, nodeTimeoutMs = 1500, config = [], tls, shipped }: RedisClusterOptions,
  buses: Map<number, number>,
): Promise<RedisProcess> {
  return startRedisProcess({
    folder,
    tls,
    user: shipped?.user,
    config: async (port) => {
      const bus = await nextPort();
      buses.set(port, bus);
      return [
        ...(shipped?.redis ?? [
          'save ""',
          ...(durable ? ['appendonly yes', 'appendfsync always'] : ['appendonly no']),
        ]),
        // Without a disk in between, a replica would be online for up to a second before it gets anything.
        'repl-diskless-sync no',
        'cluster-enabled yes',
        `cluster-port ${bus}`,
        `cluster-announce-ip ${HOST}`,
        `cluster-node-timeout ${nodeTimeoutMs}`,
        'cluster-allow-replica-migration no',
        ...(tls === undefined ? [] : ['tls-cluster yes']),
        ...config,
      ];
    },
  });
}

/** Each primary takes its share of the slots, and all nodes get to know each other. */
async function meet(
  nodes: readonly RedisProcess[],
  buses: ReadonlyMap<number, number>,
  primaries: number,
): Promise<void> {
  for (const [index, node] of nodes.entries()) {
    await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    if (index < primaries) {
      const from = Math.floor((SLOTS * index) / primaries);
      const until = Math.floor((SLOTS * (index + 1)) / primaries);
      await node.ask('CLUSTER', 'ADDSLOTSRANGE', from, until - 1);
    }
    for (const [other, { port }] of nodes.entries()) {
      if (other < index) await node.ask('CLUSTER', 'MEET', HOST, port, buses.get(port) ?? 0);
    }
  }
  await each(nodes, `all ${nodes.length} nodes know each other`, async (node) => {
    const lines = String(await node.ask('CLUSTER', 'NODES'))
      .split('\n')
      .filter((line) => line !== '');
    return lines.length === nodes.length && !lines.some((line) => /handshake|noaddr/.test(line));
  });
}

async function follow(nodes: readonly RedisProcess[], primaries: number, replicas: number): Promise<void> {
  for (const [index, replica] of nodes.slice(primaries).entries()) {
    const id = await idOf(nodes[Math.floor(index / replicas)]);
    await replica.ask('CLUSTER', 'REPLICATE', id);
  }
  await each(nodes.slice(primaries), 'the replicas follow', async (replica) =>
    String(await replica.ask('INFO', 'replication')).includes('master_link_status:up'),
  );
}

const served = (nodes: readonly RedisProcess[]): Promise<void> =>
  each(
    nodes.filter((node) => node.isRunning()),
    'all slots are served',
    async (node) => String(await node.ask('CLUSTER', 'INFO')).includes('cluster_state:ok'),
  );

async function each(
  nodes: readonly RedisProcess[],
  what: string,
  holds: (node: RedisProcess) => Promise<boolean>,
): Promise<void> {
  await Promise.all(
    nodes.map((node) =>
      eventually(what, async () => ((await holds(node).catch(() => false)) ? true : undefined)),
    ),
  );
}

async function idOf(node: RedisProcess | undefined): Promise<string> {
  return String(await node?.ask('CLUSTER', 'MYID'));
}

interface Parts {
  readonly nodes: readonly RedisProcess[];
  readonly primaries: readonly RedisProcess[];
  readonly tls: RedisTls | undefined;
  readonly user: RedisUser | undefined;
  readonly stop: () => Promise<void>;
}

function rigOf({ nodes, primaries, tls, user, stop }: Parts): RedisCluster {
  const node = (port: number): RedisProcess => {
    const found = nodes.find((one) => one.port === port);
    if (found === undefined) throw new Error(`no node of this Cluster is on port ${port}`);
    return found;
  };
  const anyOf = (): RedisProcess => {
    const running = nodes.find((one) => one.isRunning());
    if (running === undefined) throw new Error('no node of this Cluster runs');
    return running;
  };
  const slotOf = async (key: string): Promise<number> => Number(await anyOf().ask('CLUSTER', 'KEYSLOT', key));
  const slotNumber = (slotOrKey: number | string): Promise<number> =>
    typeof slotOrKey === 'number' ? Promise.resolve(slotOrKey) : slotOf(slotOrKey);
  const ownerOf = async (slotOrKey: number | string): Promise<number> =>
    ownerIn(await anyOf().ask('CLUSTER', 'SLOTS'), await slotNumber(slotOrKey));
  const beginMove = async (slotOrKey: number | string, toPort: number): Promise<SlotMove> => {
    const slot = await slotNumber(slotOrKey);
    return moveOf({ nodes, slot, from: node(await ownerOf(slot)), to: node(toPort), user });
  };
  const addresses = primaries.map(({ port }) => `${HOST}:${port}`).join(',');
  return {
    url: `redis${tls === undefined ? '' : 's'}-cluster://${addresses}`,
    nodes,
    node,
    ownerOf,
    slotOf,
    beginMove,
    stop,
    async moveSlot(slotOrKey, toPort) {
      if ((await ownerOf(slotOrKey)) !== toPort) await (await beginMove(slotOrKey, toPort)).finish();
    },
    killNode: (port) => node(port).kill(),
    async restart(port) {
      await node(port).restart();
      await served(nodes);
    },
    async failedOver(port) {
      const others = nodes.filter((one) => one.isRunning() && one.port !== port);
      await each(others, `another node takes over from ${port}`, async (one) => {
        const owners = ownersIn(await one.ask('CLUSTER', 'SLOTS'));
        return owners.length > 0 && !owners.includes(port);
      });
      await served(others);
    },
    served: () => served(nodes),
  };
}

const ownersIn = (slots: unknown): readonly number[] =>
  (Array.isArray(slots) ? slots : []).map(([, , [, port]]) => Number(port));

function ownerIn(slots: unknown, slot: number): number {
  for (const range of Array.isArray(slots) ? slots : []) {
    const [from, until, [, port]] = range;
    if (slot >= from && slot <= until) return Number(port);
  }
  throw new Error(`no node serves the slot ${slot}`);
}

interface Move {
  readonly nodes: readonly RedisProcess[];
  readonly slot: number;
  readonly from: RedisProcess;
  readonly to: RedisProcess;
  readonly user: RedisUser | undefined;
}

async function moveOf({ nodes, slot, from, to, user }: Move): Promise<SlotMove> {
  const [fromId, toId] = [await idOf(from), await idOf(to)];
  await to.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId);
  await from.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId);
  const signIn = user === undefined ? [] : ['AUTH2', user.username, user.password];
  const moveKeys = async (most: number): Promise<number> => {
    const keys = await from.ask('CLUSTER', 'GETKEYSINSLOT', slot, most);
    const names = Array.isArray(keys) ? keys.map(String) : [];
    if (names.length > 0) {
      await from.ask('MIGRATE', HOST, to.port, '', 0, MIGRATE_MS, ...signIn, 'KEYS', ...names);
    }
    return names.length;
  };
  return {
    moveKeys,
    async finish() {
      while ((await moveKeys(100)) > 0);
      const running = nodes.filter((node) => node.isRunning() && node !== from && node !== to);
      for (const node of [to, from]) await node.ask('CLUSTER', 'SETSLOT', slot, 'NODE', toId);
      // Replicas are told by their primaries.
      for (const node of running) {
        await node.ask('CLUSTER', 'SETSLOT', slot, 'NODE', toId).catch(() => undefined);
      }
      await eventually(`all nodes know that the slot ${slot} moved`, async () => {
        const answers = await Promise.all(
          [from, to, ...running].map((node) => node.ask('CLUSTER', 'SLOTS').catch(() => [])),
        );
        return answers.every((answer) => ownerIn(answer, slot) === to.port) ? true : undefined;
      });
    },
  };
}
