import { createHash } from 'node:crypto';
import { CountersignError, messageOf } from '../../errors.ts';
import type { Connection } from '../../platform/connection.ts';
import { bill } from '../../platform/operations/bill.ts';
import { request } from '../../platform/request.ts';
import type { BillListRecord } from '../../platform/types.ts';
import { type Bill, type PlacedRecord, billFault } from '../../reconcile/bill.ts';
import type { Day } from '../../reconcile/day.ts';

/** The most that the platform gives at once (section 8). */
const PAGE_SIZE = 2000;

/**
 * The bill of a day, read from the platform (4.17): all pages, with both order types. Equal records all
 * count, also on different pages, because an order may be billed twice. So that no record is missed or read
 * twice while records move, all pages must state the same number of records, and together have as many.
 */
export function platformBill(connection: Connection, { source, day }: { source: string; day: Day }): Bill {
  const name = `the platform's bill of ${source}`;
  const hash = createHash('sha256');
  let isRead = false;

  async function* records(): AsyncGenerator<PlacedRecord> {
    let read = 0;
    let count: number | undefined;
    for (let page = 1; count === undefined || read < count; page++) {
      const answer = await readPage(connection, day, page);
      count ??= answer.count;
      const last = read + answer.list.length;
      if (answer.count !== count) throw changed(name, `page ${page} states ${answer.count} records`, count);
      if (last > count) throw changed(name, `page ${page} ends at record ${last}`, count);
      if (answer.list.length === 0 && last < count) {
        throw changed(name, `page ${page} is empty after ${last} records`, count);
      }
      for (const record of answer.list) {
        const placed = placedRecord(record, ++read);
        hash.update(`${JSON.stringify(placed)}\n`);
        yield placed;
      }
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

async function readPage(connection: Connection, { date }: Day, page: number) {
  try {
    return await request(connection, bill, { day: date, pageNum: String(page), pageSize: String(PAGE_SIZE) });
  } catch (thrown) {
    throw new CountersignError(
      'BILL_INVALID',
      `the bill was not read: ${messageOf(thrown)}. Run the command again, or give the bill with --bill`,
      {},
      thrown,
    );
  }
}

function changed(name: string, because: string, count: number): CountersignError {
  return billFault(
    name,
    0,
    `${because}, but page 1 states ${count}: it changed while it was read. Run the command again`,
  );
}

function placedRecord({ orderType, openId, payTime, ...texts }: BillListRecord, line: number): PlacedRecord {
  return { ...texts, orderType: String(orderType), openId: openId ?? '', payTime: payTime ?? '', line };
}
