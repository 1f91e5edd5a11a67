import { CountersignError } from '../errors.ts';
import { randomOf } from './random.ts';

/** What the sandbox can do wrong on purpose. */
export const FAULTS = {
  late: 'a call comes late',
  repeat: 'a call is made twice',
  reorder: 'the co-signer asks about sign_start before sign_prepare',
  'tamper-amount': 'the amount of a payment is changed after signing',
  'tamper-user': 'the user of a payment is changed after signing',
  'tamper-coin': 'the coin of a payment is changed after signing',
  'tamper-order': 'the order id of a payment is changed after signing',
  'tamper-extra': 'a member is added to a payment after signing',
  'tamper-sign': 'the signature of a payment is changed',
  'tamper-unsigned': 'the signature of a payment is missing',
  'tamper-key': 'a payment is signed with another secret, or over another text',
  'tamper-app': 'a payment names another application',
  'tamper-shift': 'two members of a payment become one, with the same signed text (md5)',
  'tamper-data': 'the encrypted data of a payment is changed (rsa-envelope)',
  'tamper-credential': 'the co-signer presents another secret',
  'tamper-terms': 'the co-signer asks again with another amount',
  'tamper-outputs': 'the outputs of a withdrawal do not sum to its amount',
  'bill-omit': 'a payment is missing in the bill',
  'bill-twice': 'a payment is in the bill twice',
  'bill-amount': 'the bill has another amount',
  'bill-coin': 'the bill has another coin',
  'bill-user': 'the bill has another user',
  'bill-order': 'the bill has another order id',
  'bill-type': 'the bill has the other order type',
  'bill-day': 'the bill has a payment a day later',
  'bill-invented': 'the bill also has an order that nobody asked for',
  'bill-refused': 'a payment that the receiver refused is debited and billed',
  'wire-time': 'the time of an envelope is text, in seconds',
  'wire-base64': 'an envelope is in padded base64 of the other alphabet',
  'wire-upper': 'the MD5 of a payment is in upper case',
  'wire-time-member': 'a payment has a signed member time (md5)',
  'wire-withdraw-id': 'the id of a withdrawal is in withdraw_id, and transfer_id is empty',
  'wire-big-id': 'the id of a withdrawal or transaction is above 2^53',
  'wire-text-id': 'the id of a withdrawal or transaction is text',
  'wire-number': 'the amount of a withdrawal or transaction is a JSON number',
  'wire-empty': 'optional members are there as empty text',
  'wire-no-round': 'pending_round is missing in a first round',
  'wire-case': 'addresses are in lower case',
} as const;

export type Fault = keyof typeof FAULTS;

/** How often each fault occurs, in per cent. */
export type FaultRates = ReadonlyMap<Fault, number>;

const NAMES = Object.keys(FAULTS).filter(isFault);

function isFault(name: string): name is Fault {
  return Object.hasOwn(FAULTS, name);
}

/**
 * Reads `late=20,tamper=5,wire`: faults or groups of them (`tamper`, `bill`, `wire`, `all`), each with a
 * whole number of per cent. A fault without a number always occurs. Throws USAGE.
 */
export function readFaults(written: string): FaultRates {
  const rates = new Map<Fault, number>();
  for (const part of written.split(',').filter((each) => each.trim() !== '')) {
    const [, name = '', percent = '100'] = /^\s*([a-z0-9-]+)(?:=(\d{1,3}))?\s*$/.exec(part) ?? [];
    const named = isFault(name)
      ? [name]
      : NAMES.filter((each) => name === 'all' || each.startsWith(`${name}-`));
    if (named.length === 0 || Number(percent) > 100) {
      throw new CountersignError(
        'USAGE',
        `--faults ${part.trim()} is not valid. Write FAULT=PERCENT with one of all, tamper, bill, wire, ` +
          NAMES.join(', '),
      );
    }
    for (const each of named) rates.set(each, Number(percent));
  }
  return rates;
}

/** Decides which faults occur. The same seed and labels give the same faults, in any order of calls. */
export interface Faults {
  occurs(fault: Fault, ...labels: readonly (string | number)[]): boolean;
}

export function createFaults(seed: string, rates: FaultRates): Faults {
  return {
    occurs: (fault, ...labels) =>
      randomOf(seed, 'fault', fault, ...labels).whole(0, 99) < (rates.get(fault) ?? 0),
  };
}
