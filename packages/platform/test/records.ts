import { exampleData } from '../examples.ts';
import type { Records, UnreadableRecord } from '../calls.ts';
import { type PlainPlatform, type Received, startPlatform } from './plain-platform.ts';

/* Records as the platform writes them, and pages of them. */

/** The first record of an example answer, with other members. */
function exampleOf(command: string, list: string, over: object): object {
  const data = JSON.parse(exampleData[command] ?? '') as Readonly<Record<string, readonly object[]>>;
  return { ...(list === '' ? (data as unknown as readonly object[]) : data[list])?.[0], ...over };
}

export const coupon = (id: number) => exampleOf('coupons', 'mapList', { id });
export const deposit = (id: number) => exampleOf('deposits', '', { id });
export const gift = (uid: number) => exampleOf('coin-gifts', 'presentRecordList', { uid });
export const order = (id: number) => exampleOf('orders', 'list', { id, ctime: id });
/** A record of the bill. */
export const billed = (appOrderId: string) => exampleOf('bill', 'list', { appOrderId, userId: 1 });

/** One page of a list, whose first page is 1. */
export const slice = <T>(all: readonly T[], page: unknown, size: unknown): readonly T[] =>
  all.slice((Number(page) - 1) * Number(size), Number(page) * Number(size));

/** Serves coupons with these ids in pages. `all` can change between requests. */
export function couponsOf(
  all: readonly number[],
  { parameters: { page, pageSize } }: Pick<Received, 'parameters'>,
  count = all.length,
): string {
  return JSON.stringify({ count, mapList: slice(all, page, pageSize).map(coupon) });
}

/** A platform with these answers, one a request. */
export function answersInTurn(...answers: readonly string[]): Promise<PlainPlatform> {
  let request = 0;
  return startPlatform({ data: () => answers[request++] ?? '{"count":0,"list":[]}' });
}

/** The records, all of which must be readable. */
export async function* readable<R extends object>(records: Records<R | UnreadableRecord>): AsyncGenerator<R> {
  for await (const record of records) {
    if ('unreadable' in record) throw new Error(`unreadable: ${record.unreadable}`);
    yield record;
  }
}

export async function collect<R extends object>(records: Records<R | UnreadableRecord>): Promise<R[]> {
  const found: R[] = [];
  for await (const record of readable(records)) found.push(record);
  return found;
}

export const idsOf = async (
  records: Records<{ readonly id: string } | UnreadableRecord>,
): Promise<readonly number[]> => (await collect(records)).map(({ id }) => Number(id));
