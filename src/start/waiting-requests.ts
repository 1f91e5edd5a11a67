import { type ApprovalRequest, createRequests, stateOf } from '../approvals/requests.ts';
import { messageOf } from '../errors.ts';
import type { Notification, Notify } from '../notifications/notifications.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { Settings } from '../settings/schema.ts';
import type { ApprovalRequests } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { isoTime } from '../values/text.ts';

/*
 * What waits for people, as this service sees it: people are notified of it, and metrics count it. It looks
 * at the store now and then, because requests are made and decided by other programs too.
 */

const EVERY_MS = 5000;
/** Of its time, how much is left when a request is about to expire. */
const EXPIRING = 0.25;

export interface WaitingRequestsParts {
  readonly settings: Pick<Settings, 'deployment' | 'sources'>;
  readonly store: ApprovalRequests;
  readonly clock: Clock;
  readonly log: Log;
  readonly notify: Notify;
  readonly metrics: Pick<Metrics, 'requestsWaiting'>;
}

/** The requests of a source, oldest first, by id and time. */
type Waiting = Map<string, { readonly request: ApprovalRequest; readonly isExpiring: boolean }>;

/** Returns the function that ends this. Without a deployment nobody can sign, so nothing waits. */
export function watchRequests(parts: WaitingRequestsParts): () => void {
  const { settings, log, metrics } = parts;
  if (settings.deployment === undefined) return () => undefined;
  const waiting = new Map<string, Waiting>(
    ['', ...settings.sources.map(({ name }) => name)].map((source) => [source, new Map()]),
  );
  let trouble = '';
  let looking: Promise<void> | undefined;
  async function look(): Promise<void> {
    const faults: string[] = [];
    for (const [source, before] of waiting) {
      try {
        waiting.set(source, await findWaiting(parts, source, before, faults));
      } catch (thrown) {
        faults.push(messageOf(thrown));
      }
    }
    const because = [...new Set(faults)].join('; ');
    if (because !== trouble && because !== '') log.warn('requests-not-read', { because });
    trouble = because;
    looking = undefined;
  }
  const timer = setInterval(() => void (looking ??= look()), EVERY_MS).unref();
  metrics.requestsWaiting(() => {
    const numbers = [...waiting].map(([source, requests]) => {
      const [oldest] = requests.values();
      return [source, { count: requests.size, oldestMs: oldest?.request.createdAtMs }] as const;
    });
    return new Map(numbers);
  });
  return () => clearInterval(timer);
}

/** What waits now. Notifies of what differs from before. What can't be read is one of the faults. */
async function findWaiting(
  { store, clock, notify }: WaitingRequestsParts,
  source: string,
  before: Waiting,
  faults: string[],
): Promise<Waiting> {
  const requests = createRequests(store, clock, source);
  const pending = await requests.pending();
  faults.push(...pending.faults);
  const found: Waiting = new Map();
  for (const request of pending.requests) {
    const { id, createdAtMs, expiresAtMs } = request;
    const key = `${id} ${createdAtMs}`;
    const known = before.get(key);
    const isExpiring = expiresAtMs - clock() < EXPIRING * (expiresAtMs - createdAtMs);
    found.set(key, { request, isExpiring });
    if (known === undefined) notify(notificationOf('request', source, request, 'waits for approval'));
    if (isExpiring && known?.isExpiring !== true) {
      notify(
        notificationOf('expiring', source, request, `waits for approval, until ${isoTime(expiresAtMs)}`),
      );
    }
  }
  for (const [key, each] of before) {
    if (found.has(key)) continue;
    const { request } = each;
    try {
      const read = (await requests.read(request.id))?.request;
      // A callback whose request has expired may have made another one.
      const now = read?.createdAtMs === request.createdAtMs ? read : request;
      const who = now.endedBy === '' ? '' : ` by ${now.endedBy}`;
      notify(notificationOf('decided', source, now, `is ${stateOf(now, clock())}${who}`));
    } catch (thrown) {
      faults.push(messageOf(thrown));
      found.set(key, each);
    }
  }
  return found;
}

/** All replicas give an event the same id, and one of them sends it. */
function notificationOf(
  event: Notification['event'],
  source: string,
  { id, kind, by, message, createdAtMs, expiresAtMs }: ApprovalRequest,
  state: string,
): Notification {
  const [created, expires] = [isoTime(createdAtMs), isoTime(expiresAtMs)];
  return {
    event,
    id: `${event}:${source}:${id}:${createdAtMs}`,
    text: `${source === '' ? `${kind} ${id}` : `${id} of ${source}`} ${state}: ${message}`,
    page: 'approvals',
    data: { request: id, kind, source, by, state, created, expires },
  };
}
