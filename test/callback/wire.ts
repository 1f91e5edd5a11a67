import type { Callback, Kind, Parsed, SelfCheck } from '../../src/callback/callback.ts';
import { parseCosigner } from '../../src/callback/kinds.ts';
import { parsePayment } from '../../src/callback/payment.ts';
import { decodeMembers, type Members } from '../../src/values/members.ts';

/**
 * Bodies as the platform and the co-signer send them, as JSON text by member, so that each can be spoilt on
 * its own.
 */
export type Wire = Readonly<Record<string, string | undefined>>;

export const payment: Wire = {
  appKey: '"demo-shop"',
  userId: '"12345"',
  appOrderId: '"11321"',
  orderAmount: '"100"',
  payCoinSymbol: '"USDT1742"',
  sign: '"1f8af8615e4950dc3ed9ac49ef97b94f"',
};

export const transfer: Wire = {
  type: '"sign_start"',
  transfer_id: '9007199254740993',
  request_id: '"w-1"',
  pending_round: 'false',
  from: '"0xA1b2c3d4e5f60718293a4b5c6d7e8f9001122334"',
  to: '"0xB1b2c3d4e5f60718293a4b5c6d7e8f9001122334"',
  memo: '""',
  amount: '167230.4978',
  symbol: '"USDT1742"',
  txid: '""',
  withdraw_id: '""',
};

export const web3: Wire = {
  type: '"sign_start"',
  trans_id: '77',
  request_id: '"c-1"',
  pending_round: 'false',
  from: '"0xA1b2c3d4e5f60718293a4b5c6d7e8f9001122334"',
  to: '"0xB1b2c3d4e5f60718293a4b5c6d7e8f9001122334"',
  amount: '0',
  main_chain_symbol: '"ETH"',
  input_data: '"0xa9059cbb"',
  interactive_contract: '"0xdAC17F958D2ee523a2206206994597C13D831ec7"',
};

function bodyOf(wire: Wire): string {
  const members = Object.entries(wire).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `{${members.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`;
}

function membersOf(wire: Wire): Members {
  const decoded = decodeMembers(new TextEncoder().encode(bodyOf(wire)));
  if (!decoded.ok) throw new Error(decoded.because);
  return decoded.members;
}

export const parse = {
  payment: (wire: Wire) => parsePayment(membersOf(wire), 'shop'),
  cosigner: (wire: Wire, expected: readonly Kind[] = ['transfer', 'web3']): Parsed<Callback | SelfCheck> =>
    parseCosigner(membersOf(wire), 'vault', expected),
};

/** The callback, which must be readable. */
export function readable<T>(parsed: Parsed<T>): T {
  if (!parsed.ok) throw new Error(`${parsed.code}: ${parsed.because}`);
  return parsed.callback;
}

export function callbackOf(wire: Wire): Callback {
  const callback = readable(parse.cosigner(wire));
  if (callback.kind === 'self-check') throw new Error('a self-check is no question');
  return callback;
}
