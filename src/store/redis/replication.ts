import { z } from 'zod';
import { CountersignError, messageOf } from '../../errors.ts';
import { storeTraces, traced } from '../../observe/traces.ts';
import { notificationStepOf } from '../settle-step.ts';
import type { Control, Store } from '../store.ts';
import {
  type ArgumentOf,
  type ReplicatedVerb,
  type ResultOf,
  type VerbOf,
  type Verbs,
  makeVerbs,
} from '../verbs.ts';
import { type Connection, type RedisServer, type RedisTimeouts, createConnection } from './connection.ts';
import { knownSources } from './in-force.ts';
import { type Keys, requestKeys } from './keys.ts';
import type { RedisParts } from './parts.ts';
import { count, parseReply } from './reply.ts';
import { loadScript } from './script.ts';

/*
 * Replica acknowledgement. Redis replicates asynchronously: it acknowledges a write before its replicas have
 * it, and a failover to a replica then loses the write. With `store.durability.replicas` above 0, the store
 * waits with `WAIT` until that many replicas have acknowledged a write, and only then resolves. It does so
 * for each SUCCESS, and for each change that must not be lost: a push, a freeze, an unfreeze, a change of a
 * list, of prices or of an approval request, a cancelled order. A refusal doesn't wait, because losing a
 * refusal approves nothing.
 *
 * A write that is not acknowledged in time rejects with STORE_UNREACHABLE, at the latest `commandTimeoutMs`
 * after the write itself. It stays on the primary. If a SUCCESS is rejected in this way, the journal gets an
 * entry of type `late`, because the answer is FAILURE. A repeat waits for the replicas again.
 *
 * `WAIT` blocks all later commands of its connection, so the waits use a separate connection. It may reach
 * another primary than the one that has the write. So each wait is one pipeline of two commands:
 *
 * 1. `check-writes.lua` checks that this primary still has the write: the journal entry by its id, subject
 *    and terms, or the field by its value. If not, a failover has lost it. Then it writes the key `barrier`,
 *    because `WAIT` waits only for writes of its own connection. Replication is in order, so a replica with
 *    the later write has the earlier one.
 * 2. `WAIT` returns how many replicas have acknowledged it.
 *
 * One wait at a time is in flight; the writes that arrive meanwhile share the next one. On a Cluster, each
 * source has its own waits, because its slot has its own replicas.
 */

/** How many replicas must acknowledge a write, and within what time. */
export interface Durability {
  readonly replicas: number;
  readonly timeoutMs: number;
}

export interface Approval {
  readonly source: string;
  /** The id of its journal entry. */
  readonly id: string;
  readonly subject: string;
  /** The empty text if the subject keeps none. */
  readonly terms: string;
}

export interface Replication {
  /** Resolves when enough replicas have the approval. Rejects with STORE_UNREACHABLE otherwise. */
  readonly approval: (approval: Approval) => Promise<void>;
  /** The same verbs, which wait for the replicas. */
  replicated(verbs: Verbs<ReplicatedVerb>): Pick<Store, ReplicatedVerb>;
  /** Resolves when its connection is ready, or after `connectTimeoutMs`. */
  connectedOrTimedOut(): Promise<void>;
  close(): Promise<void>;
}

export function createReplication(
  parts: RedisParts,
  server: RedisServer,
  timeouts: RedisTimeouts,
  durability: Durability,
  journal: Pick<Store, 'record'>,
): Replication {
  const connection = createConnection(server, timeouts);
  const acknowledge = createAcknowledgements(connection, parts.keys, durability, timeouts.commandTimeoutMs);
  const waitForApproval = createReplicaWait(acknowledge, durability, recordLate(journal));
  const waitForChange = createReplicaWait(acknowledge, durability);
  const approval = (given: Approval): Promise<void> => waitForApproval(approvalChange(parts, given));
  return {
    approval,
    replicated: (verbs) => replicatedVerbs(verbs, createWaits(parts, approval, waitForChange)),
    connectedOrTimedOut: () => connection.connectedOrTimedOut(),
    close: () => connection.close(),
  };
}

