import { randomInt } from 'node:crypto';
import { CountersignError } from '../../errors.ts';
import type { SettleResult } from '../store.ts';
import { compareIds } from './journal.ts';
import {
  type ExpectedCopy,
  type LossKind,
  type StoreState,
  newEpoch,
  publishChange,
  readState,
  updateCopies,
} from './in-force.ts';
import { type RedisParts, clockArgument } from './parts.ts';
import { readPlaces } from './places.ts';
import { loadScript, run } from './script.ts';

/*
 * Data-loss detection. Redis can lose data: by FLUSHALL, a restart without persistence, a restored backup, or
 * a failover to a replica that was behind. The store then forgets approvals, and limits count too little, so
 * Countersign could approve an order twice. Each running process detects a loss by comparing Redis with what
 * the process remembers.
 *
 * What Redis keeps
 * - The store has an epoch: a random id, in the record of what is in force.
 * - Each source has a copy of the epoch. It gets this copy when it is first registered, and never again by
 *   itself.
 * - Next to that copy, each process keeps its high-water mark in a field `w:N`: the id of the newest approval
 *   that the process was given for this source. `settle` writes it in the same step as the approval.
 *
 * What a process remembers
 * - The epoch and, for each source that it registered, its high-water mark.
 * - The sequence, the freezes and the newest id of a freeze that it saw in force.
 *
 * What counts as a loss
 * - A source's copy is missing (`gone`), has another epoch (`other`), or has an older high-water mark
 *   (`behind`). `settle` and each update of the copies check this inside Redis.
 * - The record of what is in force is missing, has an unknown epoch, or has a lower sequence than the process
 *   saw. `readState` checks this.
 *
 * What follows
 * 1. From this moment the process approves nothing. `settle` and `recordNotification` reject with STORE_LOST,
 *    even for an approval that was already in flight, because it may be among the lost data.
 * 2. The process starts another epoch and adds the old one to the epochs that were declared lost, so that two
 *    processes do not declare the same loss twice. It freezes the store under the new epoch, for all
 *    processes. Freezes that were lost are restored. If this fails, the next read tries again.
 * 3. Until an operator acknowledges the loss, sources accept only frozen records. `unfreeze` with
 *    `acknowledgeLoss` registers all sources in the new epoch.
 * 4. A process that finds its epoch among those declared lost forgets its high-water marks.
 *
 * What stays undetected: a process that starts after the loss remembers nothing, and starts an emptied Redis
 * over. Other running processes freeze the store with their next read; until then, the new process may
 * approve an order again. If no other process runs, nobody detects the loss.
 */

const declareLossScript = loadScript('declare-loss-1');

export interface LossDetection extends ProcessMemory {
  /**
   * Reads what is in force, compares it with what this process remembers, and remembers it. Freezes the store
   * for a loss, including one that could not be frozen before. Throws STORE_LOST if that fails.
   *
   * `sequence`: a lower sequence than this process saw is a loss as well. A caller that makes a change omits
   * it, because the change increments the sequence.
   */
  readState(options?: { readonly sequence: boolean }): Promise<StoreState>;
  /**
   * Updates the copies of the sources, by default of all, and freezes the store if a source has lost data.
   * `state` is the state given, or the state after such a freeze.
   */
  updateCopies(
    state: StoreState,
    sources?: readonly string[],
  ): Promise<{ readonly state: StoreState; readonly highestOther: number }>;
  /**
   * Freezes the store for a loss that a settle found, and returns the error to reject with. Doesn't wait for
   * the freeze: if it fails, the next read repeats it.
   */
  reportFromSettle(source: string, loss: LossKind, expected: ExpectedCopy): CountersignError;
  /**
   * Why this process approves nothing until it has frozen the store for a loss; undefined if it found none.
   */
  pendingReason(): string | undefined;
}

export function createLossDetection(parts: RedisParts): LossDetection {
  const memory = createProcessMemory();
  const freeze = createLossFreezer(parts, memory);

  async function readAndCompare(options = { sequence: false }): Promise<StoreState> {
    const pending = memory.pending();
    if (pending !== undefined) await freeze(pending);
    let state = await read(parts, memory);
    // While a Cluster moves a slot, a reply can be outdated: a loss must be found twice.
    if (lossIn(memory, state, options) !== undefined) state = await read(parts, memory);
    const found = lossIn(memory, state, options);
    if (found !== undefined) {
      await freeze({ found, epoch: memory.epoch() });
      state = await read(parts, memory);
    }
    const lossAfterFreeze = lossIn(memory, state, { sequence: false });
    if (lossAfterFreeze !== undefined || state.epoch === undefined)
      throw lossError(lossAfterFreeze ?? found ?? ALL_LOST);
    memory.update(state.epoch, seenIn(state));
    return state;
  }

  return {
    ...memory,
    readState: readAndCompare,
    async updateCopies(state, sources) {
      const { lost, highestOther } = await updateCopies(parts, state, expectedIn(memory, state), sources);
      // While the store is frozen for a loss, a source that has not registered again is no further loss.
      if (state.isFrozenForLoss || lost.length === 0) return { state, highestOther };
      const found = lost.map(([source, loss]) => LOSS_TEXT[loss](source)).join(', and ');
      await freeze({ found, epoch: state.epoch });
      return { state: await readAndCompare(), highestOther };
    },
    reportFromSettle(source, loss, expected) {
      const found = LOSS_TEXT[loss](source);
      const epoch = expected.epoch === '' ? memory.epoch() : expected.epoch;
      freeze({ found, epoch }).catch(() => undefined);
      return lossError(found);
    },
    pendingReason() {
      const loss = memory.pending();
      return loss === undefined ? undefined : freezeFor(loss.found).reason;
    },
  };
}

