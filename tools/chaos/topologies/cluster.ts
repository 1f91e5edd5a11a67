import { createKeys } from '../../../src/store/redis/keys.ts';
import { type RedisCluster, startRedisCluster } from '../../../test/redis-cluster.ts';
import { ANY_HOUR, type Fault, clockFault, receiverFaults } from '../faults.ts';
import { revisionOf } from '../policies.ts';
import type { Random } from '../random.ts';
import { createReceiver, startAll } from '../receivers.ts';
import { type Topology, endings, shippedUntil, signedIn, storeOf } from '../topology.ts';

const ANSWER_TIMEOUT_MS = 2000;
const COMMAND_TIMEOUT_MS = 1000;
const keys = createKeys('countersign');
/** One key in each of the slots in which there is anything at all. */
const KEYS = [keys.of('shop').control, keys.of('vault').control, keys.inForce] as const;

/** Receivers on a Cluster of three primaries that have on disk what they acknowledged. */
export async function startCluster(count: number): Promise<Topology> {
  const ending = endings();
  try {
    const shipped = shippedUntil(ending, { cluster: true });
    const cluster = await startRedisCluster({ primaries: 3, shipped });
    ending.add(() => cluster.stop());
    const timeouts = { commandTimeoutMs: COMMAND_TIMEOUT_MS, connectTimeoutMs: COMMAND_TIMEOUT_MS };
    const receivers = Array.from({ length: count }, (_, index) =>
      createReceiver({
        name: `receiver ${index + 1}`,
        policies: revisionOf(0).files,
        settings: {
          answerTimeoutMs: ANSWER_TIMEOUT_MS,
          ...signedIn(shipped.secrets, { url: cluster.url, ...timeouts }),
        },
      }),
    );
    ending.add(() => Promise.all(receivers.map((receiver) => receiver.remove())));
    await startAll(receivers);
    const [first] = receivers;
    if (first === undefined) throw new Error('there is no receiver');
    const store = await storeOf(first, shipped);
    ending.add(() => store.close());
    return {
      name: 'cluster',
      receivers,
      store,
      faults: [...receiverFaults(receivers), clockFault(receivers, ANY_HOUR), ...clusterFaults(cluster)],
      answerTimeoutMs: ANSWER_TIMEOUT_MS,
      journalLagMs: 0,
      stop: ending.run,
    };
  } catch (thrown) {
    await ending.run();
    throw thrown;
  }
}

function clusterFaults(cluster: RedisCluster): readonly Fault[] {
  const another = async (key: string, random: Random): Promise<number> => {
    const owner = await cluster.ownerOf(key);
    const others = cluster.nodes.filter(({ port }) => port !== owner);
    return others[random.whole(0, others.length - 1)]?.port ?? owner;
  };
  const ownerOfOne = async (random: Random): Promise<number> => cluster.ownerOf(random.oneOf(KEYS));
  return [
    {
      name: 'slots moved while they are asked for',
      to: 'redis',
      harmless: false,
      async begin(random) {
        for (const key of KEYS) await cluster.moveSlot(key, await another(key, random));
        return () => Promise.resolve();
      },
    },
    {
      name: 'a slot that stays half moved',
      to: 'redis',
      harmless: false,
      async begin(random) {
        const key = random.oneOf(KEYS);
        const move = await cluster.beginMove(key, await another(key, random));
        await move.moveKeys(random.whole(1, 40));
        return () => move.finish();
      },
    },
    {
      name: 'a node killed',
      to: 'redis',
      harmless: false,
      async begin(random) {
        const port = await ownerOfOne(random);
        await cluster.killNode(port);
        return () => cluster.restart(port);
      },
    },
    {
      name: 'a node stopped by a signal',
      to: 'redis',
      harmless: false,
      async begin(random) {
        const port = await ownerOfOne(random);
        cluster.node(port).pause();
        return async () => {
          cluster.node(port).resume();
          await cluster.served();
        };
      },
    },
  ];
}
