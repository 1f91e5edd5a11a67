import { Redis } from 'ioredis';
import { openRedisStore } from '../../../src/store/redis/open.ts';
import { startRedisServer } from '../../../test/redis-server.ts';
import { revisionOf } from '../policies.ts';
import { createReceiver, startAll } from '../receivers.ts';
import { type Topology, endings } from '../topology.ts';

const ANSWER_TIMEOUT_MS = 2000;

export interface LossTopology extends Topology {
  /** Resolves once the Redis answers again, and knows nothing of what it knew. */
  readonly lose: () => Promise<void>;
}

/** Receivers on one Redis that keeps nothing on disk: emptied by a command, or killed and started again. */
export async function startLosing(count: number, how: 'flushed' | 'restarted'): Promise<LossTopology> {
  const ending = endings();
  try {
    const redis = await startRedisServer();
    ending.add(() => redis.stop());
    const admin = new Redis(redis.url, { maxRetriesPerRequest: 0 }).on('error', () => undefined);
    ending.add(() => admin.disconnect());
    const receivers = Array.from({ length: count }, (_, index) =>
      createReceiver({
        name: `receiver ${index + 1}`,
        policies: revisionOf(0).files,
        settings: {
          answerTimeoutMs: ANSWER_TIMEOUT_MS,
          store: { url: redis.url, commandTimeoutMs: 1000, connectTimeoutMs: 1000 },
        },
      }),
    );
    ending.add(() => Promise.all(receivers.map((receiver) => receiver.remove())));
    await startAll(receivers);
    const store = await openRedisStore({ url: redis.url, commandTimeoutMs: 1000 });
    ending.add(() => store.close());
    return {
      name: `loss (${how})`,
      receivers,
      store,
      faults: [],
      answerTimeoutMs: ANSWER_TIMEOUT_MS,
      journalLagMs: 0,
      stop: ending.run,
      lose: () => (how === 'restarted' ? redis.restart() : admin.flushall().then(() => undefined)),
    };
  } catch (thrown) {
    await ending.run();
    throw thrown;
  }
}
