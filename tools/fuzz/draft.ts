import { createHmac } from 'node:crypto';
import { type CosignerParty, type PaymentParty, cosigners, payments } from './parties.ts';
import { type Random, anyOf, digits, hex } from './random.ts';

/*
 * Callbacks that are in order, as their members' JSON: what mutations start from.
 */

/** A member as two JSON texts, so that either can be spoilt on its own. */
export interface Entry {
  readonly name: string;
  readonly value: string;
}

export type Draft =
  | {
      readonly kind: 'payment';
      readonly party: PaymentParty;
      /** Which of the party's schemes signs it. */
      readonly scheme: number;
      readonly entries: readonly Entry[];
    }
  | {
      readonly kind: 'transfer' | 'web3' | 'self-check';
      readonly party: CosignerParty;
      readonly entries: readonly Entry[];
    };

export const entry = (name: string, value: string): Entry => ({ name: JSON.stringify(name), value });
const text = (name: string, value: string): Entry => entry(name, JSON.stringify(value));

/** The text a JSON text stands for: of a string what it means, else what is written. */
export function meant(json: string): string {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'string' ? value : json;
  } catch {
    return json;
  }
}

export function draftOf(random: Random, id: string): Draft {
  const drawn = random.below(100);
  if (drawn < 56) return paymentDraft(random, id);
  if (drawn < 78) return transferDraft(random, id);
  return drawn < 98 ? web3Draft(random, id) : selfCheckDraft(random);
}

/** RSA costs some hundred times what MD5 does, so it is drawn less often. */
function paymentDraft(random: Random, id: string): Draft {
  const flat = payments.filter(({ schemes }) => schemes.some(({ scheme }) => scheme === 'md5'));
  const party = anyOf(random, random.oneIn(10) ? payments : flat);
  if (party === undefined) throw new Error('there is no payment source: parties.ts must list one');
  const cheap = party.schemes.findIndex(({ scheme }) => scheme === 'md5');
  const scheme = cheap >= 0 && !random.oneIn(8) ? cheap : random.below(party.schemes.length);
  const optional = random.oneIn(6)
    ? [text('time', `1${digits(random, random.pick([9, 12]))}`)]
    : random.oneIn(20)
      ? [entry('time', random.pick(['null', '1790000000', '""']))]
      : [];
  const amount = amountText(random, ['100', '0.01', '999.99', '1000', '1.50', `0.${digits(random, 20)}1`]);
  return {
    kind: 'payment',
    party,
    scheme,
    entries: [
      text('appKey', party.appKey),
      text('appOrderId', random.oneIn(8) ? `${random.pick(['overtime-', 'A_', '#', '~'])}${id}` : id),
      entry('orderAmount', amount),
      text('payCoinSymbol', random.pick(['USDT1742', 'BTC', 'ETH', 'usdt', 'A1'])),
      random.oneIn(10) ? entry('userId', `1${digits(random, 6)}`) : text('userId', `1${digits(random, 6)}`),
      ...optional,
    ],
  };
}

function transferDraft(random: Random, id: string): Draft {
  const from = addressOf(random);
  const to = addressOf(random);
  const amount = amountText(random, ['1.5', '10', '0.1', '9.999', `2.${digits(random, 30)}1`]);
  const numeric = digitsId(random);
  return {
    kind: 'transfer',
    party: random.pick([cosigners[0], cosigners[0], cosigners[1]]) ?? never(),
    entries: [
      text('type', random.pick(['sign_start', 'sign_start', 'sign_start', 'sign_prepare', 'sign_success'])),
      entry('transfer_id', random.oneIn(6) ? '""' : numeric),
      text('request_id', id),
      ...(random.oneIn(6) ? [] : [entry('pending_round', random.oneIn(8) ? 'true' : 'false')]),
      text('from', from),
      text('to', to),
      ...(random.oneIn(2) ? [text('memo', random.pick(['', '', 'invoice 7', 'é', '12345']))] : []),
      entry('amount', amount),
      text('symbol', random.pick(['ETH', 'BTC', 'USDT1742'])),
      ...(random.oneIn(3) ? [text('txid', random.oneIn(2) ? '' : `0x${hex(random, 64)}`)] : []),
      ...(random.oneIn(4) ? [entry('withdraw_id', random.oneIn(2) ? '""' : JSON.stringify(numeric))] : []),
      ...(random.oneIn(4) ? [text('outputs', outputsText(random, to, meant(amount)))] : []),
      ...(random.oneIn(12) ? [entry('chain', random.pick(['"eth"', '{"a":[1,null]}', '[]', '1.0']))] : []),
    ],
  };
}

