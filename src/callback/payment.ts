import { formatAmount } from '../values/amount.ts';
import { canonicalUserId } from '../values/user-id.ts';
import type { Grammar, Members } from '../values/members.ts';
import type { Parsed, PaymentCallback } from './callback.ts';
import { optionalText, parseWith, requiredAmount, requiredText, reject, valuesOf } from './member-readers.ts';

/**
 * The members of a payment confirmation (section 6.1) and their grammars. The `md5` and `rsa` schemes sign
 * the names and values without separators. The signature proves the members only if these grammars leave one
 * way to split the signed text. That is why a symbol must not end like a `time` member.
 */
export const PAYMENT_MEMBERS = {
  appKey: { pattern: /^[\x21-\x7e]+$/, maxLength: 128 },
  appOrderId: { pattern: /^[\x21-\x7e]+$/, maxLength: 128 },
  orderAmount: { pattern: /^(?:0|[1-9]\d{0,35})(?:\.\d{1,36})?$/, maxLength: 73 },
  payCoinSymbol: { pattern: /^(?!.*time\d{10}(?:\d{3})?$)[A-Za-z0-9][A-Za-z0-9_.-]*$/, maxLength: 64 },
  time: { pattern: /^(?:\d{10}|\d{13})$/, maxLength: 13 },
  userId: { pattern: /^\d+$/, maxLength: 32 },
} as const satisfies Readonly<Record<string, Grammar>>;

/** The optional members of a payment confirmation. */
export const PAYMENT_OPTIONAL: ReadonlySet<string> = new Set(['time']);

export const paymentValues = ['userId', 'appOrderId', 'amount', 'symbol'] as const;
export const paymentAliases = { orderAmount: 'amount', payCoinSymbol: 'symbol' } as const;

/**
 * Parses a payment confirmation from its members, which may come from the plaintext of an envelope. An
 * unknown member is refused: without separators in the signed text, its name could make the text ambiguous.
 */
export function parsePayment(members: Members, source: string): Parsed<PaymentCallback> {
  return parseWith(() => {
    const unknownMember = [...members.keys()].find(
      (name) => name !== 'sign' && !Object.hasOwn(PAYMENT_MEMBERS, name),
    );
    if (unknownMember !== undefined) {
      reject('MEMBER_UNKNOWN', `a payment confirmation has no member ${JSON.stringify(unknownMember)}`, {
        member: unknownMember,
      });
    }
    optionalText(members, 'time', PAYMENT_MEMBERS.time);
    const userId = canonicalUserId(requiredText(members, 'userId', PAYMENT_MEMBERS.userId));
    const id = requiredText(members, 'appOrderId', PAYMENT_MEMBERS.appOrderId);
    const symbol = requiredText(members, 'payCoinSymbol', PAYMENT_MEMBERS.payCoinSymbol);
    const amount = requiredAmount(members, 'orderAmount', { pattern: PAYMENT_MEMBERS.orderAmount.pattern });
    const texts = { userId, appOrderId: id, amount: formatAmount(amount), symbol };
    return {
      kind: 'payment',
      source,
      id,
      amount,
      symbol,
      question: { type: 'payment', speedUp: false },
      payouts: [],
      texts,
      values: valuesOf(texts),
      terms: { userId, symbol, amount: texts.amount },
      unknown: [],
    };
  });
}
