import { CountersignError } from '../../errors.ts';
import type { Clock } from '../../values/clock.ts';
import type { ClockBounds } from '../clock-state.ts';
import { type Elapsed, systemElapsed } from '../elapsed.ts';
import { DEFAULT_RETENTION, type Retention } from '../retention.ts';
import { explained } from '../kept-decision.ts';
import type { Store, StoreHealth } from '../store.ts';
import {
  type Connection,
  type RedisServer,
  type RedisTimeouts,
  type Subscription,
  createConnection,
} from './connection.ts';
import { createLossDetection } from './data-loss.ts';
import { createAccess } from './access.ts';
import { createApprovalRequests } from './approval-requests.ts';
import { createDecisions } from './decisions.ts';
import { inspectRedis, unsafeReason } from './inspect.ts';
import { createJournal } from './journal.ts';
import { createKeys } from './keys.ts';
import { createLists } from './lists.ts';
import { createCounts } from './counts.ts';
import { createLockouts } from './lockouts.ts';
import { createOrders } from './orders.ts';
import type { RedisParts } from './parts.ts';
import { assertPlaced, createPlaces, readPlaces } from './places.ts';
import { createPrices } from './prices.ts';
import { createReleases } from './releases.ts';
import { type Durability, createReplication } from './replication.ts';
import { createServices } from './services.ts';
import { createTime, compareClock } from './time.ts';

export type RedisStoreOptions = RedisServer &
  Partial<RedisTimeouts> & {
    /** The start of each key. Stores with different prefixes can share a Redis. Default `countersign`. */
    readonly prefix?: string;
    /** By source, the group that it has in the settings. On a Cluster, it decides where new sources are. */
    readonly groups?: ReadonlyMap<string, string>;
    /** Default 400 days each. */
    readonly retention?: Retention;
    /** Default: no replicas. `timeoutMs` must not exceed `commandTimeoutMs`. */
    readonly durability?: Durability;
    /** Without it, the store accepts every step of the clock, as tests and simulations need it. */
    readonly clockBounds?: ClockBounds;
    /** For tests: replaces the time of Redis, and the time that passes in this process. */
    readonly clock?: Clock;
    readonly elapsed?: Elapsed;
  };

/** The store on Redis, with its connection for {@link inspectRedis}. */
export interface RedisStore extends Store {
  readonly name: 'redis';
  readonly connection: Connection;
}

const NO_REPLICAS: Durability = { replicas: 0, timeoutMs: 0 };
const DEFAULT_TIMEOUTS: RedisTimeouts = { commandTimeoutMs: 1000, connectTimeoutMs: 2000 };

/**
 * Opens the store on Redis 7.0 or newer. Resolves after `connectTimeoutMs` at the latest, even while Redis is
 * down: each verb then rejects with STORE_UNREACHABLE at once, until the connection is ready.
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const timeouts: RedisTimeouts = {
    commandTimeoutMs: options.commandTimeoutMs ?? DEFAULT_TIMEOUTS.commandTimeoutMs,
    connectTimeoutMs: options.connectTimeoutMs ?? DEFAULT_TIMEOUTS.connectTimeoutMs,
  };
  const connection = createConnection(options, timeouts);
  const places = createPlaces(connection.isCluster, options.groups ?? new Map());
  const parts: RedisParts = {
    connection,
    keys: createKeys(options.prefix ?? 'countersign', places.groupOf),
    places,
    retention: options.retention ?? DEFAULT_RETENTION,
    clock: options.clock,
    clockBounds: options.clockBounds,
    elapsed: options.elapsed ?? systemElapsed(),
    lastPlausibleClock: new Map(),
  };
  const losses = createLossDetection(parts);
  const journal = createJournal(parts);
  const { durability = NO_REPLICAS } = options;
  const replication =
    durability.replicas > 0 ? createReplication(parts, options, timeouts, durability, journal) : undefined;
  const releases = createReleases(parts, losses);
  const verbs = {
    ...createDecisions(parts, losses, replication?.approval ?? (() => Promise.resolve())),
    ...releases,
    ...createLists(parts),
    ...createOrders(parts),
    ...createApprovalRequests(parts),
    ...createLockouts(parts),
    ...createCounts(parts),
    ...createPrices(parts, losses),
    ...journal,
    ...explained(journal, (revision) => releases.document(revision)),
    ...createTime(parts, losses.sources),
    ...createServices(parts),
    ...createAccess(parts),
  };
  await Promise.all([connection.connectedOrTimedOut(), replication?.connectedOrTimedOut()]);
  // If this fails, `checkSafety` and `register` read them, and what needs them rejects until then.
  await readPlaces(parts).catch(() => undefined);
  const watchers = createWatchers(parts);
  return {
    name: 'redis',
    connection,
    ...verbs,
    ...replication?.replicated(verbs),
    async checkSafety() {
      const unsafe = unsafeReason(await inspectRedis(parts));
      if (unsafe !== undefined) throw new CountersignError('STORE_UNSAFE', unsafe);
      await assertPlaced(parts);
    },
    pendingLoss: () => losses.pendingReason(),
    health: () => health(parts),
    watch: watchers.watch,
    async close() {
      watchers.close();
      await replication?.close();
      await connection.close();
    },
  };
}

async function health(parts: RedisParts): Promise<StoreHealth> {
  const { nowMs } = await compareClock(parts, parts.keys.inForce, 'keep');
  const { appendOnly, loadDenied: _denied, ...facts } = await inspectRedis(parts);
  return {
    nowMs,
    details: { ...facts, appendOnly: appendOnly ? 'yes' : 'no' },
  };
}

/** All watchers share one connection, which the first one opens. */
function createWatchers({ connection, keys }: RedisParts): Pick<Store, 'watch'> & { close(): void } {
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
