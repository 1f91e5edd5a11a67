import { usageError } from '../../src/errors.ts';
import { randomOf } from './random.ts';

/** What the sandbox can do wrong on purpose. */
export const FAULTS = {
  late: 'a call comes late',
  repeat: 'a call is made twice',
  reorder: 'the co-signer asks about sign_start before sign_prepare',
  'tamper-amount': 'the amount of a payment is changed after signing',
  'tamper-user': 'the user of a payment is changed after signing',
  'tamper-order': 'the order id of a payment is changed after signing',
  'tamper-sign': 'the signature of a payment is changed',
  'tamper-unsigned': 'the signature of a payment is missing',
  'tamper-key': 'a payment is signed with another secret, or over another text',
  'tamper-app': 'a payment names another application',
  'tamper-credential': 'the co-signer presents another secret',
  'tamper-terms': 'the co-signer asks again with another amount',
  'tamper-outputs': 'the outputs of a withdrawal do not sum to its amount',
  'bill-omit': 'a payment is missing in the bill',
  'bill-twice': 'a payment is in the bill twice',
  'bill-amount': 'the bill has another amount',
  'bill-user': 'the bill has another user',
  'bill-day': 'the bill has a payment a day later',
  'bill-invented': 'the bill also has an order that nobody asked for',
  'bill-refused': 'a payment that the receiver refused is debited and billed',
  'sign-unasked': 'the co-signer signs without asking',
  'sign-refused': 'the co-signer signs what the receiver refused',
  'sign-amount': 'another amount is signed',
  'sign-address': 'another address is paid',
  'sign-twice': 'the co-signer signs again under another txid',
  'sign-speed-up': 'the co-signer signs a speed-up without asking',
  'answer-lost': 'the connection ends instead of an answer',
  'answer-status': 'an answer has the HTTP status 500',
  'answer-error': 'what was done is answered with 10001',
  'wire-text': 'the id and the amount of a withdrawal or transaction are text',
  'wire-big-id': 'the id of a withdrawal or transaction is above 2^53',
  'wire-zeros': 'the amounts of the bill end in zeros',
} as const;

export type Fault = keyof typeof FAULTS;

/** In how many per cent a fault occurs, or for which ids. */
type Rate = number | ReadonlySet<string>;

export type FaultRates = ReadonlyMap<Fault, Rate>;

const NAMES = Object.keys(FAULTS).filter(isFault);

function isFault(name: string): name is Fault {
  return Object.hasOwn(FAULTS, name);
}

/** The faults of a group, such as `bill`, in their order. */
export function faultsOf<G extends string>(group: G): readonly Extract<Fault, `${G}-${string}`>[] {
  return NAMES.filter((name): name is Extract<Fault, `${G}-${string}`> => name.startsWith(`${group}-`));
}

const WRITTEN = /^\s*([a-z0-9-]+)(?:=(\d{1,3})|@([^\s@]{1,128}))?\s*$/;

/**
 * Reads `late=20,bill,sign-twice@w-1`: faults or groups of them (`tamper`, `bill`, `sign`, `answer`, `wire`,
 * `all`), each with a whole number of per cent, or with the one id for which it occurs. A fault with neither
 * always occurs. Throws USAGE.
 */
export function readFaults(written: string): FaultRates {
  const rates = new Map<Fault, Rate>();
  for (const part of written.split(',').filter((each) => each.trim() !== '')) {
    const [, name = '', percent = '100', id] = WRITTEN.exec(part) ?? [];
    const named = isFault(name) ? [name] : name === 'all' ? NAMES : faultsOf(name);
    if (named.length === 0 || Number(percent) > 100) {
      throw usageError(
        `--faults ${part.trim()} is not valid. Write FAULT=PERCENT or FAULT@ID with one of all, tamper, bill, ` +
          `sign, answer, wire, ${NAMES.join(', ')}`,
      );
    }
    for (const each of named)
      rates.set(each, id === undefined ? Number(percent) : withId(rates.get(each), id));
  }
  return rates;
}

const withId = (known: Rate | undefined, id: string): Rate =>
  new Set([...(typeof known === 'object' ? known : []), id]);

/** Decides which faults occur. The same seed, id and labels give the same faults, in any order of calls. */
export interface Faults {
  occurs(fault: Fault, id: string, ...labels: readonly (string | number)[]): boolean;
}

export function createFaults(seed: string, rates: FaultRates): Faults {
  return {
    occurs(fault, id, ...labels) {
      const rate = rates.get(fault) ?? 0;
      if (typeof rate === 'object') return rate.has(id);
      return rate > 0 && randomOf(seed, 'fault', fault, id, ...labels).whole(0, 99) < rate;
    },
  };
}
