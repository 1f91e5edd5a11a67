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
  'tamper-shift': 'two members of a payment become one, with the same signed text (md5, rsa)',
  'tamper-data': 'the encrypted data of a payment is changed (rsa-envelope)',
  'tamper-credential': 'the co-signer presents another secret',
  'tamper-terms': 'the co-signer asks again with another amount',
  'tamper-outputs': 'the outputs of a withdrawal do not sum to its amount',
  'bill-omit': 'a payment is missing in the bill',
  'bill-twice': 'a payment is in the bill twice',
  'bill-two-days': 'a payment is also in the bill of the next day',
  'bill-transfer': 'a payment is also in the bill as a transfer order',
  'bill-amount': 'the bill has another amount',
  'bill-coin': 'the bill has another coin',
  'bill-user': 'the bill has another user',
  'bill-swap': 'the bill has the users of two payments exchanged',
  'bill-order': 'the bill has another order id',
  'bill-type': 'the bill has the other order type',
  'bill-day': 'the bill has a payment a day later',
  'bill-invented': 'the bill also has an order that nobody asked for',
  'bill-refused': 'a payment that the receiver refused is debited and billed',
  'sign-unasked': 'the co-signer signs without asking',
  'sign-refused': 'the co-signer signs what the receiver refused',
  'sign-early': 'the co-signer signs before it asks about sign_start, and again after it',
  'sign-amount': 'another amount is signed',
  'sign-address': 'another address is paid',
  'sign-coin': 'another coin is signed',
  'sign-memo': 'a withdrawal is signed with another memo',
  'sign-outputs': 'a withdrawal is signed with other outputs',
  'sign-input': 'a transaction is signed with other input_data',
  'sign-contract': 'a transaction is signed for another contract',
  'sign-twice': 'the co-signer signs again under another txid',
  'sign-speed-up': 'the co-signer signs a speed-up without asking',
  'sign-silent': 'the co-signer signs and does not report it',
  'sign-late': 'the co-signer reports a day late that it signed',
  'answer-lost': 'the connection ends instead of an answer',
  'answer-cut': 'the connection ends in the middle of an answer',
  'answer-drip': 'an answer does not end, and comes slowly',
  'answer-endless': 'an answer does not end',
  'answer-status': 'an answer has the HTTP status 500',
  'answer-redirect': 'an answer is a redirect',
  'answer-html': 'an answer is a web page',
  'answer-type': 'an answer has another content type',
  'answer-gzip': 'an answer is compressed',
  'answer-empty': 'an answer is empty',
  'answer-half': 'an answer is half of its JSON',
  'answer-twice': 'an answer has a member twice',
  'answer-code': 'an answer has no code',
  'answer-error': 'what was done is answered with 10001',
  'answer-denied': 'what was done is answered with 10015',
  'answer-scheme': 'an answer has the form of the other scheme',
  'answer-kinds': 'the values of an answer are of another kind',
  'answer-member': 'an answer lacks a member',
  'answer-count': 'an answer counts one record more than there are',
  'answer-pages': 'each page is the first one',
  'answer-date': 'a record of the bill has the times of another day',
  'answer-sign': 'the signature of an answer is changed (rsa-envelope)',
  'answer-unsigned': 'the signature of an answer is missing (rsa-envelope)',
  'answer-data': 'the encrypted data of an answer is changed (rsa-envelope)',
  'wire-time': 'the time of an envelope is text, in seconds',
  'wire-base64': 'an envelope is in padded base64 of the other alphabet',
  'wire-upper': 'the MD5 of a payment is in upper case',
  'wire-time-member': 'a payment has a signed member time (md5, rsa)',
  'wire-withdraw-id': 'the id of a withdrawal is in withdraw_id, and transfer_id is empty',
  'wire-big-id': 'the id of a withdrawal or transaction is above 2^53',
  'wire-text-id': 'the id of a withdrawal or transaction is text',
  'wire-text-amount': 'the amount of a withdrawal or transaction is text',
  'wire-empty': 'optional members are there as empty text',
  'wire-no-round': 'pending_round is missing in a first round',
  'wire-case': 'addresses are in lower case',
  'wire-zeros': 'the amounts of the bill end in zeros',
  'wire-epoch': 'the times of the bill are milliseconds',
} as const;

export type Fault = keyof typeof FAULTS;

/** In how many per cent a fault occurs, or for which ids. */
type Rate = number | ReadonlySet<string>;

export type FaultRates = ReadonlyMap<Fault, Rate>;

const NAMES = Object.keys(FAULTS).filter(isFault);

function isFault(name: string): name is Fault {
  return Object.hasOwn(FAULTS, name);
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
    const named = isFault(name)
      ? [name]
      : NAMES.filter((each) => name === 'all' || each.startsWith(`${name}-`));
    if (named.length === 0 || Number(percent) > 100) {
      throw new CountersignError(
        'USAGE',
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
