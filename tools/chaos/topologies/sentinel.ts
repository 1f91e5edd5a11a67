import { setTimeout as pause } from 'node:timers/promises';
import { PASSWORDS } from '../../../test/deploy/shipped-files.ts';
import { type RedisSentinels, startSentinels } from '../../../test/redis-sentinel.ts';
import type { RedisProcess } from '../../../test/redis-process.ts';
import { ANY_HOUR, type Fault, clockFault, receiverFaults } from '../faults.ts';
import { revisionOf } from '../policies.ts';
import { createReceiver, startAll } from '../receivers.ts';
import { type Topology, endings, shippedUntil, signedIn, storeOf } from '../topology.ts';

const ANSWER_TIMEOUT_MS = 2000;
const COMMAND_TIMEOUT_MS = 1000;
const REPLICAS = 2;
/** Of the topology that goes on without one of its nodes: as many as approvals wait for, and one to spare. */
const REPLICAS_AND_ONE = 3;
/**
 * Within it, what one replica has is with the other as well: the one that is cut off last has all that any
 * had.
 */
const IN_STEP_MS = 250;

export interface SentinelTopology extends Topology {
  readonly sentinels: RedisSentinels;
  /**
   * Shows whether an approval waited for a replica. It is not among `faults`: a change by an operator that
   * was seen, and ended in an error, may be lost as well, for which the store is rightly frozen until
   * somebody says to go on.
   */
  readonly promotesWhoMissed: Fault;
}

/**
 * Receivers on a primary with two replicas, watched by three Sentinels; an approval waits until so many
 * replicas have it. Only with both is none ever forgotten: with one, a Sentinel that gives up a primary which
 * is just back may promote the other.
 */
export function startSentinel(
  count: number,
  replicas: number,
  differing: Differing = {},
): Promise<SentinelTopology> {
  const nodes = { name: 'sentinel', replicas: REPLICAS, wanted: replicas, ...differing };
  return startReplicated(count, nodes, (sentinels) => failovers(sentinels, REPLICAS, replicas));
}

/**
 * Receivers on a primary with three replicas, of which an approval waits for two: it goes on approving
 * without one of its nodes, and forgets nothing when a second one goes. Its primary dies, and is not replaced
 * while it still works: for that see `startSentinel`.
 */
export function startSpare(count: number, differing: Differing = {}): Promise<SentinelTopology> {
  const wanted = REPLICAS_AND_ONE - 1;
  const nodes = { name: 'spare', replicas: REPLICAS_AND_ONE, wanted, ...differing };
  return startReplicated(count, nodes, (sentinels) => [
    ...failovers(sentinels, REPLICAS_AND_ONE, wanted).filter(({ replacesAlive }) => !replacesAlive),
    ...losses(sentinels, REPLICAS_AND_ONE),
  ]);
}

export interface Differing {
  /**
   * After how long a silence the Sentinels replace a primary, if not as shipped. A busy machine may stand still
   * for a second, and a primary that is replaced while it works may forget what fewer than all replicas have.
   */
  readonly downAfterMs?: number;
  /** `min-replicas-to-write`, if not as many as an approval waits for. */
  readonly minReplicas?: number;
}

interface Replicated extends Differing {
  readonly name: string;
  readonly replicas: number;
  /** That an approval waits for. */
  readonly wanted: number;
}

async function startReplicated(
  count: number,
  { name, replicas, wanted, downAfterMs, minReplicas = wanted }: Replicated,
  faultsOf: (sentinels: RedisSentinels) => readonly Fault[],
): Promise<SentinelTopology> {
  const ending = endings();
  try {
    const shipped = shippedUntil(ending, { minReplicas });
    const sentinels = await startSentinels({
      replicas,
      sentinels: 3,
      shipped,
      ...(downAfterMs === undefined ? {} : { downAfterMs }),
    });
    ending.add(() => sentinels.stop());
    const store = {
      url: sentinels.url,
      commandTimeoutMs: COMMAND_TIMEOUT_MS,
      connectTimeoutMs: COMMAND_TIMEOUT_MS,
      durability: { replicas: wanted, timeoutMs: 200 },
    };
    const receivers = Array.from({ length: count }, (_, index) =>
      createReceiver({
        name: `receiver ${index + 1}`,
        policies: revisionOf(0).files,
        settings: { answerTimeoutMs: ANSWER_TIMEOUT_MS, ...signedIn(shipped.secrets, store) },
      }),
    );
    ending.add(() => Promise.all(receivers.map((receiver) => receiver.remove())));
    await startAll(receivers);
    const [first] = receivers;
    if (first === undefined) throw new Error('there is no receiver');
    const operated = await storeOf(first, shipped);
    ending.add(() => operated.close());
    return {
      name,
      receivers,
      sentinels,
      store: operated,
      faults: [...receiverFaults(receivers), clockFault(receivers, ANY_HOUR), ...faultsOf(sentinels)],
      promotesWhoMissed: promotesWhoMissed(sentinels, replicas),
      answerTimeoutMs: ANSWER_TIMEOUT_MS,
      journalLagMs: 0,
      stop: ending.run,
    };
  } catch (thrown) {
    await ending.run();
    throw thrown;
  }
}

