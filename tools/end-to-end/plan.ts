import { addDecimals, decimalText, readDecimal } from '../../packages/sandbox/decimal.ts';
import type { Fault } from '../../packages/sandbox/faults.ts';
import { randomOf } from '../../packages/sandbox/random.ts';
import { DISCREPANCIES } from './discrepancies.ts';

/*
 * What is sent in a day, and what the policies say about it. A seed determines it.
 */

export type Scheme = 'md5' | 'rsa-envelope';

interface Sending {
  readonly id: string;
  readonly coin: string;
  readonly amount: string;
  /** What the policies say about it. */
  readonly verdict: 'SUCCESS' | 'FAILURE';
  /** Why, for people. */
  readonly because: string;
}

/** A payment (section 4.2). */
export interface Order extends Sending {
  readonly flow: 'payment';
  readonly scheme: Scheme;
  readonly userId: string;
  /** Whether the receiver is told to expect it. */
  readonly isAnnounced: boolean;
}

/** A withdrawal or a web3 transaction (section 6). */
export interface Signing extends Sending {
  readonly flow: 'transfer' | 'web3';
  readonly to: string;
  readonly outputs: readonly { readonly to: string; readonly amount: string }[];
  readonly contract: string;
  readonly speedUps: number;
}

export type Sent = Order | Signing;

export interface Plan {
  readonly orders: readonly Order[];
  readonly signings: readonly Signing[];
}

const ORDERS = 50;
const WITHDRAWALS = 30;
const TRANSACTIONS = 20;

/** The users of the sandbox. */
const FIRST_UID = 12_345;
const USERS = 20;

/** The most of each coin that one payment may have. A user begins with more than all of its orders together. */
const PAYMENT_LIMITS = { USDT1742: '1000', BTC: '0.5', ETH: '5' } as const;
const COINS = ['USDT1742', 'BTC', 'ETH'] as const;
const WITHDRAWAL_LIMIT = '10';

export const FROM = '0x27b1fdb04752bbc536007a920d24acb045561c26';
const KNOWN = '0x52908400098527886e0f7030069857d2e4169ee7';
const ALSO_KNOWN = '0xde709f2102306220921060314715629080e2fb77';
const UNKNOWN = '0x0000000000000000000000000000000000000001';

export const POLICIES = {
  'payments.yaml': COINS.map(
    (coin) => `policy: payments-${coin.toLowerCase()}
callback: payment
when: { source: shop, symbol: ${coin} }
rules:
  - amount-limit: { max: ${PAYMENT_LIMITS[coin]} }
  - expected-order: {}
`,
  ).join('---\n'),
  'withdrawals.yaml': `policy: withdrawals
callback: transfer
when: { source: vault, symbol: ETH }
rules:
  - amount-limit: { max: ${WITHDRAWAL_LIMIT} }
  - allow-list: { of: to, values: ['${KNOWN}', '${ALSO_KNOWN}'] }
`,
  'transactions.yaml': `policy: transactions
callback: web3
when: { source: vault, main_chain_symbol: ETH }
rules:
  - amount-limit: { max: 0 }
  - allow-list: { of: interactive_contract, values: ['${KNOWN}'] }
`,
} as const;

/** The smallest amount of the sandbox's books. */
const LAST_DIGIT = '0.000000000000000001';

const padded = (at: number): string => String(at + 1).padStart(2, '0');

export function planDay(seed: string): Plan {
  const orders = Array.from({ length: ORDERS }, (_, at) => orderAt(seed, at));
  const withdrawals = Array.from({ length: WITHDRAWALS }, (_, at) => withdrawalAt(seed, at));
  const transactions = Array.from({ length: TRANSACTIONS }, (_, at) => transactionAt(seed, at));
  return { orders, signings: [...withdrawals, ...transactions] };
}

/** An amount with up to 18 decimal places, above zero and below the limit. */
function amountBelow(limit: string, seed: string, id: string): string {
  const random = randomOf(seed, 'amount', id);
  const part = BigInt(random.whole(1, 999_999_999));
  return decimalText(((readDecimal(limit) ?? 0n) * part) / 1_000_000_000n + BigInt(random.whole(0, 9)));
}

