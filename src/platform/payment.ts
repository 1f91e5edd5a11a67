import type { CallOptions } from './calls.ts';
import type { Connection } from './connection.ts';
import { bill } from './operations/bill.ts';
import { iterate } from './paging.ts';
import type { BillListRecord } from './types.ts';

export interface PaymentQuery {
  readonly appOrderId: string;
  /** The UID of the user who pays. With it, the platform searches only the bill of this user. */
  readonly userId?: string;
  /** When the payment was sent, in milliseconds since the epoch. By default now. */
  readonly sentAtMs?: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Searches the bill of payment orders (4.17) for an appOrderId. No operation reads one order. The time zone
 * of the bill's days is not documented, so the day before and the day after the instant are read too. Throws
 * a PlatformError.
 */
export async function findPayment(
  connection: Connection,
  { appOrderId, userId, sentAtMs = connection.clock() }: PaymentQuery,
  options?: CallOptions,
): Promise<BillListRecord | undefined> {
  for (const offset of [0, -1, 1]) {
    const day = new Date(sentAtMs + offset * DAY_MS).toISOString().slice(0, 10);
    const records = iterate(connection, bill, { day, orderType: '1', userId }, options);
    for await (const record of records) if (record.appOrderId === appOrderId) return record;
  }
  return undefined;
}