function approvalChange({ keys }: RedisParts, approval: Approval): Change {
  const { source, id, subject, terms } = approval;
  return {
    name: subject === '' ? `the entry ${source}/${id}` : `the SUCCESS of ${source} for ${subject}`,
    fix: 'Ask again: the answer is SUCCESS once they have it',
    approval,
    writes: [
      {
        source,
        keys: [keys.of(source).journal, keys.of(source).subject(subject)],
        args: ['entry', id, subject, terms],
      },
    ],
  };
}

/** What each verb waits for, once it has written. */
type Waits = {
  readonly [V in ReplicatedVerb]: (
    argument: ArgumentOf<Store, V>,
    result: ResultOf<Store, V>,
  ) => Promise<void> | undefined;
};

function replicatedVerbs(verbs: Verbs<ReplicatedVerb>, waits: Waits): Pick<Store, ReplicatedVerb> {
  return makeVerbs('replicated', <V extends ReplicatedVerb>(verb: V): VerbOf<V> => async (argument) => {
    const result = await verbs[verb](argument);
    await waits[verb](argument, result);
    return result;
  });
}

const REPEAT = 'Repeat the change';

function createWaits(
  parts: RedisParts,
  approval: (approval: Approval) => Promise<void>,
  wait: ReplicaWait,
): Waits {
  const { keys } = parts;
  /** Waits until the record and each copy of what is in force have this number or a higher one in a field. */
  async function inForce(name: string, field: 'sequence' | 'prices', number: number): Promise<void> {
    const args = ['at-least', field, String(number)] as const;
    const sources = await knownSources(parts);
    const copies = sources.map((source) => ({ source, keys: [keys.of(source).control], args }));
    const record = { source: undefined, keys: [keys.inForce], args };
    await wait({ name, fix: REPEAT, writes: [record, ...copies] });
  }
  const control = (name: string, { sequence }: Control): Promise<void> => inForce(name, 'sequence', sequence);
  const change = (name: string, write: Write): Promise<void> => wait({ name, fix: REPEAT, writes: [write] });
  return {
    recordNotification: (request, { id, verdict }) =>
      verdict === 'SUCCESS' ? approval({ ...notificationStepOf(request), id }) : undefined,
    record: (record, id) =>
      record.verdict === 'SUCCESS' ? approval({ ...record, id, terms: '' }) : undefined,
    push: ({ revision }, result) => control(`the push of ${revision}`, result.control),
    freeze: (_given, result) => control(`the freeze ${result.freeze.id}`, result.control),
    unfreeze: ({ ids }, result) => control(`the end of ${ids.join(', ')}`, result.control),
    changePrices: (_change, { version }) => inForce('the change of prices', 'prices', version),
    changeList({ source }, { summary: { list, version } }) {
      const args = ['at-least', list, String(version)] as const;
      return change(`the change of the list ${list} of ${source}`, {
        source,
        keys: [keys.of(source).lists],
        args,
      });
    },
    releaseApproval({ source, subject }, result) {
      if (!('released' in result)) return undefined;
      const args = ['same', 'released', result.released.id] as const;
      const names = [keys.of(source).subject(subject)];
      return change(`the release of ${source} for ${subject}`, { source, keys: names, args });
    },
    changeApprovalRequest({ scope, id, expected }, { done }) {
      if (!done) return undefined;
      const args = ['at-least', 'version', String(expected + 1)] as const;
      const names = [requestKeys(keys, scope).request(id)];
      const source = scope === '' ? undefined : scope;
      return change(`the change of the approval request ${id}`, { source, keys: names, args });
    },
    cancelOrder({ source, subject }, { order }) {
      if (order.state !== 'cancelled') return undefined;
      const args = ['same', 'state', 'cancelled'] as const;
      const names = [keys.of(source).order(subject)];
      return change(`the cancellation of the order of ${source} for ${subject}`, {
        source,
        keys: names,
        args,
      });
    },
  };
}

