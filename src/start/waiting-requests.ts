import { type ApprovalRequest, createRequests, stateOf } from '../approvals/requests.ts';
import { messageOf } from '../errors.ts';
import type { Notify } from '../notifications/notifications.ts';
import type { Log } from '../observe/log.ts';
import type { Metrics } from '../observe/metrics.ts';
import type { NotificationEvent } from '../settings/notifications.ts';
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

interface Waiting {
  /** The source of a callback; the empty text for what holds for all sources. */
  readonly source: string;
  readonly request: ApprovalRequest;
  readonly isExpiring: boolean;
}

/** Returns the function that ends this. Without a deployment nobody can sign, so nothing waits. */
export function watchRequests(parts: WaitingRequestsParts): () => void {
  const { settings, log, metrics } = parts;
  if (settings.deployment === undefined) return () => undefined;
  const scopes = ['', ...settings.sources.map(({ name }) => name)];
  let waiting: ReadonlyMap<string, Waiting> = new Map();
  let trouble = '';
  let looking: Promise<void> | undefined;
  const look = async (): Promise<void> => {
    try {
      waiting = await findWaiting(parts, scopes, waiting);
      trouble = '';
    } catch (thrown) {
      const because = messageOf(thrown);
      if (because !== trouble) log.warn('requests-not-read', { because });
      trouble = because;
    } finally {
      looking = undefined;
    }
  };
  const timer = setInterval(() => {
    looking ??= look();
  }, EVERY_MS).unref();
  metrics.requestsWaiting(() => waitingBySource(scopes, waiting));
  return () => clearInterval(timer);
}

/** What waits now. Notifies of what differs from before. */
async function findWaiting(
  { store, clock, notify }: WaitingRequestsParts,
  scopes: readonly string[],
  before: ReadonlyMap<string, Waiting>,
): Promise<ReadonlyMap<string, Waiting>> {
  const found = new Map<string, Waiting>();
  for (const source of scopes) {
    for (const request of (await createRequests(store, clock, source).pending()).requests) {
      const { id, createdAtMs, expiresAtMs } = request;
      const isExpiring = expiresAtMs - clock() < EXPIRING * (expiresAtMs - createdAtMs);
      found.set(`${source} ${id} ${createdAtMs}`, { source, request, isExpiring });
    }
  }
  for (const [key, each] of found) {
    const { isExpiring, request } = each;
    if (!before.has(key)) notify(notificationOf('request', each, 'waits for approval'));
    if (isExpiring && before.get(key)?.isExpiring !== true) {
      notify(notificationOf('expiring', each, `waits for approval, until ${isoTime(request.expiresAtMs)}`));
    }
  }
  for (const [key, { source, request }] of before) {
    if (found.has(key)) continue;
    const now = (await createRequests(store, clock, source).read(request.id))?.request ?? request;
    const who = now.endedBy === '' ? '' : ` by ${now.endedBy}`;
    notify(notificationOf('decided', { source, request: now }, `is ${stateOf(now, clock())}${who}`));
  }
  return found;
}

/** All replicas give an event the same id, and one of them sends it. */
function notificationOf(
  event: NotificationEvent,
  { source, request }: Pick<Waiting, 'source' | 'request'>,
  state: string,
): Parameters<Notify>[0] {
  const { id, kind, by, message, createdAtMs, expiresAtMs } = request;
  const [created, expires] = [isoTime(createdAtMs), isoTime(expiresAtMs)];
  return {
    event,
    id: `${event}:${source}:${id}:${createdAtMs}`,
    text: `${source === '' ? `${kind} ${id}` : `${id} of ${source}`} ${state}: ${message}`,
    page: 'approvals',
    data: { request: id, kind, source, by, state, created, expires },
  };
}

/** How many wait, and since when the oldest of them does, by source. */
function waitingBySource(
  scopes: readonly string[],
  waiting: ReadonlyMap<string, Waiting>,
): ReadonlyMap<string, { readonly count: number; readonly oldestMs: number | undefined }> {
  const all = [...waiting.values()];
  return new Map(
    scopes.map((scope) => {
      const created = all.filter(({ source }) => source === scope).map(({ request }) => request.createdAtMs);
      return [
        scope,
        { count: created.length, oldestMs: created.length === 0 ? undefined : Math.min(...created) },
      ];
    }),
  );
}
