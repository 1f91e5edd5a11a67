import { addDecimals } from '../decimal.ts';
import type { Fault, Faults } from '../faults.ts';
import type { Payment } from '../state.ts';
import { DAY_MS } from '../time.ts';

/** The smallest amount of the books. */
const LAST_DIGIT = '0.000000000000000001';

/** What a fault makes of a payment in the bill. */
const CHANGES = new Map<Fault, (payment: Payment) => readonly Payment[]>([
  ['bill-omit', () => []],
  ['bill-twice', (payment) => [payment, payment]],
  ['bill-amount', (payment) => [{ ...payment, amount: addDecimals(payment.amount, LAST_DIGIT) }]],
  ['bill-user', (payment) => [{ ...payment, userId: payment.userId + 1 }]],
  ['bill-day', (payment) => [{ ...payment, paidAtMs: payment.paidAtMs + DAY_MS }]],
  ['bill-invented', (payment) => [payment, { ...payment, appOrderId: `invented-${payment.appOrderId}` }]],
]);

/** A payment, and the records that the bill has of it. */
export interface Billed {
  readonly payment: Payment;
  readonly fault: Fault | undefined;
  readonly records: readonly Payment[];
}

/** A payment as the bill shows it, with at most one fault. The payment itself stays as it is. */
export function withBillFaults(payment: Payment, faults: Faults): Billed {
  const fault = faultOf(payment, faults);
  const change = fault && CHANGES.get(fault);
  return { payment, fault, records: change?.(payment) ?? [payment] };
}

/** What was debited after a refusal is in the bill as it is. */
function faultOf({ appOrderId }: Payment, faults: Faults): Fault | undefined {
  if (faults.occurs('bill-refused', appOrderId)) return undefined;
  return [...CHANGES.keys()].find((fault) => faults.occurs(fault, appOrderId));
}
