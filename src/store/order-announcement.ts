import { CountersignError } from '../errors.ts';
import type { OrderAnnouncement } from './store.ts';

/**
 * Throws USAGE unless an announcement names a member (one of none would agree with whatever comes) and has a
 * whole expiry.
 */
export function expectAnnouncement({ source, subject, members, expiresAtMs }: OrderAnnouncement): void {
  if (Object.keys(members).length === 0) {
    throw new CountersignError(
      'USAGE',
      `the order for ${subject} of ${source} names no members, and would agree with whatever comes: name some`,
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