/**
 * Returns a function that freezes the store for a loss. As soon as the function is called, this process
 * approves nothing. If the call rejects, it must be repeated. If the loss was declared before, Redis stays as
 * it is, even if an operator has acknowledged it.
 */
function createLossFreezer(parts: RedisParts, memory: ProcessMemory): (loss: Loss) => Promise<void> {
  const { connection, keys } = parts;

  async function declareLoss({ found, epoch = '' }: Loss): Promise<void> {
    const { reason, by } = freezeFor(found);
    const { sequence, freezes, lastFreezeNumber } = memory.seen();
    const args = [clockArgument(parts), reason, by, epoch, newEpoch(), sequence, freezes, lastFreezeNumber];
    await run(connection, declareLossScript, [keys.inForce], args);
    // An emptied Redis does not know the sources and their places, and each needs the freeze.
    const sources = memory.sources();
    await readPlaces(parts, sources);
    if (sources.length > 0) await connection.call('sadd', [keys.sources, ...sources]);
    const state = await read(parts, memory);
    if (state.epoch === undefined) throw lossError(found);
    await publishChange(parts, state.current[0]);
    await updateCopies(parts, state, expectedIn(memory, state));
    // Only now: if an update fails, the next attempt must declare the old epoch lost, not the new one.
    memory.update(state.epoch, seenIn(state));
  }

  return (loss) => {
    memory.setPending(loss);
    return memory.runFreeze(() => declareLoss(loss));
  };
}

const read = (parts: RedisParts, memory: ProcessMemory): Promise<StoreState> =>
  readState(parts, { start: memory.epoch() === undefined });

/** Returns what each copy must have. Marks of another epoch are ignored. */
function expectedIn(memory: ProcessMemory, { epoch = '' }: StoreState): (source: string) => ExpectedCopy {
  return (source) => ({
    epoch,
    field: memory.field,
    highWaterMark: epoch === memory.epoch() ? memory.highWaterMark(source) : '',
  });
}

function seenIn({ current, lastFreezeNumber }: StoreState): SeenState {
  return { sequence: Number(current[0]), freezes: current[4], lastFreezeNumber };
}

function lossIn(
  memory: ProcessMemory,
  { epoch, lostEpochs, current }: StoreState,
  { sequence }: { readonly sequence: boolean },
): string | undefined {
  const known = memory.epoch();
  if (known === undefined) return undefined;
  if (epoch === undefined) return ALL_LOST;
  if (epoch !== known) {
    return lostEpochs.includes(known)
      ? undefined
      : 'Redis holds another store than before: it was emptied or restored from an old copy';
  }
  return sequence && Number(current[0]) < memory.seen().sequence
    ? 'Redis no longer has the latest change of policies, prices or freezes that this process read from it'
    : undefined;
}

// ---- what a process remembers ----

/** A loss that was found, and the epoch that this process knew then. */
export interface Loss {
  /** A sentence without its full stop. */
  readonly found: string;
  readonly epoch: string | undefined;
}

/** What the last read found in force. */
export interface SeenState {
  readonly sequence: number;
  /**
   * The freezes in effect, as JSON, or the empty text. If they are lost, the freeze for the loss restores
   * them.
   */
  readonly freezes: string;
  /** The number in the newest id of a freeze, so that no id is reused. */
  readonly lastFreezeNumber: number;
}

