import type { AllowedTransactions } from './calls/transaction.ts';
import type { CompiledEntry } from './release.ts';

/**
 * The calls that contract-calls rules of a policy name, of those rules that judge each transaction on their
 * networks that the policy applies to. If a rule has a condition, or is one of several alternatives, the policy
 * may pass a transaction that the rule has not judged, or has refused. So an `any` has such calls only if each
 * of its alternatives has: whichever is taken has judged the transaction.
 */
export function judgedCalls(entries: readonly CompiledEntry[]): readonly AllowedTransactions[] {
  return entries.filter(({ mode }) => mode === 'enforce').flatMap((entry) => callsOf(entry));
}

function callsOf(entry: CompiledEntry): readonly AllowedTransactions[] {
  return namesOnlyNetworks(entry) ? callsOfTaken(entry) : [];
}

/** The conditions of an alternative are met if it is taken. */
function callsOfTaken(entry: CompiledEntry): readonly AllowedTransactions[] {
  if (!('group' in entry)) return entry.allowedCalls === undefined ? [] : [entry.allowedCalls];
  if (entry.group === 'all') return entry.entries.flatMap(callsOf);
  const alternatives = entry.entries.map(callsOfTaken);
  return alternatives.every(({ length }) => length > 0) ? alternatives.flat() : [];
}

/** Whether it applies to each transaction, or to each on the networks of the rules in it. */
const namesOnlyNetworks = ({ when: { texts, conditions } }: CompiledEntry): boolean =>
  conditions.length === 0 && [...texts.keys()].every((member) => member === 'symbol');
