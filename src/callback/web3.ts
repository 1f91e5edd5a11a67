import { formatAmount } from '../values/amount.ts';
import { addressIdentity } from '../values/address.ts';
import { toComparable } from '../values/comparable.ts';
import type { Members } from '../values/members.ts';
import type { Callback, Parsed, Web3Callback } from './callback.ts';
import {
  ADDRESS,
  COSIGNER_TYPES,
  IDENTIFIER,
  SYMBOL,
  NUMERIC_ID,
  type TextMember,
  VISIBLE,
  oneOf,
  optionalFlag,
  parseWith,
  readText,
  requiredAmount,
  unknownNames,
  valuesOf,
} from './member-readers.ts';

export const UNLIMITED = /^-1(?:\.0{1,36})?$/;

export const web3Values = [
  'type',
  'trans_id',
  'request_id',
  'pending_round',
  'from',
  'to',
  'amount',
  'symbol',
  'input_data',
  'interactive_contract',
  'txid',
] as const;
export const web3Aliases = { main_chain_symbol: 'symbol' } as const;

/** The members with a text (section 6.3). */
export const WEB3_TEXTS = {
  request_id: { ...IDENTIFIER, need: 'required' },
  trans_id: { ...NUMERIC_ID, need: 'required' },
  from: { ...ADDRESS, need: 'required' },
  to: { ...ADDRESS, need: 'required' },
  main_chain_symbol: { ...SYMBOL, need: 'required' },
  input_data: { pattern: VISIBLE, maxLength: 65_536, need: 'present' },
  interactive_contract: { ...ADDRESS, need: 'present' },
  txid: { ...IDENTIFIER, need: 'optional' },
} as const satisfies Readonly<Record<string, TextMember>>;

const DEFINED = web3Values.map((name) => (name === 'symbol' ? 'main_chain_symbol' : name));

/**
 * Parses a co-signer's web3 confirmation (section 6.3). The amount `-1` means unlimited, and `0` is valid. A
 * plain transfer has empty call data. Unlike the number of a withdrawal, `trans_id` is never empty.
 */
export function parseWeb3(members: Members, source: string): Parsed<Web3Callback> {
  return parseWith(() => {
    const type = oneOf(members, 'type', COSIGNER_TYPES);
    const id = readText(members, WEB3_TEXTS, 'request_id');
    const transId = readText(members, WEB3_TEXTS, 'trans_id');
    const speedUp = optionalFlag(members, 'pending_round');
    const from = readText(members, WEB3_TEXTS, 'from');
    const to = readText(members, WEB3_TEXTS, 'to');
    const amount = amountOf(members);
    const symbol = readText(members, WEB3_TEXTS, 'main_chain_symbol');
    const inputData = readText(members, WEB3_TEXTS, 'input_data');
    const interactiveContract = readText(members, WEB3_TEXTS, 'interactive_contract');
    const txid = readText(members, WEB3_TEXTS, 'txid');
    const texts = {
      type,
      trans_id: transId,
      request_id: id,
      pending_round: String(speedUp),
      from,
      to,
      amount: amount === 'unlimited' ? amount : formatAmount(amount),
      symbol,
      input_data: inputData,
      interactive_contract: interactiveContract,
      txid,
    };
    return {
      kind: 'web3',
      source,
      id,
      question: { type, speedUp },
      amount,
      symbol,
      payouts: amount === 'unlimited' ? [] : [{ to: toComparable(to), amount }],
      texts,
      values: valuesOf(texts),
      terms: {
        transId,
        from: addressIdentity(from),
        to: addressIdentity(to),
        amount: texts.amount,
        symbol,
        inputData: toComparable(inputData),
        interactiveContract: addressIdentity(interactiveContract),
      },
      unknown: unknownNames(members, DEFINED),
    };
  });
}

function amountOf(members: Members): Callback['amount'] {
  const member = members.get('amount');
  const unlimited = (member?.kind === 'number' || member?.kind === 'string') && UNLIMITED.test(member.text);
  return unlimited ? 'unlimited' : requiredAmount(members, 'amount', { zero: true });
}
