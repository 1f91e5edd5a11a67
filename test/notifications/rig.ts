import { onTestFinished } from 'vitest';
import {
  type Notification,
  type Notifications,
  type NotificationsParts,
  createNotifications,
} from '../../src/notifications/notifications.ts';
import type { DeliveryLimits } from '../../src/notifications/receiver.ts';
import { createLog } from '../../src/observe/log.ts';
import type { NotificationCounts } from '../../src/observe/metrics.ts';
import type { NotificationSettings } from '../../src/settings/notifications.ts';
import { createLines } from '../observe/reports.ts';
import { type AnswerWith, SECRET } from '../plugins/other-side.ts';

export const NOW_MS = Date.UTC(2026, 2, 2, 10);

/** Patient with what should answer, and soon again with what did not. */
const LIMITS: Partial<DeliveryLimits> = { timeoutMs: 20_000, pauseMs: 20, pauseMaxMs: 40 };

export interface TestNotifications {
  readonly notifications: Notifications;
  /** Of the event `freeze`, known to this replica only unless `over` says otherwise. */
  readonly notify: (id: string, over?: Partial<Notification>) => void;
  readonly state: () => NotificationCounts | undefined;
  /** `event: because` and the count, as an operator is told. */
  readonly told: () => readonly string[];
  /** From now on the secret is this one; none can't be read. */
  readonly setSecret: (secret: string | undefined) => void;
}

export function notifying(
  url: string,
  limits: Partial<DeliveryLimits> = {},
  {
    settings = {},
    ...over
  }: Partial<Omit<NotificationsParts, 'settings'>> & {
    readonly settings?: Partial<NotificationSettings>;
  } = {},
): TestNotifications {
  let secret: string | undefined = SECRET;
  const lines = createLines();
  const notifications = createNotifications({
    settings: [{ url, secret: { env: 'S' }, events: ['freeze'], ...settings }],
    deployment: undefined,
    consoleOrigin: undefined,
    store: () => {
      throw new Error('no store is there');
    },
    readSecret: () => {
      if (secret === undefined) throw new Error('no secret is there');
      return secret;
    },
    clock: () => NOW_MS,
    log: createLog({ level: 'info', stream: lines.stream }),
    limits: { ...LIMITS, ...limits },
    ...over,
  });
  onTestFinished(() => notifications.close(0));
  return {
    notifications,
    notify: (id, more = {}) =>
      notifications.notify({ event: 'freeze', id, text: `It is ${id}`, data: {}, isOwn: true, ...more }),
    state: () => notifications.state()[0],
    told: () =>
      lines
        .lines()
        .map(({ event, because, count = '' }) => `${String(event)}: ${String(because)} ${String(count)}`),
    setSecret: (next) => void (secret = next),
  };
}

export const takes: AnswerWith = (response) => response.writeHead(204).end();
export const answers =
  (status: number): AnswerWith =>
  (response) =>
    response.writeHead(status).end();
