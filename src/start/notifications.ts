import { createAlarms } from '../notifications/alarms.ts';
import {
  type Notifications,
  type NotificationsParts,
  createNotifications,
} from '../notifications/notifications.ts';
import type { Log } from '../observe/log.ts';
import { originOf } from '../settings/console.ts';
import type { Settings } from '../settings/schema.ts';
import type { Secrets } from '../settings/secrets.ts';
import type { Clock } from '../values/clock.ts';
import { replicaName } from './background.ts';

/** What waits at a stop is sent within this time, and within `public.shutdownGraceMs`. */
const STOP_MS = 2000;

export interface OpenNotifications extends Omit<Notifications, 'close'> {
  /** The log of the service, whose alarms are sent. */
  readonly log: Log;
  readonly close: () => Promise<void>;
}

/** Notifies the receivers of the settings. */
export function openNotifications(
  { settings, clock, log }: { readonly settings: Settings; readonly clock: Clock; readonly log: Log },
  { read, readPem }: Pick<Secrets, 'read' | 'readPem'>,
  store: NotificationsParts['store'],
): OpenNotifications {
  const passkeys = settings.console?.passkeys;
  const notifications = createNotifications({
    settings: settings.notifications,
    deployment: settings.deployment,
    consoleOrigin: passkeys === undefined ? undefined : originOf(passkeys),
    store,
    readSecret: read,
    readPem,
    clock,
    log,
  });
  const { notify } = notifications;
  const alarms = createAlarms({ notify, replica: replicaName() });
  return {
    ...notifications,
    log: alarms.watch(log),
    close() {
      alarms.close();
      return notifications.close(Math.min(STOP_MS, settings.public.shutdownGraceMs));
    },
  };
}
