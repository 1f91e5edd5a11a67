import { join } from 'node:path';
import { openStore } from '../../src/compose/store.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { createSecrets } from '../../src/settings/secrets.ts';
import type { Store } from '../../src/store/store.ts';
import { systemClock } from '../../src/values/clock.ts';
import type { Fault } from './faults.ts';
import type { Receiver } from './receivers.ts';

/** Receivers on one store, and all that can go wrong there. */
export interface Topology {
  readonly name: string;
  readonly receivers: readonly Receiver[];
  /** A handle of the operator's own, which no fault of the network touches. */
  readonly store: Store;
  readonly faults: readonly Fault[];
  readonly answerTimeoutMs: number;
  /** See `History`. */
  readonly journalLagMs: number;
  /** Ends all of it, and removes its files. */
  readonly stop: () => Promise<void>;
}

/** Runs in order what is to be ended, last begun first, and all of it also if some reject. */
export function endings(): {
  readonly add: (ends: () => unknown) => void;
  readonly run: () => Promise<void>;
} {
  const all: (() => unknown)[] = [];
  return {
    add: (ends) => void all.unshift(ends),
    async run() {
      const thrown: unknown[] = [];
      for (const ends of all.splice(0)) {
        await Promise.resolve()
          .then(ends)
          .catch((failed: unknown) => thrown.push(failed));
      }
      if (thrown.length > 0) throw new AggregateError(thrown, 'not all that was started could be ended');
    },
  };
}

/**
 * A store as the settings of a receiver name it, for the operator. It waits for a lock as a service does: a
 * command blocks its thread for much longer, and this thread also sends the callbacks.
 */
export async function storeOf(receiver: Receiver): Promise<Store> {
  const settings = loadSettings({ file: join(receiver.folder, 'settings.yaml'), env: {} });
  const secrets = createSecrets({ env: {}, pollMs: 60_000 });
  const store = await openStore(settings.store, secrets.read, systemClock, { as: 'service' });
  return store;
}