/** What one process remembers of the store. */
export interface ProcessMemory {
  /**
   * The field of each source's copy that has this process's mark. Processes may share a field: it has their
   * newest mark.
   */
  readonly field: string;
  readonly epoch: () => string | undefined;
  readonly seen: () => SeenState;
  /** The sources that this process registered. */
  readonly sources: () => readonly string[];
  readonly addSources: (sources: readonly string[]) => void;
  /** The id of the newest approval that this process was given; the empty text if there was none. */
  readonly highWaterMark: (source: string) => string;
  /** What `settle` must find in the source's copy. Throws STORE_LOST while a loss is pending. */
  readonly expected: (source: string) => ExpectedCopy;
  /** Throws STORE_LOST while a loss is pending. */
  readonly assertNonePending: () => void;
  /**
   * The loss that was found and could not be frozen yet. While there is one, this process approves nothing.
   */
  readonly pending: () => Loss | undefined;
  readonly setPending: (loss: Loss) => void;
  /** Remembers what is in force. A new epoch clears the high-water marks. */
  readonly update: (epoch: string, seen: SeenState) => void;
  readonly recordApproval: (source: string, id: string) => void;
  /** Runs one freeze at a time. The loss is no longer pending once the freeze succeeds. */
  readonly runFreeze: (freeze: () => Promise<void>) => Promise<void>;
}

/** Bounds the fields in each source's copy. */
const FIELDS = 1000;

export function createProcessMemory(): ProcessMemory {
  const field = `w:${randomInt(FIELDS)}`;
  const sources = new Set<string>();
  const newest = new Map<string, string>();
  let epoch: string | undefined;
  let seen: SeenState = { sequence: 0, freezes: '', lastFreezeNumber: 0 };
  let pending: Loss | undefined;
  let freezing: Promise<void> | undefined;
  const highWaterMark = (source: string): string => newest.get(source) ?? '';

  function assertNonePending(): void {
    if (pending !== undefined) throw lossError(pending.found);
  }

  async function freezeOnce(freeze: () => Promise<void>): Promise<void> {
    try {
      await freeze();
      pending = undefined;
    } finally {
      freezing = undefined;
    }
  }

  return {
    field,
    epoch: () => epoch,
    seen: () => seen,
    sources: () => [...sources],
    addSources(added) {
      for (const source of added) sources.add(source);
    },
    highWaterMark,
    expected(source) {
      assertNonePending();
      // A source that this process did not register may never have had an epoch.
      const known = sources.has(source) ? (epoch ?? '') : '';
      return { epoch: known, field, highWaterMark: highWaterMark(source) };
    },
    assertNonePending,
    pending: () => pending,
    setPending(found) {
      pending = found;
    },
    update(seenEpoch, now) {
      if (epoch !== seenEpoch) newest.clear();
      epoch = seenEpoch;
      seen = { ...now, lastFreezeNumber: Math.max(now.lastFreezeNumber, seen.lastFreezeNumber) };
    },
    recordApproval(source, id) {
      const before = newest.get(source);
      if (before === undefined || compareIds(id, before) > 0) newest.set(source, id);
    },
    runFreeze: (freeze) => (freezing ??= freezeOnce(freeze)),
  };
}

/**
 * Settles, and remembers an approval once it may be answered. `settle` waits for the replicas as well. Throws
 * STORE_LOST if a loss was found meanwhile: the approval may be among the lost data, and it is safe to ask
 * again.
 */
export async function rememberApproval(
  memory: ProcessMemory,
  source: string,
  settle: (expected: ExpectedCopy) => Promise<SettleResult>,
): Promise<SettleResult> {
  const expected = memory.expected(source);
  const result = await settle(expected);
  if (!('verdict' in result) || result.verdict !== 'SUCCESS') return result;
  const found = memory.pending()?.found;
  if (found !== undefined || (expected.epoch !== '' && expected.epoch !== memory.epoch())) {
    throw lossError(found ?? 'data was lost while this callback was decided');
  }
  memory.recordApproval(source, result.id);
  return result;
}

// ---- sentences ----

const LOSS_TEXT: Readonly<Record<LossKind, (source: string) => string>> = {
  gone: (source) => `Redis has lost the data of the source ${source}`,
  other: (source) => `the data of the source ${source} in Redis is from another store or a backup`,
  behind: (source) => `Redis no longer has an approval of the source ${source} that was answered`,
};
const ALL_LOST = 'Redis no longer has any data that this process read from it';

/** The author of the freeze, and how its reason starts. */
const BY = 'countersign';
const START = 'data was lost: ';
const FIX =
  'Approvals and used amounts of limits may be lost. Find out why. Push the policies again ' +
  'if none are in force. Enter lists, prices and orders again if they are missing. Compare the approvals ' +
  'with the platform. Then run `countersign unfreeze --acknowledge-loss`; repeats and limits continue with ' +
  'the data that Redis still has';
/** In characters. There is a sentence for each source, and there may be many sources. */
const FOUND_MAX = 1000;

function freezeFor(found: string): { readonly reason: string; readonly by: string } {
  const summary = found.length > FOUND_MAX ? `${found.slice(0, FOUND_MAX)}…` : found;
  return { reason: `${START}${summary}. ${FIX}`, by: BY };
}

export function lossError(found: string): CountersignError {
  return new CountersignError('STORE_LOST', freezeFor(found).reason, { found });
}