function web3Draft(random: Random, id: string): Draft {
  const contract = random.oneIn(8) ? '' : addressOf(random);
  return {
    kind: 'web3',
    party: random.pick([cosigners[0], cosigners[0], cosigners[1]]) ?? never(),
    entries: [
      text('type', random.pick(['sign_start', 'sign_start', 'sign_start', 'sign_prepare', 'sign_success'])),
      entry('trans_id', digitsId(random)),
      text('request_id', id),
      entry('pending_round', random.oneIn(8) ? 'true' : 'false'),
      text('from', addressOf(random)),
      text('to', addressOf(random)),
      entry('amount', amountText(random, ['0', '0.0', '5.5', '1', '-1'])),
      text('main_chain_symbol', random.pick(['ETH', 'BSC'])),
      text('input_data', random.oneIn(6) ? '' : `0xa9059cbb${hex(random, random.pick([0, 128, 1, 300]))}`),
      text('interactive_contract', contract),
      ...(random.oneIn(4) ? [text('txid', `0x${hex(random, 64)}`)] : []),
    ],
  };
}

function selfCheckDraft(random: Random): Draft {
  const party = random.pick([cosigners[0], cosigners[0], cosigners[1]]) ?? never();
  const appId = hex(random, 16);
  const hash = (of: 'client' | 'verify'): string => {
    const key = party.selfCheck?.[random.oneIn(12) ? 'client' : of].publicKey;
    const der = key?.export({ type: 'spki', format: 'der' }).toString('base64') ?? 'none';
    return createHmac('sha256', appId).update(der).digest('hex');
  };
  return {
    kind: 'self-check',
    party,
    entries: [
      text('app_id', appId),
      text('client_system_pubkey_hash', hash('client')),
      text('verify_sign_pub_hash', hash('verify')),
      text('type', 'verify_public_hash'),
    ],
  };
}

/** As a JSON text or a number. */
function amountText(random: Random, amounts: readonly [string, ...string[]]): string {
  const amount = random.pick(amounts);
  return random.oneIn(3) ? amount : JSON.stringify(amount);
}

function addressOf(random: Random): string {
  const digitsOf = hex(random, 40);
  if (random.oneIn(12)) {
    const bech32 = `bc1${Array.from({ length: 39 }, () => random.pick(['q', 'p', 'z', 'r', 'y', '9', 'x', '0', 'l'])).join('')}`;
    return random.oneIn(2) ? bech32 : bech32.toUpperCase();
  }
  return random.oneIn(6) ? `T${hex(random, 33)}` : `0x${random.oneIn(3) ? digitsOf.toUpperCase() : digitsOf}`;
}

/** A whole amount in two halves, or all of it at once. */
function outputsText(random: Random, to: string, amount: string): string {
  if (amount === '10' && random.oneIn(2)) {
    const other = addressOf(random);
    return `[{"address_to":"${to}","amount":"7.5"},{"address_to":"${other}","amount":2.50}]`;
  }
  return `[{"address_to":"${to}","amount":${random.oneIn(2) ? amount : JSON.stringify(amount)}}]`;
}

const digitsId = (random: Random): string => `9${digits(random, random.pick([1, 6, 17]))}`;

function never(): never {
  throw new Error('there is no co-signer: parties.ts must list one');
}
