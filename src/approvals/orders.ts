import type { Callback, Kind } from '../callback/callback.ts';
import { parseRecorded } from '../callback/kinds.ts';
import { ORDER_MEMBERS, type OrderMembers } from '../policy/order-members.ts';
import { type Field, inClear, statementText } from '../signature/statement.ts';
import { isoTime } from '../values/text.ts';
import type { ApprovalRequest } from './requests.ts';

/*
 * What people approve about an announced order, before its callback comes.
 */

const KIND = 'countersign-order/1';

/** An announced order. */
export interface OrderAsked {
  readonly source: string;
  readonly kind: Kind;
  readonly id: string;
  readonly members: OrderMembers;
}

/**
 * What people sign about an order: its members in clear, and each member that it leaves open, so that the
 * callback may have any value of it. Who announced it is in it, because that person doesn't count.
 */
export function orderStatement(
  deployment: string,
  { source, kind, id, members }: OrderAsked,
  { by, createdAtMs, expiresAtMs }: Pick<ApprovalRequest, 'by' | 'createdAtMs' | 'expiresAtMs'>,
): string {
  const named = Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return statementText(KIND, [
    ['deployment', deployment],
    ['source', inClear(source)],
    ['kind', kind],
    ['id', inClear(id)],
    ...named.map(([name, text]): Field => ['member', `${inClear(name)} ${inClear(text)}`]),
    ...openMembers(kind, members).map((name): Field => ['any', name]),
    ['announced', inClear(by)],
    ['created', isoTime(createdAtMs)],
    ['expires', isoTime(expiresAtMs)],
  ]);
}

/** An order for one address has no outputs: a callback that pays several differs from it in `to`. */
const openMembers = (kind: Kind, members: OrderMembers): readonly string[] =>
  ORDER_MEMBERS[kind].names.filter((name) => name !== 'outputs' && !Object.hasOwn(members, name));

/**
 * The transaction that an order announces, to show what it moves. Undefined for other kinds, and if the order
 * leaves open who sends it.
 */
export function announcedTransaction({ source, kind, id, members }: OrderAsked): Callback | undefined {
  const { from, to, amount, symbol, input_data = '', interactive_contract = '' } = members;
  if (kind !== 'web3' || from === undefined) return undefined;
  const body = { type: 'sign_start', request_id: id, trans_id: id, from, to, amount, input_data };
  const more = { main_chain_symbol: symbol, interactive_contract };
  const callback = parseRecorded(kind, source, JSON.stringify({ ...body, ...more }));
  return typeof callback === 'string' ? undefined : callback;
}
