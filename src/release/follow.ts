import { messageOf } from '../errors.ts';
import { NO_PRICES, type PriceTable } from '../policy/facts.ts';
import type { Release } from '../policy/release.ts';
import type { Control, Freeze, Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { named, readRevision } from './push.ts';

export interface FollowParts {
  readonly store: Pick<Store, 'control' | 'document' | 'prices' | 'watch'>;
  /** How often to look, in case a notice was lost. */
  readonly pollMs: number;
  /** Called when the release, the freeze or the readiness has changed. */
  readonly onChange?: (state: FollowState) => void;
  /** By which it is told how long ago a look was; what the time is, nobody asks. */
  readonly clock?: Clock;
}

interface FollowState {
  readonly release: Release | undefined;
  readonly control: Control | undefined;
  readonly ready: Readiness;
}

interface Readiness {
  readonly ok: boolean;
  /** A sentence with the cure, where it is not. */
  readonly because: string;
}

/** Knows what is in force. What it knows may be out of date: settle checks that, and says `stale`. */
export interface Follower {
  /** The last release that this program could compile; undefined while none is in force. */
  readonly current: () => Release | undefined;
  readonly prices: () => PriceTable;
  readonly control: () => Control | undefined;
  readonly ready: () => Readiness;
  /**
   * Looks now. Callers share one look, which begins no earlier than their call. Never rejects: see `ready`.
   */
  readonly refresh: () => Promise<void>;
  /** Looks, then follows. */
  readonly start: () => Promise<void>;
  readonly stop: () => void;
}

/** Without a successful look for so many polls, what is known counts as out of date. */
const POLLS_MISSED = 4;

/**
 * Follows what is in force in the store, by notice and by poll, and keeps the last good release through any
 * trouble.
 */
export function createFollower({
  store,
  pollMs,
  onChange,
  clock = () => performance.now(),
}: FollowParts): Follower {
  let release: Release | undefined;
  let prices = NO_PRICES;
  let control: Control | undefined;
  let trouble: string | undefined = 'the store has not been asked yet';
  let lookedAtMs = 0;

  const ready = (): Readiness => {
    if (trouble !== undefined) return { ok: false, because: trouble };
    const silentMs = clock() - lookedAtMs;
    return silentMs > pollMs * POLLS_MISSED
      ? { ok: false, because: `the store has not answered for ${silentMs} ms; see \`countersign doctor\`` }
      : { ok: true, because: `revision ${named(release?.revision ?? '')} is in force` };
  };

  const notifyListeners = (): void => {
    try {
      onChange?.({ release, control, ready: ready() });
    } catch (thrown) {
      trouble = `what follows the policies in force failed: ${messageOf(thrown)}`;
    }
  };

  const look = async (): Promise<void> => {
    const before = { release, frozen: control?.frozen, trouble };
    try {
      control = await store.control();
      trouble = undefined;
      if (control.revision === '') {
        release = undefined;
        trouble = 'no policies are in force; push some with `countersign policy push`';
      } else if (control.revision !== release?.revision) {
        release = await readRevision(store, control.revision);
      }
      // Last, so that a table that can't be read does not keep policies from being followed.
      if (control.prices !== prices.version) prices = await store.prices();
      lookedAtMs = clock();
    } catch (thrown) {
      trouble = `what is in force can't be followed: ${messageOf(thrown)}`;
    }
    const changed =
      before.release !== release || before.trouble !== trouble || !isSame(before.frozen, control?.frozen);
    if (changed) notifyListeners();
  };

  const refresh = inTurn(look);
  let stop: (() => void) | undefined;
  return {
    current: () => release,
    prices: () => prices,
    control: () => control,
    ready,
    refresh,
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

function isSame(one: readonly Freeze[] = [], other: readonly Freeze[] = []): boolean {
  return (
    one.length === other.length &&
    one.every(({ id, reason }, at) => id === other[at]?.id && reason === other[at].reason)
  );
}

/**
 * One at a time. Whoever asks while one runs shares the next: the running one may have looked before the
 * change.
 */
function inTurn(task: () => Promise<void>): () => Promise<void> {
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
