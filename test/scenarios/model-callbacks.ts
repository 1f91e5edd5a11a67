import fc from 'fast-check';
import { TO, md5Sign, transfer, web3 } from '../service.ts';
import { amountOf } from '../reference/policy.ts';
import type { Movement, Question } from '../reference/question.ts';

/*
 * The callbacks that a script may ask: few enough that they come again.
 */

export interface Asked extends Question {
  readonly source: 'shop' | 'vault';
  /** The body that is sent. */
  readonly body: string;
}

export const OTHER = '0x27b1fdb04752bbc536007a920d24acb045561c26';
const LEAST = `0.${'0'.repeat(35)}1`;
const pick = <T>(from: readonly [T, ...T[]], index: number): T => from[index % from.length] ?? from[0];

/**
 * A few orders, so that they come again; each mostly with its own terms, and now and then with another
 * amount.
 */
export const payment = fc
  .tuple(fc.nat(17), fc.boolean(), fc.integer({ min: 0, max: 9 }))
  .map(([order, late, odd]): Asked => paymentOf(order, { late, odd: odd === 0 }));

export function paymentOf(order: number, { late = false, odd = false } = {}): Asked {
  const id = `p-${order}${late ? '-late' : ''}`;
  const own = pick(['400', '900', '1000', `1000.${'0'.repeat(35)}1`, '600', LEAST, '499.5'], order);
  const amount = odd ? '1' : own;
  const userId = `${(order % 2) + 1}`;
  const symbol = order % 6 === 4 ? 'BTC' : 'USDT';
  const sent = {
    appKey: 'test-shop',
    appOrderId: id,
    orderAmount: amount,
    payCoinSymbol: symbol,
    userId,
  };
  return {
    source: 'shop',
    kind: 'payment',
    type: 'payment',
    id,
    speedUp: false,
    txid: '',
    scheme: 'md5',
    terms: [amount, symbol, userId].join(' '),
    members: { userId: [userId], symbol: [symbol] },
    amounts: [moved('own', '', symbol, amount)],
    movements: undefined,
    orderMembers: { userId, symbol, amount, scheme: 'md5' },
    body: JSON.stringify({ ...sent, sign: md5Sign(sent) }),
  };
}

const moved = (kind: Movement['kind'], to: string, asset: string, amount: string): Movement => ({
  kind,
  to,
  asset,
  amount: amountOf(amount),
});

const question = fc.record({
  type: fc.constantFrom('sign_prepare', 'sign_start', 'sign_start', 'sign_success', 'sign_success'),
  speedUp: fc.integer({ min: 0, max: 3 }).map((one) => one === 0),
  txid: fc.constantFrom('', '0x0a', '0x0b', '0x0c'),
});
type Asks = Pick<Question, 'type' | 'speedUp' | 'txid'>;
export const anyQuestion: Asks = { type: 'sign_start', speedUp: false, txid: '' };

export const withdrawal = fc
  .tuple(fc.nat(9), question, fc.integer({ min: 0, max: 11 }))
  .map(([order, asks, odd]): Asked => withdrawalOf(order, asks, odd === 0));

export function withdrawalOf(order: number, asks: Asks, odd = false): Asked {
  const amount = odd ? '0.5' : pick(['2', '9.5', '10', '10.1', '3'], order);
  const to = order % 3 === 0 ? OTHER : TO;
  const symbol = order === 7 ? 'BTC' : 'ETH';
  const memo = order % 4 === 3 ? '' : '77 a';
  const what = { kind: 'transfer', id: `w-${order}`, amount, to, symbol, memo } as const;
  return cosigned(asks, what, transfer);
}

export const contract = fc.tuple(fc.nat(7), question).map(([order, asks]): Asked => contractOf(order, asks));

/** The contract of USDT. */
export const TOKEN = '0xdac17f958d2ee523a2206206994597c13d831ec7';

const word = (digits: string): string => digits.padStart(64, '0');
/** A call of the token with six decimals: `transfer`, or `approve`. */
const called = (selector: 'a9059cbb' | '095ea7b3', who: string, whole: number): string =>
  `0x${selector}${word(who.slice(2))}${word((whole * 1_000_000).toString(16))}`;

/** Four that can't be read; then transfers, approvals and coins, and both together. */
export function contractOf(order: number, asks: Asks): Asked {
  const web3Of = (amount: string, to: string): Cosigned => ({
    kind: 'web3',
    id: `w-${order}`,
    amount,
    to,
    symbol: 'ETH',
    memo: '',
  });
  const token = (kind: 'transfer' | 'approval', to: string, amount: string): Movement =>
    moved(kind, to, 'USDT', amount);
  const coins = (to: string, amount: string): Movement => moved('native', to, 'ETH', amount);
  const calls: readonly (readonly [what: Cosigned, data: string, movements: readonly Movement[]])[] = [
    [web3Of('0', TOKEN), called('a9059cbb', TO, 400), [token('transfer', TO, '400')]],
    [web3Of('0', TOKEN), called('095ea7b3', OTHER, 600), [token('approval', OTHER, '600')]],
    [web3Of('5', TO), '', [coins(TO, '5')]],
    [
      web3Of('3', OTHER),
      called('a9059cbb', OTHER, 300),
      [token('transfer', OTHER, '300'), coins(TOKEN, '3')],
    ],
  ];
  const found = calls[order - 4];
  if (found === undefined) return cosigned(asks, web3Of(pick(['0', '5', '6'], order), TO), web3);
  const [what, data, movements] = found;
  const call = { input_data: data, interactive_contract: data === '' ? '' : TOKEN };
  return { ...cosigned(asks, what, (members) => web3({ ...members, ...call }), call), movements };
}

interface Cosigned {
  readonly kind: 'transfer' | 'web3';
  readonly id: string;
  readonly amount: string;
  readonly to: string;
  readonly symbol: string;
  /** The empty text for none. */
  readonly memo: string;
}

function cosigned(
  { type, speedUp, txid }: Asks,
  what: Cosigned,
  build: (members: object) => object,
  call = { input_data: '0xa9059cbb', interactive_contract: TO },
): Asked {
  const { kind, id, amount, to, symbol, memo } = what;
  const sent = { type, request_id: id, pending_round: speedUp, amount, to, txid };
  const isTransfer = kind === 'transfer';
  const own = isTransfer ? { symbol, memo } : { main_chain_symbol: symbol };
  return {
    source: 'vault',
    kind,
    id,
    type,
    speedUp,
    txid: type === 'sign_success' ? txid : '',
    scheme: undefined,
    terms: [amount, to, symbol, memo].join(' '),
    members: { to: [to], symbol: [symbol], ...(memo !== '' && { memo: [memo] }) },
    amounts: [moved('own', to, symbol, amount)],
    movements: undefined,
    orderMembers: isTransfer
      ? { from: OTHER, to, memo, amount, symbol, transfer_id: '1' }
      : { from: OTHER, to, amount, symbol, ...call },
    body: JSON.stringify(build({ ...sent, ...own })),
  };
}
