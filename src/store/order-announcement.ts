import { CountersignError } from '../errors.ts';
import type { OrderAnnouncement } from './store.ts';

/**
 * Throws USAGE unless an announcement names a member and has a whole expiry. One without members would agree
 * with any callback.
 */
export function assertAnnouncement({ source, subject, members, expiresAtMs }: OrderAnnouncement): void {
  if (Object.keys(members).length === 0) {
    throw new CountersignError(
      'USAGE',
      `the order for ${subject} of ${source} names no members, so any callback would agree; name some`,
      { source, subject },
    );
  }
  if (!Number.isSafeInteger(expiresAtMs) || expiresAtMs < 0) {
    throw new CountersignError(
      'USAGE',
      `expiresAtMs is ${expiresAtMs}; give whole milliseconds since 1970 as an order's expiry`,
      { source, subject, expiresAtMs },
    );
  }
}
