import { z } from 'zod';
import { type Callback, type Kind, OUTPUTS_MAX, type Payout } from '../callback/callback.ts';
import { type OrderClaim, differingMembers } from '../claims/order.ts';
import { type Amount, formatAmount, parseAmount } from '../values/amount.ts';
import { fixFor, formatInput } from './fault.ts';
import {
  ADDRESS_MEMBERS,
  UnreadableMember,
  memberNamed,
  payoutsOf,
  readMemberText,
} from './language/members.ts';

/** The members that an announced order may, and must, name. */
export interface OrderNames {
  readonly names: readonly string[];
  /** Exactly one member of each group must be present. */
  readonly required: readonly (readonly string[])[];
}

export const ORDER_MEMBERS: Readonly<Record<Kind, OrderNames>> = {
  payment: {
    names: ['userId', 'symbol', 'amount', 'scheme'],
    required: [['userId'], ['symbol'], ['amount'], ['scheme']],
  },
  transfer: {
    names: ['from', 'to', 'outputs', 'memo', 'amount', 'symbol', 'transfer_id'],
    required: [['to', 'outputs'], ['symbol'], ['amount']],
  },
  web3: {
    names: ['from', 'to', 'amount', 'symbol', 'input_data', 'interactive_contract'],
    required: [['to'], ['symbol'], ['amount'], ['input_data']],
  },
};

/**
 * Members that a callback may leave empty. An order with the empty text for such a member requires that it is
 * empty.
 */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set(['memo', 'input_data', 'interactive_contract']);

export type OrderMembers = Readonly<Record<string, string>>;

/**
 * The members of a callback that orders can name, as comparable texts. A missing member is absent, or empty
 * if it may be. If a withdrawal pays several addresses, `to` has all of them, so that no order for one of
 * them agrees.
 */
export function orderMembersOf(callback: Callback, scheme: string | undefined): OrderMembers {
  const members: Record<string, string> = {};
  for (const name of ORDER_MEMBERS[callback.kind].names) {
    // Every order names `to`. It need not name another address, so the chain need not accept that.
    const problem = name === 'to' ? callback.reading?.problemOf(name) : undefined;
    if (problem !== undefined) throw new UnreadableMember(problem);
    const values = callback.values.get(name) ?? [];
    if (values.length > 0) members[name] = values.join(' ');
    else if (MAY_BE_EMPTY.has(name)) members[name] = '';
  }
  if (callback.kind === 'payment' && scheme !== undefined) members['scheme'] = scheme;
  const payouts = callback.kind === 'transfer' ? payoutsOf(callback) : [];
  if (payouts.length > 1) members['outputs'] = outputsText(payouts);
  return members;
}

/** The other spellings of the addresses in {@link orderMembersOf}, by which an order may name them. */
function otherOrderTexts({ reading, values }: Callback): OrderClaim['also'] {
  if (reading === undefined) return undefined;
  const others: Record<string, readonly string[]> = {};
  for (const member of ADDRESS_MEMBERS) {
    const [address, ...more] = values.get(member) ?? [];
    if (address === undefined || more.length > 0 || reading.canonical(address) === undefined) continue;
    others[member] = reading.otherSpellings(address);
  }
  return Object.keys(others).length === 0 ? undefined : others;
}

/** The claim that an announced order agrees with a callback. */
export const announcedOrder = (callback: Callback, scheme: string | undefined) => ({
  type: 'order' as const,
  members: orderMembersOf(callback, scheme),
  also: otherOrderTexts(callback),
});

/**
 * Why a callback, as the chain of its asset reads it, is not what people were asked about with an announced
 * order; the empty text if it is.
 */
export function differenceFromOrder(
  announced: OrderMembers,
  callback: Callback,
  scheme: string | undefined,
): string {
  if (callback.terms['outputMembers'] !== undefined) return 'its outputs have members that no order names';
  try {
    const differs = differingMembers(announced, announcedOrder(callback, scheme));
    if (differs.length === 0) return '';
    return `people were asked about an announced order, from which it differs in ${differs.join(', ')}`;
  } catch (thrown) {
    if (thrown instanceof UnreadableMember) return thrown.message;
    throw thrown;
  }
}

export type OrderRead =
  | { readonly ok: true; readonly members: OrderMembers }
  | { readonly ok: false; readonly faults: readonly OrderFault[] };

export interface OrderFault {
  readonly message: string;
  readonly fix: string;
}

/**
 * Reads the members of an announcement in the form of {@link orderMembersOf}. Each is a text under its
 * canonical name or alias. Only `outputs` is a list, of `{ to, amount }`. Reports all faults.
 */
