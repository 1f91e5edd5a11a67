import { CountersignError } from '../../errors.ts';
import { storeClosed, storeFault } from './fault.ts';
import type { Committed } from './transaction.ts';

/** At most this many writes share a commit, so that the service answers in between. */
const GROUP_MAX = 256;
/** At most this many writes wait. */
const WAITING_MAX = 10_000;

/** Where groups of writes are committed. */
export interface Lane<W> {
  /** How many groups it takes at a time, at least one. */
  readonly atOnce: number;
  /** Resolves once the group is on disk. Rejects if nobody knows what became of it. */
  commit(group: readonly W[]): Promise<Committed>;
}

export interface Writes<W> {
  /** Resolves with the write's result once that is on disk; rejects with a CountersignError. */
  write(write: W): Promise<unknown>;
  /** Takes no more, and resolves once all that was taken is on disk or rejected. */
  close(): Promise<void>;
  /**
   * Since when the oldest group that is under way has been so, by the clock of `performance.now`; undefined
   * if none is.
   */
  inFlightSinceMs(): number | undefined;
  readonly counts: { readonly writes: number; readonly commits: number };
}

interface Waiting<W> {
  readonly write: W;
  readonly resolve: (value: unknown) => void;
  readonly reject: (fault: CountersignError) => void;
}

/**
 * One queue for all writes of this process. Writes that wait at the same time share one transaction and so
 * one flush to disk, which costs more than all else: while one group is on its way, the next one gathers, and
 * so grows with the load.
 */
export function createWrites<W>(file: string, lane: Lane<W>): Writes<W> {
  const counts = { writes: 0, commits: 0 };
  const inFlight = new Map<readonly Waiting<W>[], number>();
  let waiting: Waiting<W>[] = [];
  let scheduled = false;
  let closed: PromiseWithResolvers<void> | undefined;

  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(send);
  };
  const send = (): void => {
    scheduled = false;
    if (waiting.length > 0 && inFlight.size < lane.atOnce) {
      const group = waiting.slice(0, GROUP_MAX);
      waiting = waiting.slice(GROUP_MAX);
      inFlight.set(group, performance.now());
      void carry(group);
      if (waiting.length > 0) schedule();
    }
    if (waiting.length === 0 && inFlight.size === 0) closed?.resolve();
  };
  const carry = async (group: readonly Waiting<W>[]): Promise<void> => {
    try {
      const { committed, outcomes } = await lane.commit(group.map(({ write }) => write));
      for (const [index, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[index];
        if (outcome?.ok === true) resolve(outcome.value);
        else reject(outcome?.fault ?? storeFault(file, new Error('nothing is known of the write')));
      }
      counts.commits += committed ? 1 : 0;
      counts.writes += committed ? group.length : 0;
    } catch (thrown) {
      for (const { reject } of group) reject(storeFault(file, thrown));
    } finally {
      inFlight.delete(group);
      schedule();
    }
  };

  return {
    counts,
    write: (write) =>
      new Promise((resolve, reject) => {
        if (closed !== undefined) return reject(storeClosed(file));
        if (waiting.length === WAITING_MAX) return reject(overloaded(file));
        waiting.push({ write, resolve, reject });
        schedule();
      }),
    close() {
      closed ??= Promise.withResolvers();
      schedule();
      return closed.promise;
    },
    inFlightSinceMs: () => inFlight.values().next().value,
  };
}

function overloaded(file: string): CountersignError {
  return new CountersignError(
    'STORE_UNREACHABLE',
    `${WAITING_MAX} writes wait for the store ${file}: its disk is too slow for what comes in; use a faster one, or Redis`,
    { file, waiting: WAITING_MAX },
  );
}
