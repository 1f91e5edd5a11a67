import { hash, randomUUID } from 'node:crypto';
import type { Store } from '../store/store.ts';

/**
 * `sent`: some replica has sent the notification. `taken`: another replica is sending it, or has failed or
 * died within its lease. Otherwise this replica may send it, and then calls the function, which marks it as
 * sent.
 */
export type Lease = 'sent' | 'taken' | (() => Promise<void>);

/** Rejects as the store does. */
export type TakeLease = (receiver: string, id: string) => Promise<Lease>;

const SENT = 'sent';
/** A freeze that stands for longer is sent once more by a service that is restarted. */
const SENT_KEEP_MS = 30 * 86_400_000;

/**
 * Lets one replica send what all of them notice. If it dies or fails, its lease in the store ends, and
 * another one sends. So a notification is sent at least once, and more often only if the mark could not be
 * written.
 */
export function createLeases(
  store: () => Pick<Store, 'access' | 'changeAccess'>,
  leaseMs: number,
): TakeLease {
  const own = randomUUID();
  return async (receiver, id) => {
    const { access, changeAccess } = store();
    const key = `notified:${hash('sha256', JSON.stringify([receiver, id]), 'base64url')}`;
    const record = await access(key);
    if (record?.value === SENT) return 'sent';
    if (record !== undefined && record.value !== own) return 'taken';
    const expected = record?.version ?? 0;
    if (!(await changeAccess({ id: key, expected, value: own, keepMs: leaseMs }))) return 'taken';
    const mark = { id: key, expected: expected + 1, value: SENT, keepMs: SENT_KEEP_MS };
    return async () => void (await changeAccess(mark));
  };
}
