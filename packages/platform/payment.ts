import type { CallOptions, PaymentQuery, UnreadableRecord } from './calls.ts';
import type { Connection } from './connection.ts';
import { bill } from './operations/bill.ts';
import { iterate } from './paging.ts';
import { type RecordOf, invalidAnswer } from './operation.ts';
import { readMembers } from '../../src/values/members.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Searches the bill of payment orders (4.17) for an appOrderId. No operation reads one order. The time zone
 * of the bill's days is not documented, so the day before and the day after the instant are read too. Throws
 * a PlatformError, also if it isn't there, but a record can't be read that may be it.
 */
export async function findPayment(
  connection: Connection,
  { appOrderId, userId, sentAtMs = connection.clock() }: PaymentQuery,
  options?: CallOptions,
): Promise<RecordOf<typeof bill> | undefined> {
  let doubt: string | undefined;
  for (const offset of [0, -1, 1]) {
    const day = new Date(sentAtMs + offset * DAY_MS).toISOString().slice(0, 10);
    const records = iterate(connection, bill, { day, orderType: '1', userId }, options);
    for await (const record of records) {
      if ('unreadable' in record) {
        const id = appOrderIdOf(record);
        if (id === appOrderId) doubt = `the record of this payment can't be read: ${record.unreadable}`;
        if (id === undefined)
          doubt ??= `a record that may be this payment can't be read: ${record.unreadable}`;
      } else if (record.appOrderId === appOrderId) return record;
    }
  }
  if (doubt === undefined) return undefined;
  throw invalidAnswer(bill, doubt);
}

/** The appOrderId of a record of the bill; undefined if that can't be read either. */
export function appOrderIdOf({ text }: UnreadableRecord): string | undefined {
  const read = readMembers(text);
  const id = read.ok ? read.members.get('appOrderId') : undefined;
  return (id?.kind === 'string' && id.text !== '') || id?.kind === 'number' ? id.text : undefined;
}
