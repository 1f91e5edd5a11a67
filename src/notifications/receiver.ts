import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import { createLineLimit } from '../observe/line-limit.ts';
import type { Log } from '../observe/log.ts';
import type { NotificationCounts } from '../observe/metrics.ts';
import { PluginError } from '../plugins/limiter.ts';
import { type Receive, agentFor, describeStatus, newNonce, signedPost } from '../plugins/signed-post.ts';
import type { Clock } from '../values/clock.ts';
import type { AcceptedSecret } from '../values/secret.ts';
import type { TakeLease } from './leases.ts';

export const DELIVERY_LIMITS = {
  /** For one attempt. */
  timeoutMs: 5000,
  /** The pause after the first failure. Each further one doubles it, up to `pauseMaxMs`. */
  pauseMs: 1000,
  pauseMaxMs: 300_000,
  /** Longer than an attempt. */
  leaseMs: 30_000,
  /** The most notifications that wait. */
  waiting: 1000,
  /** What has waited for longer is dropped. */
  keepMs: 6 * 3_600_000,
};
export type DeliveryLimits = Readonly<typeof DELIVERY_LIMITS>;

/** A notification as it is sent. */
export interface Outgoing {
  readonly id: string;
  readonly body: string;
  /** No other replica knows of it, so it needs no lease. */
  readonly isOwn: boolean;
}

/** When something is tried next, and after how many failures. */
interface Attempts {
  dueMs: number;
  failures: number;
}

/** At once, like something new. */
const AT_ONCE: Readonly<Attempts> = { dueMs: 0, failures: 0 };

interface Waiting extends Outgoing, Attempts {
  readonly untilMs: number;
}

interface ReceiverParts {
  /** Each signs. */
  readonly secrets: readonly AcceptedSecret[];
  readonly clock: Clock;
  readonly takeLease: TakeLease;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly limits: DeliveryLimits;
}

export interface Receiver {
  /** Only puts it in the queue. If the queue is full, the oldest one is dropped. */
  readonly add: (notification: Outgoing) => void;
  readonly useSecrets: (secrets: ReceiverParts['secrets']) => void;
  /** `receiver` is its host and port: a URL may have a secret in its path. */
  readonly state: () => NotificationCounts;
  /** Tries once more to send what waits, for at most `withinMs`, and drops the rest. */
  readonly close: (withinMs: number) => Promise<void>;
}

/** A notification that failed so often may itself be the reason, and the next one is tried before it. */
const ATTEMPTS_IN_ORDER = 10;
const LINE_EVERY_MS = 60_000;
const nowMs = (): number => performance.now();

/**
 * Sends notifications to a URL, one at a time and in their order. While it takes none, all wait. If it
 * refuses one, only that one waits.
 */
export function createReceiver(address: string, parts: ReceiverParts): Receiver {
  const { takeLease, limits } = parts;
  const sender = createSender(new URL(address), parts);
  const queue = new Set<Waiting>();
  const receiver = { ...AT_ONCE };
  const work = createWork(sendDue, () =>
    Math.max(receiver.dueMs, Math.min(...queue.values().map((each) => each.dueMs))),
  );
  let sending: Waiting | undefined;
  let isClosing = false;

  function drop(notifications: readonly Waiting[], why: string): void {
    for (const each of notifications) queue.delete(each);
    if (notifications.length > 0) sender.reportDropped(notifications.length, why);
  }

  async function attempt(notification: Waiting): Promise<void> {
    try {
      const lease = notification.isOwn ? undefined : await takeLease(address, notification.id);
      if (lease === 'taken') {
        notification.dueMs = nowMs() + limits.leaseMs;
        return;
      }
      if (lease !== 'sent') {
        await sender.send(notification.body);
        Object.assign(receiver, AT_ONCE);
        // Without the mark, another replica sends it again.
        await lease?.().catch(() => undefined);
      }
      queue.delete(notification);
    } catch (thrown) {
      sender.reportFailure(thrown);
      const isOfReceiver = thrown instanceof PluginError;
      if (isOfReceiver) postpone(receiver, 1);
      postpone(notification, isOfReceiver && notification.failures + 1 < ATTEMPTS_IN_ORDER ? 0 : 2);
    }
  }

  /** Sets the next attempt after `times` the pause, which doubles with each failure. */
  function postpone(what: Attempts, times: number): void {
    const pauseMs = Math.min(limits.pauseMs * 2 ** what.failures, limits.pauseMaxMs);
    what.failures += 1;
    what.dueMs = isClosing ? Infinity : nowMs() + times * pauseMs;
  }

  async function sendDue(): Promise<void> {
    // Not within the callback that adds it.
    await nextTurn();
    while (receiver.dueMs <= nowMs()) {
      const now = nowMs();
      const old = [...queue].filter(({ untilMs }) => untilMs <= now);
      drop(old, 'they had waited for too long');
      sending = queue.values().find(({ dueMs }) => dueMs <= now);
      if (sending === undefined) return;
      await attempt(sending);
    }
    sending = undefined;
  }

  return {
    add(notification) {
      if (sender.isClosed()) return;
      const oldest = queue.values().find((each) => each !== sending);
      if (oldest !== undefined && queue.size >= limits.waiting) drop([oldest], 'too many wait');
      queue.add({ ...notification, ...AT_ONCE, untilMs: nowMs() + limits.keepMs });
      work.wake();
    },
    useSecrets: sender.useSecrets,
    state: () => ({ ...sender.counts(), waiting: queue.size }),
    async close(withinMs) {
      isClosing = true;
      for (const each of [receiver, ...queue]) Object.assign(each, AT_ONCE);
      await Promise.race([work.finish(), pause(withinMs, undefined, { ref: false })]);
      sender.close();
      drop([...queue], 'the service stops');
    },
  };
}

