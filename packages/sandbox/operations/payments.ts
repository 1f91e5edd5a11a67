import { coinNamed } from '../coins.ts';
import { readDecimal } from '../decimal.ts';
import { exactNumber } from '../json.ts';
import { amount, oneOf, optional, refuse, required, text, whole } from '../parameters.ts';
import { Refusal } from '../refusal.ts';
import { usersOf } from '../seed.ts';
import { type Payment, type State, accountOf, book } from '../state.ts';
import type { Zone } from '../time.ts';
import { withBillFaults } from './bill-faults.ts';
import { matches, operation, pageOf } from './operation.ts';

/**
 * Section 4.2. The amount is held (account type 202) while the receiver is asked, so that no second payment
 * can spend it. The hold becomes a debit only if the receiver says yes.
 */
export const pay = operation(
  {
    path: 'opay/transferToMerchantAuth',
    parameters: {
      userId: required(text),
      appOrderId: required(text),
      orderAmount: required(amount),
      payCoinSymbol: required(text),
    },
  },
  async ({ userId, appOrderId, orderAmount, payCoinSymbol }, context) => {
    const { state, nowMs } = context;
    const user = usersOf(state).find(({ uid }) => String(uid) === userId);
    if (user === undefined) throw new Refusal('70004', `there is no user ${userId}`);
    if (coinNamed(payCoinSymbol) === undefined) {
      throw new Refusal('70007', `there is no coin ${payCoinSymbol}`);
    }
    if (state.payments.some((each) => each.appOrderId === appOrderId)) {
      throw new Refusal('70002', `there already is an order ${appOrderId}`);
    }
    const payment: Payment = {
      appOrderId,
      userId: user.uid,
      coin: payCoinSymbol,
      amount: orderAmount,
      orderType: 1,
      state: 'confirming',
      createdAtMs: nowMs,
      paidAtMs: 0,
    };
    hold(state, payment, nowMs);
    state.payments.push(payment);
    let refused = await context.confirm(payment);
    const endedAtMs = context.now();
    // A restore or a reset may have replaced the records while the receiver was asked.
    if (!state.payments.includes(payment)) throw new Refusal('10015', 'the sandbox was reset meanwhile');
    if (refused !== undefined && context.faults.occurs('bill-refused', appOrderId)) {
      context.note('bill-refused', appOrderId);
      refused = undefined;
    }
    if (refused === undefined) {
      payment.state = 'paid';
      payment.paidAtMs = endedAtMs;
      settle(state, payment, endedAtMs);
      return null;
    }
    release(state, payment, endedAtMs);
    throw new Refusal('10015', `the merchant did not confirm the payment: ${refused}`);
  },
);

function hold(state: State, { userId, coin, amount: held }: Payment, nowMs: number): void {
  const free = accountOf(state, { uid: userId, coin, type: '201' }, nowMs);
  if ((readDecimal(free.balance) ?? 0n) < (readDecimal(held) ?? 0n)) {
    throw new Refusal('70006', `the balance ${free.balance} ${coin} is below ${held}`);
  }
  book(state, { uid: userId, coin, type: '202' }, held, nowMs);
  book(state, { uid: userId, coin, type: '201' }, `-${held}`, nowMs);
}

function settle(state: State, { userId, coin, amount: held }: Payment, nowMs: number): void {
  book(state, { uid: userId, coin, type: '202' }, `-${held}`, nowMs);
}

/** Gives the held amount back, and removes the order: the merchant may send it again. */
function release(state: State, payment: Payment, nowMs: number): void {
  settle(state, payment, nowMs);
  book(state, { uid: payment.userId, coin: payment.coin, type: '201' }, payment.amount, nowMs);
  state.payments = state.payments.filter((each) => each !== payment);
}

/** Releases the payments of a restored state that nobody will confirm any more. */
export function releaseUnconfirmed(state: State, nowMs: number): void {
  const unconfirmed = state.payments.filter((each) => each.state === 'confirming');
  for (const payment of unconfirmed) release(state, payment, nowMs);
}

const BILL_PAGE_MAX = 2000;

/** Section 4.17. A day is one of the platform's time zone. Payments count by the time of their debit. */
export const bill = operation(
  {
    path: 'opay/merchantBillingDay',
    parameters: {
      orderType: optional(oneOf('1', '11')),
      day: optional(text),
      userId: optional(whole()),
      startDate: optional(text),
      endDate: optional(text),
      pageNum: optional(whole(1, 1_000_000)),
      pageSize: optional(whole(1, BILL_PAGE_MAX)),
    },
  },
  ({ orderType, userId, pageNum, pageSize, ...range }, { state, zone, nowMs, merchantUid, faults, note }) => {
    const { fromMs, untilMs } = billedRange(range, zone, nowMs);
    const type = orderType === undefined ? undefined : Number(orderType);
    const isListed = (each: Payment): boolean =>
      each.paidAtMs >= fromMs && each.paidAtMs < untilMs && matches(each, { orderType: type, userId });
    const found: Payment[] = [];
    const paid = state.payments.filter((each) => each.state === 'paid');
    for (const { payment, fault, records } of paid.map((each) => withBillFaults(each, faults))) {
      if (fault !== undefined && [payment, ...records].some(isListed)) note(fault, payment.appOrderId);
      found.push(...records.filter(isListed));
    }
    found.sort((a, b) => a.paidAtMs - b.paidAtMs);
    const shown =
      pageNum === undefined ? found : pageOf(found, { page: pageNum, pageSize: pageSize ?? BILL_PAGE_MAX });
    const openIds = new Map(usersOf(state).map(({ uid, openId }) => [uid, openId]));
    return {
      count: found.length,
      list: shown.map((each) => {
        const { appOrderId, amount: exact } = each;
        return {
          merchantUserId: merchantUid,
          appOrderId,
          payCoinSymbol: each.coin,
          orderAmount: exactNumber(faults.occurs('wire-zeros', appOrderId) ? withZeros(exact) : exact),
          orderType: each.orderType,
          userId: each.userId,
          openId: openIds.get(each.userId) ?? '',
          createTime: zone.textOf(each.createdAtMs),
          payTime: zone.textOf(each.paidAtMs),
        };
      }),
    };
  },
);

const withZeros = (decimal: string): string => `${decimal}${decimal.includes('.') ? '' : '.'}000`;

interface BilledRange {
  readonly day: string | undefined;
  readonly startDate: string | undefined;
  readonly endDate: string | undefined;
}

/** The instants from the first, included, to the second, excluded. */
function billedRange({ day, startDate, endDate }: BilledRange, zone: Zone, nowMs: number) {
  if (startDate !== undefined && endDate !== undefined) {
    const fromMs = zone.instantOf(startDate) ?? refuse('startDate', 'is not written as yyyy-MM-dd HH:mm:ss');
    const lastMs = zone.instantOf(endDate) ?? refuse('endDate', 'is not written as yyyy-MM-dd HH:mm:ss');
    // The end has second precision, and all of that second belongs to the range.
    return { fromMs, untilMs: lastMs + 1000 };
  }
  if (startDate !== undefined) refuse('endDate', 'is missing beside startDate');
  if (endDate !== undefined) refuse('startDate', 'is missing beside endDate');
  return zone.boundsOf(day ?? zone.dayOf(nowMs)) ?? refuse('day', 'is not written as yyyy-MM-dd');
}
