import { revisionOf } from '../policies.ts';
import { createReceiver, startAll } from '../receivers.ts';
import { type Topology, endings, shippedUntil, signedIn, startOne, storeOf, urlOf } from '../topology.ts';

const ANSWER_TIMEOUT_MS = 2000;

export interface LossTopology extends Topology {
  /** Resolves once the Redis answers again, and knows nothing of what it knew. */
  readonly lose: () => Promise<void>;
}

/** Receivers on one Redis that keeps nothing on disk: emptied by a command, or killed and started again. */
export async function startLosing(count: number, how: 'flushed' | 'restarted'): Promise<LossTopology> {
  const ending = endings();
  try {
    const shipped = shippedUntil(ending);
    const redis = await startOne(ending, shipped, ['appendonly no', 'save ""']);
    const receivers = Array.from({ length: count }, (_, index) =>
      createReceiver({
        name: `receiver ${index + 1}`,
        policies: revisionOf(0).files,
        settings: {
          answerTimeoutMs: ANSWER_TIMEOUT_MS,
          ...signedIn(shipped.secrets, {
            url: urlOf(redis),
            commandTimeoutMs: 1000,
            connectTimeoutMs: 1000,
          }),
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
      name: `loss (${how})`,
      receivers,
      store,
      faults: [],
      answerTimeoutMs: ANSWER_TIMEOUT_MS,
      journalLagMs: 0,
      stop: ending.run,
      lose: () => (how === 'restarted' ? redis.restart() : redis.ask('FLUSHALL').then(() => undefined)),
    };
  } catch (thrown) {
    await ending.run();
    throw thrown;
  }
}
