import { CountersignError } from '../errors.ts';
import { type Amount, parseSignedAmount } from '../values/amount.ts';
import { printableSentence } from '../values/printable.ts';
import { canonicalUserId } from '../values/user-id.ts';
import { type Day, billDate } from './day.ts';

/** The members of a bill's record (section 2.15), each as its exact text. */
export const BILL_MEMBERS = [
  'merchantUserId',
  'appOrderId',
  'payCoinSymbol',
  'orderAmount',
  'orderType',
  'userId',
  'openId',
  'createTime',
  'payTime',
] as const;

/** A payment order or transfer order of the merchant's bill (sections 2.15 and 4.17). */
export type BillRecord = Readonly<Record<(typeof BILL_MEMBERS)[number], string>>;

/** A record with its place in the bill, for errors and items. */
export interface PlacedRecord extends BillRecord {
  /** The number of its line in a file, or of the record in an answer; counted from 1. */
  readonly line: number;
}

/** A record that can't be read. It hides nothing else of the day: it is an exception of its own. */
export interface UnreadableRecord {
  readonly line: number;
  /** Its appOrderId; the empty text if that can't be read either. */
  readonly id: string;
  readonly because: string;
  /** The record as the bill writes it, on one line and bounded. */
  readonly text: string;
}

export type ReadRecord = PlacedRecord | UnreadableRecord;

/**
 * The bill of a day. It has all records of both order types, or reading rejects: a bill that might lack
 * records would hide what was billed.
 */
export interface Bill {
  /** For errors: the file or the operation. */
  readonly name: string;
  /** In the order of the bill. To be read once. Rejects with BILL_INVALID. */
  records(): AsyncIterable<ReadRecord>;
  /** The SHA-256 of what was read, once all records were read. */
  digest(): string;
}

/** The order types of section 3.1. */
const ORDER_TYPES: ReadonlyMap<string, 'payment' | 'transfer'> = new Map([
  ['1', 'payment'],
  ['11', 'transfer'],
]);

/** A record that was checked. */
export interface BilledOrder {
  readonly id: string;
  readonly type: 'payment' | 'transfer';
  readonly coin: string;
  readonly amount: Amount;
  readonly user: string;
  /** When it was paid, or else created, as the bill writes it. */
  readonly time: string;
  readonly line: number;
}

const TEXT_MAX = 256;
/** Invisible characters could make two ids look the same. */
const TEXT = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+$/u;

/**
 * Checks a record against section 2.15 and the day. Ids may have characters that no payment confirmation may
 * have: such an order was never approved, and must be reported as billed. Throws BILL_INVALID for a record of
 * another day, because the whole bill is then one of another day.
 */
export function checkRecord(
  record: PlacedRecord,
  bill: Pick<Bill, 'name'>,
  day: Day,
): BilledOrder | UnreadableRecord {
  const { line, ...members } = record;
  const { appOrderId, payCoinSymbol, orderAmount, orderType, userId, createTime, payTime } = members;
  const wrong = (member: keyof BillRecord, must: string): UnreadableRecord =>
    unreadable({
      line,
      id: appOrderId,
      because: `${member} is ${shown(record[member])} and must be ${must}`,
      text: JSON.stringify(members),
    });
  for (const member of ['appOrderId', 'payCoinSymbol', 'userId'] as const) {
    if (!isVisible(record[member])) return wrong(member, `1 to ${TEXT_MAX} visible characters`);
  }
  const type = ORDER_TYPES.get(orderType);
  if (type === undefined) return wrong('orderType', '1 (payment order) or 11 (transfer order)');
  const amount = parseSignedAmount(orderAmount);
  if (amount === undefined)
    return wrong('orderAmount', 'a decimal with at most 36 digits before and after the point');
  const dates: (string | undefined)[] = [];
  for (const member of ['createTime', 'payTime'] as const) {
    if (record[member] === '') continue;
    const date = billDate(record[member], day.zone);
    if (date === undefined) return wrong(member, 'yyyy-MM-dd HH:mm:ss or epoch milliseconds');
    dates.push(date);
  }
  if (dates.length === 0) return wrong('createTime', 'a time, because payTime is empty too');
  if (!dates.includes(day.date)) {
    const times = `createTime is ${shown(createTime)} and payTime is ${shown(payTime)}`;
    const because = `${times}, which is another day than ${day.date} in ${day.zone}`;
    throw billFault(bill.name, line, `${because}. Give the bill of that day, or the zone of the platform`);
  }
  const time = payTime === '' ? createTime : payTime;
  return { id: appOrderId, type, coin: payCoinSymbol, amount, user: canonicalUserId(userId), time, line };
}

const isVisible = (text: string): boolean => text.length <= TEXT_MAX && TEXT.test(text);

/** The item's id and text are shown to people, so they have only visible characters. */
export function unreadable({ id, text, ...found }: UnreadableRecord): UnreadableRecord {
  return { ...found, id: isVisible(id) ? id : '', text: printableSentence(text) };
}

/** Line 0 means the whole bill. */
export function billFault(name: string, line: number, because: string): CountersignError {
  const place = line === 0 ? name : `${name}, line ${line}`;
  return new CountersignError('BILL_INVALID', `${place}: ${because}`, { bill: name, line });
}

export const shown = (text: string): string => JSON.stringify(printableSentence(text));
