import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { NotificationCounts } from '../observe/metrics.ts';
import type { NotificationEvent, NotificationSettings } from '../settings/notifications.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { printableJson, printableSentence } from '../values/printable.ts';
import { type ReadSecret, acceptedSecrets } from '../values/secret.ts';
import { createLeases } from './leases.ts';
import { DELIVERY_LIMITS, type DeliveryLimits, createReceiver } from './receiver.ts';

/**
 * What people are notified of. It has no secret, no key and no body of a callback: only what the log has too.
 */
export interface Notification {
  readonly event: NotificationEvent;
  /** An event has one id on all replicas, so that one of them sends it. A receiver knows a repeat by it. */
  readonly id: string;
  /** A sentence. */
  readonly text: string;
  /** When it happened. By default now. */
  readonly atMs?: number;
  /** The page of the console about it, as a path below `/console/`. */
  readonly page?: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Only this replica knows of it, and sends it without a lease. */
  readonly isOwn?: boolean;
}

/** Never throws, and waits for nothing. */
export type Notify = (notification: Notification) => void;

export interface Notifications {
  readonly notify: Notify;
  /** Reads all secrets again. If it throws, all of them stay as they were. */
  readonly reload: () => void;
  readonly state: () => readonly NotificationCounts[];
  /** A sentence for each receiver, without secrets. */
  readonly describe: () => readonly string[];
  /** Tries once more to send what waits, for at most `withinMs`. */
  readonly close: (withinMs: number) => Promise<void>;
}

export interface NotificationsParts {
  readonly settings: readonly NotificationSettings[];
  /** Its name in the settings. */
  readonly deployment: string | undefined;
  /** The origin by which browsers call the console, if it is known. */
  readonly consoleOrigin: string | undefined;
  /** Not called before a notification that isn't `isOwn`. */
  readonly store: () => Pick<Store, 'access' | 'changeAccess'>;
  readonly readSecret: ReadSecret;
  readonly clock: Clock;
  readonly log: Log;
  /** Only for tests. */
  readonly limits?: Partial<DeliveryLimits>;
}

/** Throws SETTINGS_INVALID or SECRET_UNREADABLE. A receiver that can't be reached is not an error. */
export function createNotifications(parts: NotificationsParts): Notifications {
  const { settings, deployment, consoleOrigin, clock, log } = parts;
  const limits = { ...DELIVERY_LIMITS, ...parts.limits };
  const secretsOf = ({ secret }: NotificationSettings) => acceptedSecrets(secret, parts.readSecret);
  const takeLease = createLeases(parts.store, limits.leaseMs);
  const receivers = settings.map((each) => ({
    settings: each,
    ...createReceiver(each.url, { secrets: secretsOf(each), clock, takeLease, log, limits }),
  }));

  function bodyOf({ event, id, text, atMs = clock(), page, data }: Notification): string {
    const link =
      page === undefined || consoleOrigin === undefined ? undefined : `${consoleOrigin}/console/${page}`;
    const at = new Date(atMs).toISOString();
    return printableJson({ version: 1, event, id, at, deployment, text: plainSentence(text), link, data });
  }

  return {
    notify(notification) {
      try {
        const { event, id, isOwn = false } = notification;
        const wanted = receivers.filter(({ settings: { events } }) => events.includes(event));
        if (wanted.length === 0) return;
        const body = bodyOf(notification);
        for (const { add } of wanted) add({ id, body, isOwn });
      } catch (thrown) {
        log.warn('notifications-failed', { because: `a notification can't be made: ${messageOf(thrown)}` });
      }
    },
    reload() {
      const read = receivers.map((receiver) => ({ receiver, secrets: secretsOf(receiver.settings) }));
      for (const { receiver, secrets } of read) receiver.useSecrets(secrets);
    },
    state: () => receivers.map(({ state }) => state()),
    describe: () => settings.map(({ url, events }) => `${events.join(', ')}: sent to ${new URL(url).origin}`),
    async close(withinMs) {
      await Promise.all(receivers.map(({ close }) => close(withinMs)));
    },
  };
}

/** What chat systems read as a mention, a link or markup. */
const MARKUP = /[<>@[\]]/g;
const PLAIN: Readonly<Record<string, string>> = { '<': '‹', '>': '›', '@': '＠', '[': '(', ']': ')' };

/** Values come from callbacks and from people. None of them may call a whole channel, or hide a link. */
function plainSentence(text: string): string {
  return printableSentence(text).replaceAll(MARKUP, (sign) => PLAIN[sign] ?? '');
}
