import { createHash } from 'node:crypto';
import { CountersignError, messageOf } from '../../errors.ts';
import {
  type BillListRecord,
  type PageProgress,
  type Platform,
  PlatformError,
  type UnreadableRecord,
} from '../../../packages/platform/index.ts';
import { appOrderIdOf } from '../../../packages/platform/specification.ts';
import { type Bill, type ReadRecord, billFault, unreadable } from '../../reconcile/bill.ts';
import type { Day } from '../../reconcile/day.ts';

/**
 * The bill of a day, read from the platform (4.17): all pages, with both order types. Equal records all
 * count, also on different pages, because an order may be billed twice. All pages must state the same number
 * of records, and together have as many; pages that moved while they were read are an error.
 */
export function platformBill(
  { bill }: Pick<Platform, 'bill'>,
  { source, day }: { source: string; day: Day },
): Bill {
  const name = `the platform's bill of ${source}`;
  const hash = createHash('sha256');
  let isRead = false;

  async function* records(): AsyncGenerator<ReadRecord> {
    let line = 0;
    let count: number | undefined;
    const onPage = ({ pages, total }: PageProgress): void => {
      count ??= total;
      if (total !== count) throw changed(name, `page ${pages} states ${total} records`, count);
    };
    try {
      for await (const record of bill.listAll({ day: day.date }, { onPage })) {
        const placed = placedRecord(record, ++line);
        hash.update(`${JSON.stringify(placed)}\n`);
        yield placed;
      }
    } catch (thrown) {
      throw thrown instanceof PlatformError ? notRead(thrown) : thrown;
    }
    isRead = true;
  }

  return {
    name,
    records,
    digest() {
      if (!isRead) throw new Error('the digest of a bill that was not read');
      return hash.copy().digest('hex');
    },
  };
}

function notRead(thrown: PlatformError): CountersignError {
  return new CountersignError(
    'BILL_INVALID',
    `the bill was not read: ${messageOf(thrown)}. Run the command again, or give the bill with --bill`,
    {},
    thrown,
  );
}

function changed(name: string, because: string, count: number | undefined): CountersignError {
  return billFault(
    name,
    0,
    `${because}, but page 1 states ${count}: it changed while it was read. Run the command again`,
  );
}

function placedRecord(record: BillListRecord | UnreadableRecord, line: number): ReadRecord {
  if ('unreadable' in record) {
    const { unreadable: because, text } = record;
    return unreadable({ line, id: appOrderIdOf(record) ?? '', because, text });
  }
  const { orderType, openId, payTime, ...texts } = record;
  return { ...texts, orderType: String(orderType), openId: openId ?? '', payTime: payTime ?? '', line };
}
