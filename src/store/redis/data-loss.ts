import { randomInt } from 'node:crypto';
import { CountersignError } from '../../errors.ts';
import type { SettleResult } from '../store.ts';
import { compareIds } from './journal.ts';
import {
  type ExpectedCopy,
  type Loss,
  type StoreState,
  newEpoch,
  publishChange,
  readState,
  updateCopies,
} from './in-force.ts';
import { type RedisParts, clockArgument } from './parts.ts';
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
 *    including
 *    an approval that was already in flight, because it may be among the lost data.
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

export interface LossDetection extends HighWaterMarks {
  /**
   * Reads what is in force, compares it with what this process remembers, and remembers it. Freezes the store
   * for a loss, including one that could not be frozen before. Throws STORE_LOST if that fails.
   *
   * `sequence`: a lower sequence than this process saw is a loss as well. A caller that makes a change omits
   * it, because the change raises the sequence.
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
  foundBySettle(source: string, loss: Loss, expected: ExpectedCopy): CountersignError;
  /**
   * Why this process approves nothing until it has frozen the store for a loss; undefined if it found none.
   */
  pendingReason(): string | undefined;
}

export function createLossDetection(parts: RedisParts): LossDetection {
  const marks = createHighWaterMarks();
  const freeze = createLossFreeze(parts, marks);

  async function readAndCompare(options = { sequence: false }): Promise<StoreState> {
    const pending = marks.pending();
    if (pending !== undefined) await freeze(pending);
    let state = await read(parts, marks);
    // While a Cluster moves a slot, a reply can be outdated: a loss must be found twice.
    if (lossIn(marks, state, options) !== undefined) state = await read(parts, marks);
    const found = lossIn(marks, state, options);
    if (found !== undefined) {
      await freeze({ found, epoch: marks.epoch() });
      state = await read(parts, marks);
    }
    const again = lossIn(marks, state, { sequence: false });
    if (again !== undefined || state.epoch === undefined) throw lossError(again ?? found ?? ALL_LOST);
    marks.see(state.epoch, seenIn(state));
    return state;
  }

  return {
    ...marks,
    readState: readAndCompare,
    async updateCopies(state, sources) {
      const { lost, highestOther } = await updateCopies(parts, state, expectedIn(marks, state), sources);
      // While the store is frozen for a loss, a source that has not registered again is no further loss.
      if (state.isFrozenForLoss || lost.length === 0) return { state, highestOther };
      const found = lost.map(([source, loss]) => LOSS_TEXT[loss](source)).join(', and ');
      await freeze({ found, epoch: state.epoch });
      return { state: await readAndCompare(), highestOther };
    },
    foundBySettle(source, loss, expected) {
      const found = LOSS_TEXT[loss](source);
      const epoch = expected.epoch === '' ? marks.epoch() : expected.epoch;
      freeze({ found, epoch }).catch(() => undefined);
      return lossError(found);
    },
    pendingReason() {
      const loss = marks.pending();
      return loss === undefined ? undefined : freezeFor(loss.found).reason;
    },
  };
}

/**
 * Returns a function that freezes the store for a loss. As soon as the function is called, this process
 * approves nothing. If the call rejects, it must be repeated. If the loss was declared before, Redis stays as
 * it is, even if an operator has acknowledged it.
 */
function createLossFreeze(parts: RedisParts, marks: HighWaterMarks): (loss: FoundLoss) => Promise<void> {
  const { connection, keys } = parts;

  async function write({ found, epoch = '' }: FoundLoss): Promise<void> {
    const { reason, by } = freezeFor(found);
    const { sequence, freezes, lastFreezeNumber } = marks.seen();
    const args = [clockArgument(parts), reason, by, epoch, newEpoch(), sequence, freezes, lastFreezeNumber];
    await run(connection, declareLossScript, [keys.inForce], args);
    // An emptied Redis does not know the sources, and each needs the freeze.
    const sources = marks.sources();
    if (sources.length > 0) await connection.call('sadd', [keys.sources, ...sources]);
    const state = await read(parts, marks);
    if (state.epoch === undefined) throw lossError(found);
    await publishChange(parts, state.current[0]);
    await updateCopies(parts, state, expectedIn(marks, state));
    // Only now: if an update fails, the next attempt must declare the old epoch lost, not the new one.
    marks.see(state.epoch, seenIn(state));
  }

  return (loss) => {
    marks.setPending(loss);
    return marks.whileFreezing(() => write(loss));
  };
}

const read = (parts: RedisParts, marks: HighWaterMarks): Promise<StoreState> =>
  readState(parts, { start: marks.epoch() === undefined });

/** Returns what each copy must have. Marks of another epoch are ignored. */
function expectedIn(marks: HighWaterMarks, { epoch = '' }: StoreState): (source: string) => ExpectedCopy {
  return (source) => ({
    epoch,
    field: marks.field,
    highWaterMark: epoch === marks.epoch() ? marks.highWaterMark(source) : '',
  });
}

function seenIn({ current, lastFreezeNumber }: StoreState): Seen {
  return { sequence: Number(current[0]), freezes: current[4], lastFreezeNumber };
}

