import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { PluginError } from '../plugins/limiter.ts';
import type { ServiceKeys } from '../plugins/service.ts';
import { type Receive, agentFor, describeStatus, newNonce, signedPost } from '../plugins/signed-post.ts';
import type { Clock } from '../values/clock.ts';
import type { TakeLease } from './leases.ts';
import { AT_ONCE, type Attempts, type Outgoing, type Waiting, createQueue } from './queue.ts';

export interface DeliveryLimits {
  /** For one attempt. */
  readonly timeoutMs: number;
  /** The pause after the first failure. Each further one doubles it, up to `pauseMaxMs`. */
  readonly pauseMs: number;
  readonly pauseMaxMs: number;
  /** Longer than an attempt. */
  readonly leaseMs: number;
  /** The most notifications that wait. */
  readonly waiting: number;
  /** What has waited for longer is dropped. */
  readonly keepMs: number;
}

export const DELIVERY_LIMITS: DeliveryLimits = {
  timeoutMs: 5000,
  pauseMs: 1000,
  pauseMaxMs: 300_000,
  leaseMs: 30_000,
  waiting: 1000,
  keepMs: 6 * 3_600_000,
};

/** For the metrics. */
export interface ReceiverState {
  /** Its host and port: a URL may have a secret in its path. */
  readonly receiver: string;
  readonly sent: number;
  /** Attempts that failed. */
  readonly failed: number;
  readonly dropped: number;
  readonly waiting: number;
}

export interface ReceiverParts {
  readonly keys: ServiceKeys;
  readonly clock: Clock;
  readonly takeLease: TakeLease;
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly limits: DeliveryLimits;
}

export interface Receiver {
  /** Only puts it in the queue. If the queue is full, the oldest one is dropped. */
  readonly add: (notification: Outgoing) => void;
  readonly useKeys: (keys: ServiceKeys) => void;
  readonly state: () => ReceiverState;
  /** Tries once more to send what waits, for at most `withinMs`, and drops the rest. */
  readonly close: (withinMs: number) => Promise<void>;
}

/** A notification that failed so often may itself be the reason, and the next one is tried before it. */
const ATTEMPTS_IN_ORDER = 10;

/**
 * Sends notifications to a URL, one at a time and in their order. While it takes none, all wait. If it
 * refuses one, only that one waits.
 */
export function createReceiver(address: string, parts: ReceiverParts): Receiver {
  const { takeLease, log, limits } = parts;
  const nowMs = (): number => performance.now();
  const url = new URL(address);
  const queue = createQueue(url.origin, { limits, log, nowMs });
  const sender = createSender(url, parts);
  const receiver = { ...AT_ONCE };
  const work = createWork(sendDue, untilDueMs);
  let sending: Waiting | undefined;
  let isClosing = false;

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
      queue.remove(notification);
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
      sending = queue.due();
      if (sending === undefined) return;
      await attempt(sending);
    }
    sending = undefined;
  }

  function untilDueMs(): number {
    const dueMs = Math.min(...queue.all().map((each) => each.dueMs));
    return Math.max(receiver.dueMs, dueMs) - nowMs();
  }

  return {
    add(notification) {
      if (sender.isClosed()) return;
      queue.add(notification, sending);
      work.wake();
    },
    useKeys: sender.useKeys,
    state: () => ({
      receiver: url.host,
      ...sender.counts(),
      dropped: queue.dropped(),
      waiting: queue.all().length,
    }),
    async close(withinMs) {
      isClosing = true;
      for (const each of [receiver, ...queue.all()]) Object.assign(each, AT_ONCE);
      await Promise.race([work.finish(), pause(withinMs, undefined, { ref: false })]);
      sender.close();
      queue.dropAll('the service stops');
    },
  };
}

/** Runs `run` when it is woken, once at a time, and again after `untilNextMs`; Infinity: when it is woken. */
function createWork(run: () => Promise<void>, untilNextMs: () => number) {
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isFinishing = false;

  function wake(): void {
    clearTimeout(timer);
    running ??= run().finally(() => {
      running = undefined;
      const pauseMs = untilNextMs();
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

function createSender(url: URL, { clock, log, limits, ...parts }: ReceiverParts) {
  const closed = new AbortController();
  const counts = { sent: 0, failed: 0 };
  let { keys } = parts;
  let isFailing = false;
  return {
    /**
     * Rejects with PluginError if the receiver takes nothing at present, and with Error if it refuses this
     * one.
     */
    async send(body: string): Promise<void> {
      const { secrets, ca } = keys;
      const signed = { timestampMs: clock(), nonce: newNonce(), body, secrets };
      const { timeoutMs } = limits;
      const post = { url, agent: agentFor(url, ca), ...signed, timeoutMs, signal: closed.signal };
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
    useKeys: (next: ServiceKeys) => void (keys = next),
    counts: () => counts,
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
