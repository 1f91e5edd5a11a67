import type { Callback, Kind } from '../../callback/callback.ts';
import type { Facts } from '../facts.ts';
import { memberNamed, memberNames, valuesOf } from '../members.ts';
import { Decimal, Output, Text, type Value } from './values.ts';

/** What an expression may ask for by one name. */
export interface Name {
  readonly type: 'decimal' | 'text' | 'bool' | 'list<output>';
  /** The member whose texts it has, if it is a text. */
  readonly member: string | undefined;
  /** Undefined if there is no such value; asking for it is then an error. */
  readonly read: (callback: Callback, facts: Facts) => Value | undefined;
  /** Why there is none. */
  readonly missing: string;
}

export type Names = ReadonlyMap<string, Name>;

/** The element that loops run over, and what it is made of. */
export const OUTPUTS = 'outputs';
export const OUTPUT_FIELDS: readonly string[] = ['to', 'amount'];

/**
 * All names that an expression over this kind of callback knows: its members with their aliases, and facts
 * about it.
 */
export function namesOf(kind: Kind): Names {
  const names = new Map<string, Name>();
  for (const name of memberNames(kind)) {
    const member = memberNamed(kind, name);
    if (member !== undefined) names.set(name, nameOf(member, name));
  }
  if (kind === 'payment') names.set('scheme', SCHEME);
  if (kind === 'transfer') names.set(OUTPUTS, PAYOUTS);
  if (kind === 'web3') names.set('unlimited', UNLIMITED);
  if (kind !== 'payment') names.set('speedUp', SPEED_UP);
  return names;
}

function nameOf(member: string, name: string): Name {
  if (member === 'amount') return AMOUNT;
  if (member === 'pending_round') return SPEED_UP;
  return {
    type: 'text',
    member,
    missing:
      member === 'to' ? `the withdrawal pays several addresses, so ${name} is not one` : `${name} is missing`,
    read: (callback) => {
      const found = valuesOf(callback, member);
      const text = found[0];
      return text === undefined || found.length > 1 ? undefined : new Text(text);
    },
  };
}

const AMOUNT: Name = {
  type: 'decimal',
  member: undefined,
  missing: 'the amount is unlimited',
  read: ({ amount }) => (amount === 'unlimited' ? undefined : new Decimal(amount)),
};

const SPEED_UP: Name = {
  type: 'bool',
  member: undefined,
  missing: 'it is not known whether it is a speed-up',
  read: ({ question }) => question.speedUp,
};

const UNLIMITED: Name = {
  type: 'bool',
  member: undefined,
  missing: 'it is not known whether the amount is unlimited',
  read: ({ amount }) => amount === 'unlimited',
};

const SCHEME: Name = {
  type: 'text',
  member: 'scheme',
  missing: 'it is not known how the callback was signed',
  read: (_, { scheme }) => (scheme === undefined ? undefined : new Text(scheme)),
};

const PAYOUTS: Name = {
  type: 'list<output>',
  member: undefined,
  missing: 'it is not known whom the withdrawal pays',
  read: ({ payouts }) =>
    payouts.length === 0
      ? undefined
      : payouts.map(({ to, amount }) => new Output(new Text(to), new Decimal(amount))),
};