function lossIn(
  marks: HighWaterMarks,
  { epoch, lostEpochs, current }: StoreState,
  { sequence }: { readonly sequence: boolean },
): string | undefined {
  const known = marks.epoch();
  if (known === undefined) return undefined;
  if (epoch === undefined) return ALL_LOST;
  if (epoch !== known) {
    return lostEpochs.includes(known)
      ? undefined
      : 'Redis holds another store than this process saw in it, started over or restored';
  }
  return sequence && Number(current[0]) < marks.seen().sequence
    ? 'Redis no longer has the latest changes of policies, prices or freezes that this process saw in it'
    : undefined;
}

// ---- what a process remembers ----

/** A loss that was found, and the epoch that this process knew then. */
export interface FoundLoss {
  /** A sentence without its full stop. */
  readonly found: string;
  readonly epoch: string | undefined;
}

/** What the last read found in force. */
export interface Seen {
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
export interface HighWaterMarks {
  /**
   * The field of each source's copy that has this process's mark. Processes may share a field: it has their
   * newest mark.
   */
  readonly field: string;
  readonly epoch: () => string | undefined;
  readonly seen: () => Seen;
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
  readonly pending: () => FoundLoss | undefined;
  readonly setPending: (loss: FoundLoss) => void;
  /** Remembers what is in force. A new epoch clears the marks. */
  readonly see: (epoch: string, seen: Seen) => void;
  readonly approved: (source: string, id: string) => void;
  /** Runs one freeze at a time. The loss is no longer pending once the freeze succeeds. */
  readonly whileFreezing: (write: () => Promise<void>) => Promise<void>;
}

/** Bounds the fields in each source's copy. */
const FIELDS = 1000;

export function createHighWaterMarks(): HighWaterMarks {
  const field = `w:${randomInt(FIELDS)}`;
  const sources = new Set<string>();
  const newest = new Map<string, string>();
  let epoch: string | undefined;
  let seen: Seen = { sequence: 0, freezes: '', lastFreezeNumber: 0 };
  let pending: FoundLoss | undefined;
  let freezing: Promise<void> | undefined;
  const highWaterMark = (source: string): string => newest.get(source) ?? '';

  function assertNonePending(): void {
    if (pending !== undefined) throw lossError(pending.found);
  }

  async function freeze(write: () => Promise<void>): Promise<void> {
    try {
      await write();
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
    see(seenEpoch, now) {
      if (epoch !== seenEpoch) newest.clear();
      epoch = seenEpoch;
      seen = { ...now, lastFreezeNumber: Math.max(now.lastFreezeNumber, seen.lastFreezeNumber) };
    },
    approved(source, id) {
      const before = newest.get(source);
      if (before === undefined || compareIds(id, before) > 0) newest.set(source, id);
    },
    whileFreezing: (write) => (freezing ??= freeze(write)),
  };
}

/**
 * Settles, and remembers an approval once it may be answered. `settle` waits for the replicas as well. Throws
 * STORE_LOST if a loss was found meanwhile: the approval may be among the lost data, and it is safe to ask
 * again.
 */
export async function rememberApproval(
  marks: HighWaterMarks,
  source: string,
  settle: (expected: ExpectedCopy) => Promise<SettleResult>,
): Promise<SettleResult> {
  const expected = marks.expected(source);
  const result = await settle(expected);
  if (!('verdict' in result) || result.verdict !== 'SUCCESS') return result;
  const found = marks.pending()?.found;
  if (found !== undefined || (expected.epoch !== '' && expected.epoch !== marks.epoch())) {
    throw lossError(found ?? 'the loss was found while this was decided');
  }
  marks.approved(source, result.id);
  return result;
}

// ---- sentences ----

const LOSS_TEXT: Readonly<Record<Loss, (source: string) => string>> = {
  gone: (source) => `Redis has lost what it kept for the source ${source}`,
  other: (source) => `what Redis keeps for the source ${source} is not what it kept before`,
  behind: (source) => `Redis no longer has an approval of the source ${source} that was answered`,
};
const ALL_LOST = 'Redis holds nothing any more of what this process saw in it';

/**
 * The author of the freeze, and how its reason starts. Older versions recognise a loss by them: see
 * include/in_force.lua.
 */
const BY = 'countersign';
const START = 'data was lost: ';
const CURE =
  'Approvals and the used amounts of limits may be forgotten. Find out why, and push the policies again ' +
  'if none are in force. Enter lists, prices and orders again if they are gone. Compare with the platform ' +
  'what was approved. Then run `countersign unfreeze --acknowledge-loss`: repeats and limits begin from ' +
  'what Redis still has';
/** In characters. There is a sentence for each source, and there may be many sources. */
const FOUND_MAX = 1000;

function freezeFor(found: string): { readonly reason: string; readonly by: string } {
  const short = found.length > FOUND_MAX ? `${found.slice(0, FOUND_MAX)}…` : found;
  return { reason: `${START}${short}. ${CURE}`, by: BY };
}

export function lossError(found: string): CountersignError {
  return new CountersignError('STORE_LOST', freezeFor(found).reason, { found });
}