// ---- waiting for a change ----

/** Writes that must be on replicas, with the words for an error. */
export interface Change {
  readonly name: string;
  readonly fix: string;
  readonly writes: readonly Write[];
  readonly approval?: Approval;
}

type ReplicaWait = (change: Change) => Promise<void>;

/**
 * Rejects with STORE_UNREACHABLE unless enough replicas have all writes. Calls `onLate` before if the primary
 * has them.
 */
export function createReplicaWait(
  acknowledge: Acknowledge,
  durability: Durability,
  onLate: (change: Change, because: string) => void = () => {},
): ReplicaWait {
  return async (change) => {
    const message = { system: 'redis', operation: 'WAIT' } as const;
    const shortfall = await traced(storeTraces, message, () => shortfallOf(acknowledge, durability, change));
    if (shortfall === undefined) return;
    if (!shortfall.isLost) onLate(change, shortfall.because);
    throw notReplicated(change, shortfall, durability);
  };
}

interface Shortfall {
  /** The current primary does not have the writes. */
  readonly isLost: boolean;
  readonly because: string;
  /** How many replicas had them; undefined if unknown. */
  readonly had?: number;
}

async function shortfallOf(
  acknowledge: Acknowledge,
  durability: Durability,
  { writes }: Change,
): Promise<Shortfall | undefined> {
  let results: readonly Acknowledgement[];
  try {
    results = await Promise.all(writes.map(acknowledge));
  } catch (thrown) {
    const because = `it is not known whether ${replicasOf(durability)} have it: ${messageOf(thrown)}`;
    return { isLost: false, because };
  }
  const had = Math.min(...results.map(({ replicas }) => replicas));
  if (!results.every(({ isPresent }) => isPresent)) {
    const because = 'the current primary does not have it, because of a failover';
    return { isLost: true, because, had };
  }
  if (had >= durability.replicas) return undefined;
  const because =
    `${had} of ${replicasOf(durability)} have it after ${durability.timeoutMs} ms ` +
    '(store.durability.timeoutMs); look at `INFO replication` of the primary, ' +
    'and start or repair its replicas';
  return { isLost: false, because, had };
}

const replicasOf = ({ replicas }: Durability): string =>
  `the ${replicas} replica${replicas === 1 ? '' : 's'} that store.durability.replicas requires`;

function notReplicated(
  { name, fix }: Change,
  { isLost, because, had }: Shortfall,
  { replicas }: Durability,
): CountersignError {
  const where = isLost ? 'is lost' : 'is on the primary, but may not be on its replicas';
  return new CountersignError('STORE_UNREACHABLE', `${name} ${where}: ${because}. ${fix}`, {
    replicas,
    ...(had !== undefined && { had }),
  });
}

/** Tries to record in the journal that an approval, which is in the journal, was not answered as SUCCESS. */
function recordLate({ record }: Pick<Store, 'record'>): (change: Change, because: string) => void {
  return ({ approval }, because) => {
    if (approval === undefined) return;
    const { source, subject, id } = approval;
    const detail = JSON.stringify({ because });
    record({ source, type: 'late', subject, verdict: 'FAILURE', code: 'NOT_DURABLE', of: id, detail }).catch(
      () => undefined,
    );
  };
}

// ---- waiting for a write ----

/** A write, as `check-writes.lua` finds it again. */
export interface Write {
  /** The source in whose slot the write is; undefined for data of all sources. */
  readonly source: string | undefined;
  readonly keys: readonly string[];
  readonly args: readonly [kind: 'entry' | 'at-least' | 'same', ...rest: string[]];
}

export interface Acknowledgement {
  /** False if the current primary does not have the write: a failover lost it. */
  readonly isPresent: boolean;
  /** How many replicas acknowledged it in time. */
  readonly replicas: number;
}

