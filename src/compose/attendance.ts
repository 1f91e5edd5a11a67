import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { CountersignError, messageOf } from '../errors.ts';
import type { Readiness } from '../http/ops.ts';
import type { Log } from '../observe/log.ts';
import type { Follower } from '../release/follow.ts';
import type { Store } from '../store/store.ts';

/** So often a service shows itself, if nobody calls. */
const ATTEND_MS = 2000;
/** What is not ready, in so many characters at most. */
const TROUBLE_MAX = 1000;

export interface AttendanceParts {
  readonly store: Pick<Store, 'attend' | 'leave' | 'watch'>;
  readonly follower: Pick<Follower, 'control' | 'refresh'>;
  readonly readiness: () => Promise<Readiness>;
  readonly log: Log;
}

export interface AttendanceShown {
  /**
   * Resolves when the service no longer shows itself, at the latest when the store has failed to forget it.
   */
  stop(): Promise<void>;
}

/**
 * Shows that this service runs on the store, and what it has seen of it, so that whoever changes something
 * can tell that it was noted. Each time is a real write, by which a store that can't be written to is found
 * before a callback meets it.
 */
export function showAttendance({ store, follower, readiness, log }: AttendanceParts): AttendanceShown {
  const id = randomUUID();
  const name = `${hostname()}:${process.pid}`;
  let failed: string | undefined;
  let hasStopped = false;
  let isAsked = false;
  let showing: Promise<void> | undefined;

  async function attend(): Promise<void> {
    try {
      const { checks } = await readiness();
      const trouble = checks.filter(({ ok, decisive }) => !ok && decisive === undefined);
      await store.attend({
        id,
        name,
        sequence: follower.control()?.sequence ?? 0,
        trouble: trouble
          .map((check) => `${check.name}: ${check.because}`)
          .join('; ')
          .slice(0, TROUBLE_MAX),
        probe: failed !== undefined,
      });
      if (failed !== undefined) log.info('store-writable');
      failed = undefined;
    } catch (thrown) {
      const because = messageOf(thrown);
      const moved = thrown instanceof CountersignError && thrown.code === 'STORE_MOVED';
      if (failed !== because) log.error(moved ? 'store-moved' : 'store-not-writable', { because });
      failed = because;
    }
  }

  /** One at a time; who comes meanwhile has it shown once more, since what is being shown may be older. */
  async function show(): Promise<void> {
    isAsked = true;
    showing ??= showUntilNoneAsks().finally(() => (showing = undefined));
    return showing;
  }

  async function showUntilNoneAsks(): Promise<void> {
    if (!isAsked || hasStopped) return;
    isAsked = false;
    await attend();
    await showUntilNoneAsks();
  }

  const unwatch = store.watch(() => void follower.refresh().then(show));
  const timer = setInterval(() => void show(), ATTEND_MS).unref();
  void show();
  return {
    async stop() {
      if (hasStopped) return;
      hasStopped = true;
      unwatch();
      clearInterval(timer);
      await showing;
      await store.leave(id).catch(() => undefined);
    },
  };
}
