import type { Order } from '../store/store.ts';

/** An order for machines: instants as text. */
export function orderJson({ source, subject, members, state, by, ...times }: Order) {
  const instant = (ms: number): string => (ms === 0 ? '' : new Date(ms).toISOString());
  return {
    source,
    subject,
    state,
    members,
    expires: instant(times.expiresAtMs),
    announced: instant(times.announcedAtMs),
    ended: instant(times.endedAtMs),
    by,
  };
}