function orderAt(seed: string, at: number): Order {
  const id = `order-${padded(at)}`;
  const coin = COINS[at % COINS.length] ?? COINS[0];
  const limit = PAYMENT_LIMITS[coin];
  const kind = at % 10 === 3 ? 'above' : at % 10 === 7 ? 'unannounced' : at % 10 === 9 ? 'at' : 'below';
  const amount =
    kind === 'above' ? addDecimals(limit, LAST_DIGIT) : kind === 'at' ? limit : amountBelow(limit, seed, id);
  return {
    flow: 'payment',
    id,
    coin,
    amount,
    userId: String(FIRST_UID + (at % USERS)),
    scheme: at % 2 === 0 ? 'md5' : 'rsa-envelope',
    isAnnounced: kind !== 'unannounced',
    verdict: kind === 'above' || kind === 'unannounced' ? 'FAILURE' : 'SUCCESS',
    because: { above: 'over the limit', unannounced: 'not announced', at: 'at the limit', below: '' }[kind],
  };
}

function withdrawalAt(seed: string, at: number): Signing {
  const id = `withdrawal-${padded(at)}`;
  const kind = at % 10 === 4 ? 'above' : at % 10 === 8 ? 'elsewhere' : at % 5 === 2 ? 'divided' : 'plain';
  const to = kind === 'elsewhere' ? UNKNOWN : KNOWN;
  const parts = [amountBelow('5', seed, id), amountBelow('4', seed, `${id} too`)] as const;
  return {
    flow: 'transfer',
    id,
    coin: 'ETH',
    amount:
      kind === 'above'
        ? addDecimals(WITHDRAWAL_LIMIT, LAST_DIGIT)
        : kind === 'divided'
          ? addDecimals(...parts)
          : parts[0],
    to,
    outputs:
      kind === 'divided'
        ? [
            { to, amount: parts[0] },
            { to: ALSO_KNOWN, amount: parts[1] },
          ]
        : [],
    contract: '',
    speedUps: at % 3,
    verdict: kind === 'above' || kind === 'elsewhere' ? 'FAILURE' : 'SUCCESS',
    because: {
      above: 'over the limit',
      elsewhere: 'to an unknown address',
      divided: 'to two addresses',
      plain: '',
    }[kind],
  };
}

function transactionAt(_seed: string, at: number): Signing {
  const isKnown = at % 5 !== 4;
  return {
    flow: 'web3',
    id: `transaction-${padded(at)}`,
    coin: 'ETH',
    amount: '0',
    to: KNOWN,
    outputs: [],
    contract: isKnown ? KNOWN : UNKNOWN,
    speedUps: at % 2,
    verdict: isKnown ? 'SUCCESS' : 'FAILURE',
    because: isKnown ? '' : 'to an unknown contract',
  };
}

// ---- what goes wrong on purpose ----

/** A fault, and where it occurs. */
export interface Planned {
  readonly fault: Fault;
  readonly id: string;
}

const OF_PAYMENTS = ['amount', 'user', 'order', 'sign', 'unsigned', 'key', 'app'] as const;
const OF_COSIGNER = ['tamper-credential', 'tamper-terms'] as const;

/**
 * Each kind of tampering and of discrepancy, at an order, withdrawal or transaction of its own. What happens
 * after a refusal needs something that the policies refuse.
 */
export function planTampering({ orders, signings }: Plan): readonly Planned[] {
  const planned: Planned[] = [];
  const take = (fault: Fault, sent: readonly Sent[], verdict: Sent['verdict'] = 'SUCCESS'): void => {
    const free = sent.find((each) => each.verdict === verdict && planned.every(({ id }) => id !== each.id));
    if (free === undefined) throw new Error(`the plan has nothing left for ${fault}`);
    planned.push({ fault, id: free.id });
  };
  for (const name of OF_PAYMENTS) take(`tamper-${name}`, orders);
  take('answer-lost', orders);
  for (const fault of DISCREPANCIES.filter((each) => each.startsWith('bill-')))
    take(fault, orders, fault === 'bill-refused' ? 'FAILURE' : 'SUCCESS');
  for (const flow of ['transfer', 'web3'] as const) {
    const own = signings.filter((signing) => signing.flow === flow);
    for (const fault of OF_COSIGNER) take(fault, own);
    if (flow === 'transfer') take('tamper-outputs', own);
    for (const fault of DISCREPANCIES.filter((each) => each.startsWith('sign-')))
      take(fault, own, fault === 'sign-refused' ? 'FAILURE' : 'SUCCESS');
  }
  return planned;
}
