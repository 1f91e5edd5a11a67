import { formatAmount } from '../values/amount.ts';
import { toComparable } from '../values/comparable.ts';
import type { Members } from '../values/members.ts';
import type { Callback, Parsed, Web3Callback } from './callback.ts';
import {
  ADDRESS,
  COSIGNER_TYPES,
  IDENTIFIER,
  SYMBOL,
  NUMERIC_ID,
  oneOf,
  optionalFlag,
  optionalText,
  textOrEmpty,
  parseWith,
  requiredAmount,
  requiredText,
  unknownNames,
  valuesOf,
} from './member-readers.ts';

const UNLIMITED = /^-1(?:\.0{1,36})?$/;
const CALL_DATA = { pattern: /^[\x21-\x7e]+$/, maxLength: 65_536 };

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

const DEFINED = web3Values.map((name) => (name === 'symbol' ? 'main_chain_symbol' : name));

/**
 * Parses a co-signer's web3 confirmation (section 6.3). The amount `-1` means unlimited, and `0` is valid. A
 * plain transfer has empty call data. Unlike the number of a withdrawal, `trans_id` is never empty.
 */
export function parseWeb3(members: Members, source: string): Parsed<Web3Callback> {
  return parseWith(() => {
    const type = oneOf(members, 'type', COSIGNER_TYPES);
    const id = requiredText(members, 'request_id', IDENTIFIER);
    const transId = requiredText(members, 'trans_id', NUMERIC_ID);
    const speedUp = optionalFlag(members, 'pending_round');
    const from = requiredText(members, 'from', ADDRESS);
    const to = requiredText(members, 'to', ADDRESS);
    const amount = amountOf(members);
    const amountText = amount === 'unlimited' ? 'unlimited' : formatAmount(amount);
    const symbol = requiredText(members, 'main_chain_symbol', SYMBOL);
    const inputData = textOrEmpty(members, 'input_data', CALL_DATA);
    const interactiveContract = textOrEmpty(members, 'interactive_contract', ADDRESS);
    const txid = optionalText(members, 'txid', IDENTIFIER);
    return {
      kind: 'web3',
      source,
      id,
      question: { type, speedUp },
      from,
      to,
      amount,
      symbol,
      inputData,
      interactiveContract,
      txid,
      payouts: amount === 'unlimited' ? [] : [{ to: toComparable(to), amount }],
      values: valuesOf({
        type,
        trans_id: transId,
        request_id: id,
        pending_round: String(speedUp),
        from,
        to,
        amount: amountText,
        symbol,
        input_data: inputData,
        interactive_contract: interactiveContract,
        txid,
      }),
      terms: {
        transId,
        from: toComparable(from),
        to: toComparable(to),
        amount: amountText,
        symbol,
        inputData: toComparable(inputData),
        interactiveContract: toComparable(interactiveContract),
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
