import { sum } from './decimal.ts';
import { CALLBACK, type Value, readJson } from './json.ts';
import type { Terms } from './payment.ts';
import type { Members } from './signs.ts';
import { address, amountOf, memoOf, sameCase, visible, whole } from './values.ts';

/*
 * What a co-signer may ask (sections 6.2 and 6.3, and the disagreements that protocol.md lists).
 */

export interface Question {
  readonly kind: 'transfer' | 'web3';
  readonly id: string;
  readonly type: string;
  readonly terms: Terms;
  /** Undefined is unlimited. */
  readonly amount: string | undefined;
}

const TYPES: ReadonlySet<string> = new Set(['sign_prepare', 'sign_start', 'sign_success']);
/** The most characters of each. */
const ID_MAX = 128;
const ADDRESS_MAX = 256;
const SYMBOL_MAX = 64;
const DATA_MAX = 65_536;
const OUTPUTS = { ...CALLBACK, members: 4096 };
const OUTPUTS_MAX = 200;
/**
 * Members by which a kind is known, unless they are null. A body must have some of one kind, and none of the
 * other.
 */
const OWN = {
  transfer: ['transfer_id', 'withdraw_id'],
  web3: ['trans_id', 'main_chain_symbol', 'input_data', 'interactive_contract'],
} as const;

/** What is asked, or undefined where nothing could be approved. */
export function questionIn(members: Members): Question | undefined {
  const of = new Map(members);
  const has = (names: readonly string[]): boolean =>
    names.some((name) => (of.get(name)?.type ?? 'null') !== 'null');
  const kind = has(OWN.web3) ? 'web3' : 'transfer';
  if (has(OWN.web3) === has(OWN.transfer)) return undefined;
  const type = of.get('type');
  const round = of.get('pending_round');
  if (type?.type !== 'text' || !TYPES.has(type.text)) return undefined;
  if (round !== undefined && round.type !== 'boolean') return undefined;
  const id = visible(of.get('request_id'), ID_MAX);
  const asked = kind === 'web3' ? web3(of) : transfer(of);
  if (id === undefined || id === '' || asked === undefined) return undefined;
  if (visible(of.get('txid'), ID_MAX) === undefined) return undefined;
  return { kind, id, type: type.text, amount: asked.amount, terms: { ...asked.terms, id } };
}

type Asked = Pick<Question, 'terms' | 'amount'>;

function transfer(of: ReadonlyMap<string, Value>): Asked | undefined {
  const first = whole(of.get('transfer_id'));
  const second = whole(of.get('withdraw_id'));
  const from = visible(of.get('from'), ADDRESS_MAX);
  const to = visible(of.get('to'), ADDRESS_MAX);
  const symbol = visible(of.get('symbol'), SYMBOL_MAX);
  const memo = memoOf(of.get('memo'));
  const amount = amountOf(of.get('amount'));
  if (first === undefined || second === undefined || memo === undefined) return undefined;
  if (first !== '' && second !== '' && first !== second) return undefined;
  if (!from || !to || !symbol || amount === undefined) return undefined;
  if (amount === '0' || amount.startsWith('-')) return undefined;
  const outputs = outputsOf(of.get('outputs'), address(to), amount);
  if (outputs === undefined) return undefined;
  return {
    amount,
    terms: {
      transferId: first === '' ? second : first,
      from: address(from),
      to: address(to),
      symbol,
      memo,
      amount,
      ...outputs,
    },
  };
}

function web3(of: ReadonlyMap<string, Value>): Asked | undefined {
  const must = ['input_data', 'interactive_contract'];
  if (!must.every((name) => of.has(name))) return undefined;
  const from = visible(of.get('from'), ADDRESS_MAX);
  const to = visible(of.get('to'), ADDRESS_MAX);
  const chain = visible(of.get('main_chain_symbol'), SYMBOL_MAX);
  const data = visible(of.get('input_data'), DATA_MAX);
  const contract = visible(of.get('interactive_contract'), ADDRESS_MAX);
  const transaction = whole(of.get('trans_id'));
  const amount = amountOf(of.get('amount'));
  if (!from || !to || !chain || amount === undefined) return undefined;
  if (data === undefined || contract === undefined || !transaction) return undefined;
  if (amount.startsWith('-') && amount !== '-1') return undefined;
  return {
    amount: amount === '-1' ? undefined : amount,
    terms: {
      transId: transaction,
      from: address(from),
      to: address(to),
      symbol: chain,
      inputData: sameCase(data),
      interactiveContract: address(contract),
      amount,
    },
  };
}

const NO_OUTPUTS: Terms = { outputs: '' };

/**
 * Every address with all it is paid, and what is said beside, in an order of their own; the empty text if
 * there is no list, undefined if the list pays something other than the amount.
 */
function outputsOf(value: Value | undefined, to: string, amount: string): Terms | undefined {
  if (value === undefined || value.type === 'null') return NO_OUTPUTS;
  if (value.type !== 'text') return undefined;
  if (value.text === '') return NO_OUTPUTS;
  const read = readJson(Buffer.from(value.text), OUTPUTS);
  if (!('value' in read) || read.value.type !== 'list') return undefined;
  if (read.value.items.length > OUTPUTS_MAX) return undefined;
  const paid = new Map<string, string>();
  const beside: string[] = [];
  let total = '0';
  for (const item of read.value.items) {
    if (item.type !== 'object') return undefined;
    const of = new Map(item.members);
    const payee = visible(of.get('address_to'), ADDRESS_MAX);
    const each = amountOf(of.get('amount'));
    if (!payee || each === undefined || each === '0' || each.startsWith('-')) return undefined;
    paid.set(address(payee), sum(paid.get(address(payee)) ?? '0', each));
    total = sum(total, each);
    const more = item.members.filter(([name]) => name !== 'address_to' && name !== 'amount');
    if (more.length > 0) beside.push(JSON.stringify([address(payee), each, more.toSorted(byName)]));
  }
  if (total !== amount || !paid.has(to)) return undefined;
  const lines = [...paid].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    outputs: lines.map(([payee, each]) => `${payee} ${each}`).join('\n'),
    ...(beside.length === 0 ? {} : { beside: beside.toSorted().join('\n') }),
  };
}

const byName = ([a]: readonly [string, Value], [b]: readonly [string, Value]): number => (a < b ? -1 : 1);
