import { PAYMENT_PATH, TO, VAULT_TOKEN, signedPayment, transfer, web3 } from '../../test/service.ts';
import type { Charge, Planned } from './history.ts';
import { unitsOf } from './policies.ts';

/** What makes a payment; `by` signs it. */
export interface PaymentSpec {
  readonly story: string;
  readonly id: string;
  readonly userId: string;
  readonly amount: string;
  readonly symbol?: 'USDT1742' | 'TIGHT1' | 'NOPE1';
  readonly by?: Parameters<typeof signedPayment>[1];
  readonly approvable?: boolean;
  readonly plain?: boolean;
}

const JSON_TYPE = { 'content-type': 'application/json' } as const;
const ONE = unitsOf('1');

export function payment(spec: PaymentSpec): Planned {
  const {
    story,
    id,
    userId,
    amount,
    symbol = 'USDT1742',
    by = 'md5',
    approvable = true,
    plain = false,
  } = spec;
  const charges: readonly Charge[] = [
    { counter: `paid by ${userId}`, limit: 'paid', amount: unitsOf(amount) },
    { counter: `payments of ${userId}`, limit: 'payments', amount: ONE },
  ];
  return {
    story,
    source: 'shop',
    path: PAYMENT_PATH,
    headers: JSON_TYPE,
    body: signedPayment({ appOrderId: id, orderAmount: amount, payCoinSymbol: symbol, userId }, by),
    authentic: typeof by === 'string',
    approvable,
    plain,
    subject: `payment:${id}`,
    terms: `${userId} pays ${amount} ${symbol}`,
    question: 'payment',
    listed: userId,
    charges: symbol === 'TIGHT1' ? charges : [],
  };
}

/** A body whose signature is another body's: sent by somebody without the key. */
export function tampered(spec: PaymentSpec, becomes: string): Planned {
  const callback = payment(spec);
  const body = callback.body.replace(`"${spec.amount}"`, `"${becomes}"`);
  if (body === callback.body) throw new Error(`the amount ${spec.amount} is not in ${body}`);
  return { ...callback, body, authentic: false };
}

export interface WithdrawalSpec {
  readonly story: string;
  readonly id: string;
  readonly from: string;
  readonly amount: string;
  readonly question: Exclude<Planned['question'], 'payment'>;
  readonly to?: string;
  readonly token?: string | undefined;
  readonly plain?: boolean;
}

export function withdrawal(spec: WithdrawalSpec): Planned {
  const { story, id, from, amount, question, to = TO, plain = false } = spec;
  const txid = question === 'sign_success' ? { txid: `0x${id}` } : {};
  return {
    ...cosigned(
      spec,
      '/cosigner/withdraw',
      transfer({ type: question, request_id: id, from, to, amount, ...txid }),
    ),
    story,
    approvable: to === TO,
    plain,
    subject: `transfer:${id}`,
    terms: `${from} sends ${amount} to ${to}`,
    charges: [{ counter: `sent by ${from}`, limit: 'sent', amount: unitsOf(amount) }],
  };
}

export interface CallSpec extends Omit<WithdrawalSpec, 'amount' | 'to'> {
  readonly data: string;
  readonly contract?: string;
}

export function call(spec: CallSpec): Planned {
  const { story, id, from, question, data, contract = TO, plain = false } = spec;
  const txid = question === 'sign_success' ? { txid: `0x${id}` } : {};
  const members = { type: question, request_id: id, from, input_data: data, interactive_contract: contract };
  return {
    ...cosigned(spec, '/cosigner/web3', web3({ ...members, ...txid })),
    story,
    approvable: contract === TO,
    plain,
    subject: `web3:${id}`,
    terms: `${from} calls ${contract} with ${data}`,
    charges: [{ counter: `calls of ${from}`, limit: 'calls', amount: ONE }],
  };
}

function cosigned(
  spec: Pick<WithdrawalSpec, 'from' | 'question' | 'token'>,
  path: string,
  members: object,
): Pick<Planned, 'source' | 'path' | 'headers' | 'body' | 'authentic' | 'question' | 'listed'> {
  const token = 'token' in spec ? spec.token : VAULT_TOKEN;
  return {
    source: 'vault',
    path,
    headers: { ...JSON_TYPE, ...(token === undefined ? {} : { authorization: token }) },
    body: JSON.stringify(members),
    authentic: token === VAULT_TOKEN,
    question: spec.question,
    listed: spec.from,
  };
}
