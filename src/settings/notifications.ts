import type { z } from 'zod';
import { list, oneOf, secretReference, section } from './fields.ts';
import { url } from './plugins.ts';

const EVENTS = ['request', 'expiring', 'decided', 'freeze', 'alarm'] as const;

/** What people can be notified of. */
export type NotificationEvent = (typeof EVENTS)[number];

/** The programs that pass notifications on to people. */
export const notifications = list(
  section({
    url: url.describe('The URL that receives notifications, by POST. Redirects are not followed.'),
    secret: secretReference.describe(
      'The secret shared with the receiver. It signs notifications (HMAC-SHA256). While it is replaced, two lines ' +
        'are two secrets, and each signs.',
    ),
    events: list(oneOf(EVENTS), 1, EVENTS.length, 'events').describe(
      'What is sent: `request` (something waits for the approval of people), `expiring` (a request ends soon), ' +
        '`decided` (a request was decided), `freeze` (approvals were frozen, or a freeze was lifted), `alarm` ' +
        '(what the log writes at level error).',
    ),
  }),
  0,
  16,
  'receivers',
)
  .prefault([])
  .describe('Who is notified of events, such as a chat or a mail gateway. See docs/notifications.md.');

export type NotificationSettings = z.output<typeof notifications>[number];
