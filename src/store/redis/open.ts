import type { Clock } from '../../values/clock.ts';
import type { ClockBounds } from '../clock-state.ts';
import { type Elapsed, systemElapsed } from '../elapsed.ts';
import type { Store, StoreHealth } from '../store.ts';
import type { Durability } from './barrier.ts';
import {
  type Connection,
  type RedisServer,
  type RedisTimeouts,
  type Subscription,
  createConnection,
} from './connection.ts';
import { createDecisions } from './decisions.ts';
import { createDurableStore } from './durability.ts';
import { inspectRedis } from './inspect.ts';
import { createJournal } from './journal.ts';
import { createKeys } from './keys.ts';
import { register } from './in-force.ts';
import { createLists } from './lists.ts';
import { createMemory } from './lost-memory.ts';
import { lossOf, rememberApprovals } from './lost-settle.ts';
import { createOrders } from './orders.ts';
import type { RedisParts, Retention } from './parts.ts';
import { createPrices } from './prices.ts';
import { createReleases } from './releases.ts';
import { createServices } from './services.ts';
import { createTime, lookAt } from './time.ts';

export type RedisStoreOptions = RedisServer &
  Partial<RedisTimeouts> & {
    /** What every key begins with; stores with different prefixes share a Redis. Default `countersign`. */
    readonly prefix?: string;
    /** Default 400 days each. */
    readonly retention?: Retention;
    /** What an approval waits for. Default: no replicas. `timeoutMs` counts up to `commandTimeoutMs`. */
    readonly durability?: Durability;
    /** Without them, every step of the clock is believed, as tests and simulations want it. */
    readonly clockBounds?: ClockBounds;
    /** Only for tests: the time instead of Redis' own, and what passes beside it. */
    readonly clock?: Clock;
    readonly elapsed?: Elapsed;
  };

/** The store on Redis, with its connection for {@link inspectRedis}. */
export interface RedisStore extends Store {
  readonly name: 'redis';
  readonly connection: Connection;
}

const DAY_MS = 86_400_000;
const DEFAULT_RETENTION: Retention = { subjectsMs: 400 * DAY_MS, journalMs: 400 * DAY_MS };
const NO_REPLICAS: Durability = { replicas: 0, timeoutMs: 0 };
const DEFAULT_TIMEOUTS: RedisTimeouts = { commandTimeoutMs: 1000, connectTimeoutMs: 2000 };

/**
 * Opens the store on Redis 7.0 or newer. Resolves also while Redis is down, at the latest after
 * `connectTimeoutMs`: every verb then rejects with STORE_UNREACHABLE at once, until the connection has come
 * about by itself.
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const timeouts: RedisTimeouts = {
    commandTimeoutMs: options.commandTimeoutMs ?? DEFAULT_TIMEOUTS.commandTimeoutMs,
    connectTimeoutMs: options.connectTimeoutMs ?? DEFAULT_TIMEOUTS.connectTimeoutMs,
  };
  const connection = createConnection(options, timeouts);
  const parts: RedisParts = {
    connection,
    keys: createKeys(options.prefix ?? 'countersign'),
    retention: options.retention ?? DEFAULT_RETENTION,
    memory: createMemory(),
    clock: options.clock,
    clockBounds: options.clockBounds,
    elapsed: options.elapsed ?? systemElapsed(),
    witnesses: new Map(),
  };
  const watching = createWatching(parts);
  const verbs = {
    ...createDecisions(parts),
    ...createReleases(parts),
    ...createLists(parts),
    ...createOrders(parts),
    ...createPrices(parts),
    ...createJournal(parts),
    ...createTime(parts),
    ...createServices(parts),
  };
  const { durability = NO_REPLICAS } = options;
  const durable =
    durability.replicas > 0 ? createDurableStore(parts, options, timeouts, durability, verbs) : undefined;
  await Promise.all([connection.settled(), durable?.settled()]);
  return {
    name: 'redis',
    connection,
    ...verbs,
    ...durable?.verbs,
    settle: rememberApprovals(parts, (request) => (durable?.verbs ?? verbs).settle(request)),
    loss: () => lossOf(parts),
    register: (sources) => register(parts, sources),
    health: () => health(parts),
    watch: watching.watch,
    async close() {
      watching.close();
      await durable?.close();
      await connection.close();
    },
  };
}

async function health(parts: RedisParts): Promise<StoreHealth> {
  const { nowMs } = await lookAt(parts, parts.keys.inForce, 'keep');
  const { appendOnly, ...facts } = await inspectRedis(parts);
  return {
    nowMs,
    details: { ...facts, appendOnly: appendOnly ? 'yes' : 'no' },
  };
}

/** Whoever watches shares one connection, made when the first one comes. */
function createWatching({ connection, keys }: RedisParts): Pick<Store, 'watch'> & { close(): void } {
  const watchers = new Set<{ readonly changed: () => void }>();
  let subscription: Subscription | undefined;
  return {
    watch(changed) {
      const watcher = { changed };
      watchers.add(watcher);
      subscription ??= connection.subscribe(keys.changed, () => {
        for (const each of watchers) each.changed();
      });
      return () => void watchers.delete(watcher);
    },
    close() {
      watchers.clear();
      subscription?.close();
    },
  };
}
