import type { CallText, CallTexts, PolicyMovementTexts } from '../../policy/transaction-text.ts';
import type { RecordedTransaction } from '../../simulation/recorded-transaction.ts';
import { printable } from '../print.ts';

/** Each call of a transaction with its arguments, and what it moves for each policy. */
export function transactionLines({ calls, movements }: RecordedTransaction): readonly string[] {
  return [...callLines(calls), ...movements.flatMap(movementLines)];
}

function callLines({ list, problem }: CallTexts): readonly string[] {
  return [
    ...list.flatMap(linesOfCall),
    ...(problem === '' ? [] : [`${list.length === 0 ? 'call' : 'then'}: ${printable(problem)}`]),
  ];
}

function linesOfCall({
  position,
  contract,
  token,
  method,
  delegatecall,
  native,
  arguments: written,
}: CallText): readonly string[] {
  const at = position === '' ? 'call' : `call ${position}`;
  const of = token === '' ? contract : `${printable(token)} (${contract})`;
  const how = delegatecall ? ', by delegatecall' : '';
  const coins = native === '0' ? '' : `, with ${native} native coins`;
  return [
    `${at}: ${printable(method)} ${method === 'plain transfer' ? 'to' : 'of'} ${of}${coins}${how}`,
    ...written.map(({ name, value }) => `  ${printable(name)}: ${printable(value)}`),
  ];
}

/** A line for each movement that the rules of a policy see. */
export function movementLines({ policy, list, problem }: PolicyMovementTexts): readonly string[] {
  if (problem !== '') return [`for ${policy}: ${printable(problem)}`];
  return list.map(({ type, amount, symbol, contract, to }) => {
    const what = type === 'approval' ? 'an approval of' : 'a transfer of';
    return `for ${policy}: ${what} ${amount} ${printable(symbol ?? contract ?? 'an unknown asset')} to ${printable(to)}`;
  });
}