export function readOrderMembers(kind: Kind, written: Readonly<Record<string, unknown>>): OrderRead {
  const { names, required } = ORDER_MEMBERS[kind];
  const faults: OrderFault[] = [];
  const fault = (message: string, fix: string): void => void faults.push({ message, fix });
  const values = new Map<string, unknown>();
  for (const [name, value] of Object.entries(written)) {
    const member = names.includes(name) ? name : memberNamed(kind, name);
    if (member === undefined || !names.includes(member)) {
      fault(`an order for a ${kind} has no member ${formatInput(name)}`, fixFor(name, names));
    } else if (values.has(member)) fault(`${name} names ${member} a second time`, 'keep one of the two');
    else values.set(member, value);
  }
  for (const group of required) {
    const present = group.filter((name) => values.has(name));
    if (present.length === 0) fault(`${group.join(' or ')} is missing`, 'add it');
    if (present.length > 1) fault(`both ${present.join(' and ')} are there`, 'keep one of the two');
  }
  // Call data has a meaning only for the contract that it calls. A memo decides who gets the money, so a
  // callback must not have a memo that was not announced.
  const callData = values.get('input_data');
  if (kind === 'web3' && callData !== undefined && callData !== '' && !values.has('interactive_contract')) {
    fault('interactive_contract is missing', 'name the contract that input_data calls');
  }
  const members: Record<string, string> = kind === 'transfer' ? { memo: '' } : {};
  for (const [name, value] of values) {
    const read =
      name === 'outputs' ? readOutputs(value, values.get('amount')) : readMember(kind, name, value);
    if (!read.ok) faults.push(read.fault);
    else Object.assign(members, read.members);
  }
  return faults.length > 0 ? { ok: false, faults } : { ok: true, members };
}

type MemberRead =
  { readonly ok: true; readonly members: OrderMembers } | { readonly ok: false; readonly fault: OrderFault };

const SCHEME = /^[a-z][a-z0-9-]{0,63}$/;
/** The longest member is call data. The body of a callback is never longer. */
const TEXT_MAX = 65_536;

function readMember(kind: Kind, name: string, value: unknown): MemberRead {
  const invalid = (expected: string): MemberRead => ({
    ok: false,
    fault: { message: `${name} ${formatInput(value)} is not valid`, fix: `write ${expected}` },
  });
  if (typeof value !== 'string')
    return { ok: false, fault: { message: `${name} is not a text`, fix: 'write it in quotes' } };
  if (value.length > TEXT_MAX) return invalid(`at most ${TEXT_MAX} characters`);
  const success = (text: string): MemberRead => ({ ok: true, members: { [name]: text } });
  if (name === 'scheme')
    return SCHEME.test(value) ? success(value) : invalid('a scheme, like md5 or rsa-envelope');
  if (value === '' && MAY_BE_EMPTY.has(name)) return success(value);
  const read = readMemberText(name, value);
  if (!read.ok) return invalid(read.expected);
  const possible = name !== 'amount' || kind === 'web3' || (read.text !== 'unlimited' && read.text !== '0');
  return possible ? success(read.text) : invalid('an amount above zero, like 10000 or 0.5');
}

const outputsShape = z
  .array(z.strictObject({ to: z.string(), amount: z.string() }))
  .min(1)
  .max(OUTPUTS_MAX);

/** A withdrawal to one address is compared by `to`, without outputs. */
function readOutputs(value: unknown, amount: unknown): MemberRead {
  const invalid = (message: string, fix: string): MemberRead => ({ ok: false, fault: { message, fix } });
  const shape = outputsShape.safeParse(value);
  if (!shape.success) {
    return invalid(
      'outputs is not valid',
      `write a list of { to, amount }, of 1 to ${OUTPUTS_MAX}, all texts`,
    );
  }
  const amountByAddress = new Map<string, Amount>();
  for (const output of shape.data) {
    const to = readMemberText('to', output.to);
    const each = parseAmount(output.amount);
    if (!to.ok)
      return invalid(`outputs: ${formatInput(output.to)} is not an address`, `write ${to.expected}`);
    if (each === undefined || each === 0n) {
      return invalid(`outputs: ${formatInput(output.amount)} is not valid`, 'write an amount above zero');
    }
    amountByAddress.set(to.text, (amountByAddress.get(to.text) ?? 0n) + each);
  }
  const sum = [...amountByAddress.values()].reduce((total, each) => total + each, 0n);
  if (typeof amount === 'string' && parseAmount(amount) !== sum) {
    return invalid(
      `outputs sum to ${formatAmount(sum)}, the amount is ${formatInput(amount)}`,
      'make the two agree',
    );
  }
  const payouts = [...amountByAddress]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([to, each]) => ({ to, amount: each }));
  const to = payouts.map((payout) => payout.to).join(' ');
  return { ok: true, members: payouts.length > 1 ? { to, outputs: outputsText(payouts) } : { to } };
}

/** The text in the terms of a withdrawal: an address and its amount a line, sorted by address. */
function outputsText(payouts: readonly Payout[]): string {
  return payouts.map(({ to, amount }) => `${to} ${formatAmount(amount)}`).join('\n');
}