type Acknowledge = (write: Write) => Promise<Acknowledgement>;

const WRITES_PER_WAIT = 100;
/** How long Redis keeps the key that a wait writes. Nothing reads the key. */
const KEY_LIFETIME_MS = '60000';

const checkScript = loadScript('check-writes');

/**
 * Returns a function that resolves once `replicas` have a write, or after `timeoutMs`. It rejects if there is
 * no reply within `waitMs`. The connection must not be used for anything else.
 */
export function createAcknowledgements(
  connection: Connection,
  keys: Keys,
  durability: Durability,
  waitMs: number,
): Acknowledge {
  const queues = new Map<string, Acknowledge>();
  const wait: WaitFor = (writes) => waitForWrites(connection, keys, durability, writes);
  return (write) => {
    const slot = connection.isCluster ? JSON.stringify(write.source ?? null) : '';
    const queue = queues.get(slot) ?? createQueue(wait, waitMs);
    queues.set(slot, queue);
    return queue(write);
  };
}

type WaitFor = (writes: readonly Write[]) => Promise<readonly Acknowledgement[]>;

async function waitForWrites(
  connection: Connection,
  keys: Keys,
  { replicas, timeoutMs }: Durability,
  writes: readonly Write[],
): Promise<readonly Acknowledgement[]> {
  const source = writes[0]?.source;
  const { barrier } = source === undefined ? keys : keys.of(source);
  const names = [barrier, ...writes.flatMap((write) => write.keys)];
  const args = [KEY_LIFETIME_MS, ...writes.flatMap((write) => write.args)];
  // The script is sent as text, because a pipeline can't react to NOSCRIPT.
  const [checked, acknowledged] = await connection.pipeline([
    ['eval', checkScript.source, names.length, ...names, ...args],
    ['wait', replicas, timeoutMs],
  ]);
  const present = parseReply(z.array(count).length(writes.length), 'the writes to wait for', checked);
  const had = parseReply(count, 'the replicas that have them', acknowledged);
  return present.map((each) => ({ isPresent: each === 1, replicas: had }));
}

interface QueuedWrite {
  readonly write: Write;
  readonly resolve: (result: Acknowledgement) => void;
  readonly reject: (reason: unknown) => void;
  readonly timer: NodeJS.Timeout;
  isOver: boolean;
}

/** Runs one wait at a time. Each write waits in the queue for at most `waitMs`. */
function createQueue(wait: WaitFor, waitMs: number): Acknowledge {
  let waiting: QueuedWrite[] = [];
  let isRunning = false;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const open = waiting.filter(({ isOver }) => !isOver);
      waiting = open.slice(WRITES_PER_WAIT);
      await settleBatch(open.slice(0, WRITES_PER_WAIT), wait);
    }
    isRunning = false;
  }

  return (write) =>
    new Promise((resolve, reject) => {
      const end = (): void => {
        entry.isOver = true;
        clearTimeout(entry.timer);
      };
      const entry: QueuedWrite = {
        write,
        isOver: false,
        resolve: (result) => (end(), resolve(result)),
        reject: (reason) => (end(), reject(reason)),
        timer: setTimeout(() => entry.reject(new Error(`there was no reply within ${waitMs} ms`)), waitMs),
      };
      waiting.push(entry);
      if (isRunning) return;
      isRunning = true;
      // All writes of this turn of the event loop share the first wait as well.
      setImmediate(() => void run());
    });
}

async function settleBatch(batch: readonly QueuedWrite[], wait: WaitFor): Promise<void> {
  if (batch.length === 0) return;
  try {
    const results = await wait(batch.map(({ write }) => write));
    for (const [index, each] of batch.entries()) {
      const result = results[index];
      if (result === undefined) each.reject(new Error('the reply does not mention this write'));
      else each.resolve(result);
    }
  } catch (thrown) {
    for (const each of batch) each.reject(thrown);
  }
}