/** Each ends with all replicas following: what comes next must find one that has all. */
function failovers(
  sentinels: RedisSentinels,
  replicas: number,
  wanted: number,
): readonly (Fault & { readonly replacesAlive?: true })[] {
  const to = 'redis';
  return [
    {
      name: 'the primary killed, and a replica promoted',
      to,
      harmless: false,
      async begin() {
        const port = await sentinels.killPrimary();
        return async () => {
          await sentinels.reconfigured();
          await sentinels.restart(port);
          await sentinels.replicated(replicas);
        };
      },
    },
    {
      name: 'the primary stopped by a signal, a replica promoted, and the old primary awake again',
      to,
      harmless: false,
      replacesAlive: true,
      async begin() {
        const port = await sentinels.pausePrimary();
        return async () => {
          await sentinels.reconfigured();
          sentinels.node(port).resume();
          await sentinels.replicated(replicas);
        };
      },
    },
    {
      name: 'the primary killed and back before anybody is promoted',
      to,
      harmless: false,
      replacesAlive: true,
      async begin() {
        const port = await sentinels.primary();
        await sentinels.node(port).kill();
        await sentinels.node(port).restart();
        return () => sentinels.replicated(replicas);
      },
    },
    {
      name: 'all replicas killed: nothing is as durable as it must be',
      to,
      harmless: false,
      async begin() {
        const primary = await sentinels.primary();
        const others = sentinels.nodes.filter(({ port }) => port !== primary);
        await Promise.all(others.map((replica) => replica.kill()));
        return async () => {
          for (const { port } of others) await sentinels.restart(port);
          await sentinels.replicated(replicas);
        };
      },
    },
    {
      name: 'one replica killed, the others have all',
      to,
      harmless: wanted < replicas,
      async begin() {
        const primary = await sentinels.primary();
        const replica = sentinels.nodes.find(({ port }) => port !== primary);
        await replica?.kill();
        return async () => {
          if (replica !== undefined) await sentinels.restart(replica.port);
          await sentinels.replicated(replicas);
        };
      },
    },
    {
      name: 'a Sentinel killed',
      to,
      harmless: true,
      async begin(random) {
        const sentinel = sentinels.sentinels[random.whole(0, sentinels.sentinels.length - 1)];
        await sentinel?.kill();
        return async () => sentinel?.restart();
      },
    },
  ];
}

/** More than one node may be gone; each ends with all of them back. */
function losses(sentinels: RedisSentinels, replicas: number): readonly Fault[] {
  const to = 'redis';
  const oneReplica = async (): Promise<RedisProcess> => {
    const primary = await sentinels.primary();
    const replica = sentinels.nodes.find(({ port }) => port !== primary);
    if (replica === undefined) throw new Error('there is no replica');
    return replica;
  };
  return [
    {
      name: 'a replica stopped by a signal, the others have all',
      to,
      harmless: true,
      async begin() {
        const replica = await oneReplica();
        replica.pause();
        return async () => {
          replica.resume();
          await sentinels.replicated(replicas);
        };
      },
    },
    {
      name: 'a replica killed, and then the primary',
      to,
      harmless: false,
      async begin() {
        const replica = await oneReplica();
        await replica.kill();
        const port = await sentinels.killPrimary();
        return async () => {
          await sentinels.reconfigured();
          for (const gone of [replica.port, port]) await sentinels.restart(gone);
          await sentinels.replicated(replicas);
        };
      },
    },
    {
      name: 'a replica cut off that misses the last of it, and then the primary killed',
      to,
      harmless: false,
      async begin() {
        const replica = await oneReplica();
        await cutOff(replica);
        await pause(IN_STEP_MS);
        const port = await sentinels.killPrimary();
        return async () => {
          await sentinels.reconfigured();
          await reconnect(replica);
          await sentinels.restart(port);
          await sentinels.replicated(replicas);
        };
      },
    },
  ];
}

/** From then on, the replica gets nothing from its primary. */
async function cutOff(replica: RedisProcess): Promise<void> {
  // No password of any user of the primary.
  await replica.ask('CONFIG', 'SET', 'masterauth', 'none');
  await replica.ask('CLIENT', 'KILL', 'TYPE', 'master');
}

async function reconnect(replica: RedisProcess): Promise<void> {
  await replica.ask('CONFIG', 'SET', 'masterauth', PASSWORDS['REPLICA-PASSWORD']);
  // A Sentinel may have had the replica write the password to its file, where a restart would find it.
  await replica.ask('CONFIG', 'REWRITE');
}

const promotesWhoMissed = (sentinels: RedisSentinels, count: number): Fault => ({
  name: 'all replicas cut off from the primary, and one of them promoted that missed the last of it',
  to: 'redis',
  harmless: false,
  async begin() {
    const primary = await sentinels.primary();
    const replicas = sentinels.nodes.filter(({ port }) => port !== primary);
    for (const replica of replicas) {
      await cutOff(replica);
      await pause(IN_STEP_MS);
    }
    return async () => {
      const port = await sentinels.killPrimary();
      for (const replica of replicas) await reconnect(replica);
      await sentinels.reconfigured();
      await sentinels.restart(port);
      await sentinels.replicated(count);
    };
  },
});
