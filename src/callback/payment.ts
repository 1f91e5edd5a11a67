import { formatAmount } from '../values/amount.ts';
import type { Members } from '../values/members.ts';
import type { Parsed, PaymentCallback } from './callback.ts';
import {
  type Grammar,
  optionalText,
  reading,
  requiredAmount,
  requiredText,
  unreadable,
  valuesOf,
} from './reading.ts';

/**
 * The members of a payment confirmation (section 6.1) and what each may hold. The `md5` and `rsa` schemes
 * sign names and values run together, so a signed text proves something only if these grammars allow one
 * reading of it. That is why a symbol may not end like a `time` member.
 */
export const PAYMENT_MEMBERS = {
  appKey: { pattern: /^[\x21-\x7e]+$/, maxLength: 128 },
  appOrderId: { pattern: /^[\x21-\x7e]+$/, maxLength: 128 },
  orderAmount: { pattern: /^(?:0|[1-9]\d{0,35})(?:\.\d{1,36})?$/, maxLength: 73 },
  payCoinSymbol: { pattern: /^(?!.*time\d{10}(?:\d{3})?$)[A-Za-z0-9][A-Za-z0-9_.-]*$/, maxLength: 64 },
  time: { pattern: /^(?:\d{10}|\d{13})$/, maxLength: 13 },
  userId: { pattern: /^\d+$/, maxLength: 32 },
} as const satisfies Readonly<Record<string, Grammar>>;

/** Members that may be missing from a payment confirmation. */
export const PAYMENT_OPTIONAL: ReadonlySet<string> = new Set(['time']);

export const paymentValues = ['userId', 'appOrderId', 'amount', 'symbol'] as const;
export const paymentAliases = { orderAmount: 'amount', payCoinSymbol: 'symbol' } as const;

/**
 * A payment confirmation from its flat members, those of an envelope's plaintext included. A member that the
 * callback does not define refuses it: with no separators in the signed text, a stranger's name could change
 * the reading.
 */
export function parsePayment(members: Members, source: string): Parsed<PaymentCallback> {
  return reading(() => {
    const stranger = [...members.keys()].find(
      (name) => name !== 'sign' && !Object.hasOwn(PAYMENT_MEMBERS, name),
    );
    if (stranger !== undefined) {
      unreadable('MEMBER_UNKNOWN', `a payment confirmation has no member ${JSON.stringify(stranger)}`, {
        member: stranger,
      });
    }
    optionalText(members, 'time', PAYMENT_MEMBERS.time);
    const userId = requiredText(members, 'userId', PAYMENT_MEMBERS.userId);
    const id = requiredText(members, 'appOrderId', PAYMENT_MEMBERS.appOrderId);
    const symbol = requiredText(members, 'payCoinSymbol', PAYMENT_MEMBERS.payCoinSymbol);
    const amount = requiredAmount(members, 'orderAmount', { pattern: PAYMENT_MEMBERS.orderAmount.pattern });
    const amountText = formatAmount(amount);
    return {
      kind: 'payment',
      source,
      id,
      userId,
      amount,
      symbol,
      question: { type: 'payment', speedUp: false },
      payouts: [],
      values: valuesOf({ userId, appOrderId: id, amount: amountText, symbol }),
      terms: { userId, symbol, amount: amountText },
      unknown: [],
    };
  });
}