/** Runs `run` when it is woken, once at a time, and again at the instant `nextMs`; Infinity: when it is woken. */
function createWork(run: () => Promise<void>, nextMs: () => number) {
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isFinishing = false;

  function wake(): void {
    clearTimeout(timer);
    running ??= run().finally(() => {
      running = undefined;
      const pauseMs = nextMs() - nowMs();
      if (pauseMs < Infinity && !isFinishing) timer = setTimeout(wake, Math.max(0, pauseMs)).unref();
    });
  }
  return {
    wake,
    /** Resolves once what runs has ended, and it has run once more. */
    async finish(): Promise<void> {
      isFinishing = true;
      await running;
      wake();
      await running;
    },
  };
}

/** Sends to the URL, and counts and logs what came of it. */
function createSender(url: URL, { clock, log, limits, ...parts }: ReceiverParts) {
  const lines = createLineLimit({ clock: nowMs, lines: 1, windowMs: LINE_EVERY_MS });
  const closed = new AbortController();
  const counts = { sent: 0, failed: 0, dropped: 0 };
  let { secrets } = parts;
  let isFailing = false;
  let reported = 0;
  return {
    /** Rejects with PluginError if the receiver takes nothing at present, and with Error if it refuses this one. */
    async send(body: string): Promise<void> {
      const signed = { timestampMs: clock(), nonce: newNonce(), body, secrets };
      const { timeoutMs } = limits;
      const post = { url, agent: agentFor(url, undefined), ...signed, timeoutMs, signal: closed.signal };
      const status = await signedPost(post, receiveStatus);
      if (status < 200 || status >= 300) {
        const because = describeStatus(status);
        throw isRefusal(status) ? new Error(because) : new PluginError(because);
      }
      counts.sent += 1;
      if (isFailing)
        log.info('notifications-resumed', { because: `${url.origin} takes notifications again` });
      isFailing = false;
    },
    reportFailure(thrown: unknown): void {
      counts.failed += 1;
      const because = `a notification to ${url.origin} waits to be sent again: ${messageOf(thrown)}`;
      if (!isFailing) log.warn('notifications-failed', { because });
      isFailing = true;
    },
    reportDropped(count: number, why: string): void {
      counts.dropped += count;
      if (!lines.admits(why)) return;
      const because = `notifications to ${url.origin} were dropped, because ${why}`;
      log.warn('notifications-dropped', { because, count: counts.dropped - reported });
      reported = counts.dropped;
    },
    useSecrets: (next: ReceiverParts['secrets']) => void (secrets = next),
    counts: () => ({ receiver: url.host, ...counts }),
    isClosed: () => closed.signal.aborted,
    close: () => closed.abort(),
  };
}

/** What the receiver sends besides is not read. */
const receiveStatus: Receive<number> = (response, resolve) => {
  response.on('error', () => undefined);
  resolve(response.statusCode ?? 0);
  response.destroy();
};

/** Whether a status says something about this notification, and nothing about the others. */
const isRefusal = (status: number): boolean =>
  status >= 300 && status < 500 && status !== 408 && status !== 429;
