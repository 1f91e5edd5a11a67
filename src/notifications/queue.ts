import { createLineLimit } from '../observe/line-limit.ts';
import type { Log } from '../observe/log.ts';

/** A notification as it is sent. */
export interface Outgoing {
  readonly id: string;
  readonly body: string;
  /** No other replica knows of it, so it needs no lease. */
  readonly isOwn: boolean;
}

/** When something is tried next, and after how many failures. */
export interface Attempts {
  dueMs: number;
  failures: number;
}

/** At once, like something new. */
export const AT_ONCE: Readonly<Attempts> = { dueMs: 0, failures: 0 };

export interface Waiting extends Outgoing, Attempts {
  readonly untilMs: number;
}

/**
 * The notifications that wait for a receiver, in the order in which they came. What is too much is dropped.
 */
export interface Queue {
  /** If the queue is full, the oldest one is dropped, unless it is `sending`. */
  readonly add: (notification: Outgoing, sending: Waiting | undefined) => void;
  readonly remove: (notification: Waiting) => void;
  readonly all: () => readonly Waiting[];
  /** The first one that is due. Drops those that have waited for too long. */
  readonly due: () => Waiting | undefined;
  readonly dropAll: (why: string) => void;
  readonly dropped: () => number;
}

const LINE_EVERY_MS = 60_000;

export function createQueue(
  receiver: string,
  {
    limits,
    log,
    nowMs,
  }: {
    /** The most that wait, and for how long. */
    readonly limits: { readonly waiting: number; readonly keepMs: number };
    readonly log: Pick<Log, 'warn'>;
    readonly nowMs: () => number;
  },
): Queue {
  const lines = createLineLimit({ clock: nowMs, lines: 1, windowMs: LINE_EVERY_MS });
  const queue = new Set<Waiting>();
  let dropped = 0;
  let reported = 0;

  function drop(notifications: readonly Waiting[], why: string): void {
    for (const each of notifications) queue.delete(each);
    dropped += notifications.length;
    if (notifications.length === 0 || !lines.admits(why)) return;
    const because = `notifications to ${receiver} were dropped, because ${why}`;
    log.warn('notifications-dropped', { because, count: dropped - reported });
    reported = dropped;
  }

  return {
    add(notification, sending) {
      const oldest = queue.values().find((each) => each !== sending);
      if (oldest !== undefined && queue.size >= limits.waiting) drop([oldest], 'too many wait');
      queue.add({ ...notification, ...AT_ONCE, untilMs: nowMs() + limits.keepMs });
    },
    remove: (notification) => void queue.delete(notification),
    all: () => [...queue],
    due() {
      const now = nowMs();
      const old = [...queue].filter(({ untilMs }) => untilMs <= now);
      drop(old, 'they had waited for too long');
      return queue.values().find(({ dueMs }) => dueMs <= now);
    },
    dropAll: (why) => drop([...queue], why),
    dropped: () => dropped,
  };
}
