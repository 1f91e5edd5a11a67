import { addDecimals } from '../decimal.ts';
import type { Fault, Faults } from '../faults.ts';
import type { Payment } from '../state.ts';
import { DAY_MS } from '../time.ts';

/** The smallest amount of the books. */
const LAST_DIGIT = '0.000000000000000001';

type Change = (payment: Payment) => readonly Payment[];

/** What each fault makes of a payment in the bill. The payment itself stays as it is. */
const CHANGES = new Map<Fault, Change>([
  ['bill-omit', () => []],
  ['bill-twice', (payment) => [payment, payment]],
  ['bill-amount', (payment) => [{ ...payment, amount: addDecimals(payment.amount, LAST_DIGIT) }]],
  ['bill-coin', (payment) => [{ ...payment, coin: payment.coin === 'BTC' ? 'ETH' : 'BTC' }]],
  ['bill-user', (payment) => [{ ...payment, userId: payment.userId + 1 }]],
  ['bill-order', (payment) => [{ ...payment, appOrderId: `${payment.appOrderId}-1` }]],
  ['bill-type', (payment) => [{ ...payment, orderType: payment.orderType === 1 ? 11 : 1 }]],
  ['bill-day', (payment) => [{ ...payment, paidAtMs: payment.paidAtMs + DAY_MS }]],
  ['bill-invented', (payment) => [payment, { ...payment, appOrderId: `invented-${payment.appOrderId}` }]],
]);

/** The payments as the bill shows them. A payment has at most one fault. */
export function withBillFaults(payments: readonly Payment[], faults: Faults): readonly Payment[] {
  return payments.flatMap((payment) => {
    const found = [...CHANGES].find(([fault]) => faults.occurs(fault, payment.appOrderId));
    return found === undefined ? [payment] : found[1](payment);
  });
}
