import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../src/start/store.ts';
import { loadSettings } from '../../src/settings/load.ts';
import { createSecrets } from '../../src/settings/secrets.ts';
import type { Store } from '../../src/store/store.ts';
import { systemClock } from '../../src/values/clock.ts';
import {
  type Secrets,
  type ShippedFiles,
  type ShippedTopology,
  shippedFiles,
} from '../../test/deploy/shipped-files.ts';
import { type RedisProcess, startRedisProcess } from '../../test/redis-process.ts';
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

/** In a folder of their own, which is removed at the end. */
export function shippedUntil(ending: ReturnType<typeof endings>, topology?: ShippedTopology): ShippedFiles {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-chaos-'));
  ending.add(() => rmSync(folder, { recursive: true, force: true }));
  return shippedFiles(folder, topology);
}

/** One Redis with them; `config` are lines that count over theirs. */
export async function startOne(
  ending: ReturnType<typeof endings>,
  { folder, user, redis }: ShippedFiles,
  config: readonly string[] = [],
): Promise<RedisProcess> {
  const started = await startRedisProcess({ folder, user, config: () => [...redis, ...config] });
  ending.add(() => started.kill());
  return started;
}

export const urlOf = ({ port }: RedisProcess): string => `redis://127.0.0.1:${port}/0`;

/** Settings of a receiver that signs in to Redis as the shipped user of the service. */
export function signedIn(
  secrets: Secrets,
  store: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return {
    store: { ...store, username: 'countersign', password: { file: secrets.passwordFile('service') } },
    // This user may push no policies.
    policies: { directory: 'policies', push: 'never' },
  };
}

export interface OperatedOptions {
  readonly secrets?: Secrets;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * A store as the settings of a receiver name it, for the operator, who has a user of Redis of their own. It
 * waits for a lock as a service does: a command blocks its thread for much longer, and this thread also sends
 * the callbacks.
 */
export async function storeOf(
  receiver: Receiver,
  { secrets: shipped, env }: OperatedOptions = {},
): Promise<Store> {
  const user = shipped && {
    COUNTERSIGN_STORE_USERNAME: 'countersign-operator',
    COUNTERSIGN_STORE_PASSWORD_FILE: shipped.passwordFile('operator'),
  };
  const settings = loadSettings({ file: join(receiver.folder, 'settings.yaml'), env: { ...user, ...env } });
  const secrets = createSecrets({ env: {}, pollMs: 60_000 });
  const store = await openStore(settings.store, secrets.read, systemClock, { as: 'service' });
  return store;
}
