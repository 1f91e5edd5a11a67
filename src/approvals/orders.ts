import type { Callback, Kind } from '../callback/callback.ts';
import { parseRecorded } from '../callback/kinds.ts';
import { differingMembers } from '../claims/order.ts';
import { UnreadableMember } from '../policy/language/members.ts';
import {
  ORDER_MEMBERS,
  type OrderMembers,
  orderMembersOf,
  otherOrderTexts,
} from '../policy/order-members.ts';
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
 * callback may have any value of it.
 */
export function orderStatement(
  deployment: string,
  { source, kind, id, members }: OrderAsked,
  { createdAtMs, expiresAtMs }: Pick<ApprovalRequest, 'createdAtMs' | 'expiresAtMs'>,
): string {
  const named = Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return statementText(KIND, [
    ['deployment', deployment],
    ['source', inClear(source)],
    ['kind', kind],
    ['id', inClear(id)],
    ...named.map(([name, text]): Field => ['member', `${inClear(name)} ${inClear(text)}`]),
    ...openMembers(kind, members).map((name): Field => ['any', name]),
    ['created', isoTime(createdAtMs)],
    ['expires', isoTime(expiresAtMs)],
  ]);
}

/** An order for one address has no outputs: a callback that pays several differs from it in `to`. */
const openMembers = (kind: Kind, members: OrderMembers): readonly string[] =>
  ORDER_MEMBERS[kind].names.filter((name) => name !== 'outputs' && !Object.hasOwn(members, name));

/**
 * Why a callback is not what people were asked about with an order; the empty text if it is. The callback is
 * the one that the chain of its asset reads.
 */
export function differenceFrom(
  { members: announced }: OrderAsked,
  callback: Callback,
  scheme: string | undefined,
): string {
  if (callback.terms['outputMembers'] !== undefined) return 'its outputs have members that no order names';
  try {
    const members = orderMembersOf(callback, scheme);
    const differs = differingMembers(announced, { members, also: otherOrderTexts(callback) });
    if (differs.length === 0) return '';
    return `people were asked about an announced order, from which it differs in ${differs.join(', ')}`;
  } catch (thrown) {
    if (thrown instanceof UnreadableMember) return thrown.message;
    throw thrown;
  }
}

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
