import { messageOf } from '../errors.ts';
import { NO_PRICES, type PriceTable } from '../policy/facts.ts';
import type { Release } from '../policy/release.ts';
import { onlyApprovedPass } from '../store/freezes.ts';
import type { Control, Freeze, Store } from '../store/store.ts';
import { shortRevision, readRevision } from './push.ts';
import type { RevisionTrust } from './trust.ts';

export interface FollowParts {
  readonly store: Pick<Store, 'control' | 'document' | 'prices' | 'watch'>;
  /** The interval of polls, in case a notification is lost. */
  readonly pollMs: number;
  /**
   * Called after a read that changed the release, the freezes or the reason for not being ready. It is not
   * called when the follower stops being ready only because the store does not answer.
   */
  readonly onChange?: (state: FollowerState) => void;
  /** With signers in the settings: nothing else is followed. */
  readonly trust?: RevisionTrust | undefined;
  /** Milliseconds since any fixed instant, to measure the age of the last poll. */
  readonly clock?: () => number;
}

interface FollowerState {
  readonly release: Release | undefined;
  readonly control: Control | undefined;
  readonly ready: Readiness;
}

interface Readiness {
  readonly ok: boolean;
  /** The reason, with the fix if it is not ready. */
  readonly because: string;
}

/**
 * Follows the release in force. The release that it knows may be out of date; settle then answers `stale`.
 */
export interface Follower {
  /** The last release that could be compiled; undefined if none is in force. */
  readonly current: () => Release | undefined;
  readonly prices: () => PriceTable;
  /** Whether only what people approve may pass, by a freeze. */
  readonly onlyApproved: () => boolean;
  readonly control: () => Control | undefined;
  readonly ready: () => Readiness;
  /**
   * Reads the store. Concurrent callers share a read that starts after their call. Never rejects: see
   * `ready`.
   */
  readonly refresh: () => Promise<void>;
  /**
   * Subscribes to notifications and starts polling, then reads the store. In this order, a change during the
   * first read is noticed at once, and not only at the next poll. Resolves after the read.
   */
  readonly start: () => Promise<void>;
  readonly stop: () => void;
}

/** After this many polls without success, the follower is not ready. */
const POLLS_MISSED = 4;

/** Follows the release in force by notifications and polls. A failure keeps the last good release. */
export function createFollower({
  store,
  pollMs,
  onChange,
  trust,
  clock = () => performance.now(),
}: FollowParts): Follower {
  let release: Release | undefined;
  let prices = NO_PRICES;
  let control: Control | undefined;
  let trouble: string | undefined = 'the store has not been read yet';
  let readAtMs = 0;
  /** Of the last control whose revision was found trusted. */
  let trusted: number | undefined;

  const ready = (): Readiness => {
    if (trouble !== undefined) return { ok: false, because: trouble };
    const silentMs = Math.round(clock() - readAtMs);
    return silentMs > pollMs * POLLS_MISSED
      ? { ok: false, because: `the store has not answered for ${silentMs} ms; see \`countersign doctor\`` }
      : { ok: true, because: `revision ${shortRevision(release?.revision ?? '')} is in force` };
  };

  const notifyListeners = (): void => {
    try {
      onChange?.({ release, control, ready: ready() });
    } catch (thrown) {
      trouble = `a listener of the policies in force failed: ${messageOf(thrown)}`;
    }
  };

  const read = async (): Promise<void> => {
    const before = { release, frozen: control?.frozen, trouble };
    try {
      control = await store.control();
      trouble = undefined;
      if (control.revision === '') {
        release = undefined;
        trouble = 'no policies are in force; push some with `countersign policy push`';
      } else if (control.revision !== release?.revision || control.sequence !== trusted) {
        release = await followed({ store, trust }, control, release);
        trusted = control.sequence;
      }
      // Read last, so that policies are followed even if the price table can't be read.
      if (control.prices !== prices.version) prices = await store.prices();
      readAtMs = clock();
    } catch (thrown) {
      trouble = `the policies in force can't be read: ${messageOf(thrown)}`;
    }
    const changed =
      before.release !== release || before.trouble !== trouble || !isSame(before.frozen, control?.frozen);
    if (changed) notifyListeners();
  };

  const refresh = serialized(read);
  return {
    current: () => release,
    prices: () => prices,
    onlyApproved: () => onlyApprovedPass(control?.frozen ?? []),
    control: () => control,
    ready,
    refresh,
    ...watching(store, pollMs, refresh),
  };
}

/** Reads again after each notification, and at each poll. */
function watching(
  store: FollowParts['store'],
  pollMs: number,
  refresh: () => Promise<void>,
): Pick<Follower, 'start' | 'stop'> {
  let stop: (() => void) | undefined;
  return {
    start: async () => {
      stop?.();
      const unwatch = store.watch(() => void refresh());
      const poll = setInterval(() => void refresh(), pollMs).unref();
      stop = () => {
        unwatch();
        clearInterval(poll);
      };
      await refresh();
    },
    stop: () => {
      stop?.();
      stop = undefined;
    },
  };
}

/** The release in force, if it is trusted. `known`: the one before. */
async function followed(
  { store, trust }: Pick<FollowParts, 'store' | 'trust'>,
  { revision }: Control,
  known: Release | undefined,
): Promise<Release> {
  const release = known?.revision === revision ? known : await readRevision(store, revision);
  await trust?.follow(revision);
  return release;
}

function isSame(one: readonly Freeze[] = [], other: readonly Freeze[] = []): boolean {
  return (
    one.length === other.length &&
    one.every(({ id, reason }, at) => id === other[at]?.id && reason === other[at].reason)
  );
}

/**
 * Runs a task once at a time. A call during a run shares the next run, since the current one may have read
 * before the change.
 */
function serialized(task: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const run = (): Promise<void> => {
    next = undefined;
    const begun = task().finally(() => {
      if (running === begun) running = undefined;
    });
    running = begun;
    return begun;
  };
  return () => {
    if (next !== undefined) return next;
    if (running === undefined) return run();
    next = running.then(run);
    return next;
  };
}
