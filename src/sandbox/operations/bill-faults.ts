import { isDeepStrictEqual } from 'node:util';
import { addDecimals } from '../decimal.ts';
import type { Fault, Faults } from '../faults.ts';
import type { Payment } from '../state.ts';
import { DAY_MS } from '../time.ts';

/** The smallest amount of the books. */
const LAST_DIGIT = '0.000000000000000001';

/** What a fault makes of a payment in the bill. `next` gives the next payment with the same fault. */
type Change = (payment: Payment, next: () => Payment) => readonly Payment[];

const dayLater = (payment: Payment): Payment => ({ ...payment, paidAtMs: payment.paidAtMs + DAY_MS });

const CHANGES = new Map<Fault, Change>([
  ['bill-omit', () => []],
  ['bill-twice', (payment) => [payment, payment]],
  ['bill-two-days', (payment) => [payment, dayLater(payment)]],
  ['bill-transfer', (payment) => [payment, { ...payment, orderType: 11 }]],
  ['bill-amount', (payment) => [{ ...payment, amount: addDecimals(payment.amount, LAST_DIGIT) }]],
  ['bill-coin', (payment) => [{ ...payment, coin: payment.coin === 'BTC' ? 'ETH' : 'BTC' }]],
  ['bill-user', (payment) => [{ ...payment, userId: payment.userId + 1 }]],
  ['bill-swap', (payment, next) => [{ ...payment, userId: next().userId }]],
  ['bill-order', (payment) => [{ ...payment, appOrderId: `${payment.appOrderId}-1` }]],
  ['bill-type', (payment) => [{ ...payment, orderType: payment.orderType === 1 ? 11 : 1 }]],
  ['bill-day', (payment) => [dayLater(payment)]],
  ['bill-invented', (payment) => [payment, { ...payment, appOrderId: `invented-${payment.appOrderId}` }]],
]);

/** A payment, and the records that the bill has of it. */
export interface Billed {
  readonly payment: Payment;
  readonly fault: Fault | undefined;
  readonly records: readonly Payment[];
}

/** The payments as the bill shows them. The payments themselves stay as they are. Each has at most one fault. */
export function withBillFaults(payments: readonly Payment[], faults: Faults): readonly Billed[] {
  const faulty = payments.map((payment) => ({ payment, fault: faultOf(payment, faults) }));
  return faulty.map(({ payment, fault }, at) => {
    const change = fault && CHANGES.get(fault);
    if (change === undefined) return { payment, fault, records: [payment] };
    const next = (): Payment =>
      [...faulty.slice(at + 1), ...faulty].find((each) => each.fault === fault)?.payment ?? payment;
    const records = change(payment, next);
    return { payment, fault: isDeepStrictEqual(records, [payment]) ? undefined : fault, records };
  });
}

/** What was debited after a refusal is in the bill as it is. */
function faultOf({ appOrderId }: Payment, faults: Faults): Fault | undefined {
  if (faults.occurs('bill-refused', appOrderId)) return undefined;
  return [...CHANGES.keys()].find((fault) => faults.occurs(fault, appOrderId));
}
