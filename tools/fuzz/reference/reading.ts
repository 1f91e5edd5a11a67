import { type CosignerParty, LIMITS, type Pair, WITHOUT_PEOPLE, cosigners } from '../parties.ts';
import { openEnvelope, verifyFlat } from './authentic.ts';
import { questionIn } from './cosigner.ts';
import { atMost } from './decimal.ts';
import { CALLBACK, readJson, textOf } from './json.ts';
import { type Terms, paymentTerms } from './payment.ts';
import { type Members, hmacHex } from './signs.ts';

/*
 * The reference reading: what specification and design let a callback be answered, read a second time and
 * plainly.
 */

/** A callback as it came, without what it means. */
export interface Sent {
  readonly route: { readonly callback: 'payment' } | Route;
  readonly address: string;
  /** The value of a header that was sent once. */
  readonly header: (name: string) => string | undefined;
  readonly pathSecret: string | undefined;
  readonly body: Uint8Array;
}

export interface Route {
  readonly callback: 'cosigner';
  readonly source: string;
  /** What is served at the URL. */
  readonly expected: readonly ('transfer' | 'web3')[];
}

/** What must be answered FAILURE, or may be answered SUCCESS and then stands for these terms. */
export type Reading =
  | { readonly may: false; readonly because: string }
  | {
      readonly may: true;
      readonly kind: 'payment' | 'transfer' | 'web3';
      readonly source: string;
      readonly id: string;
      readonly terms: Terms;
      /** `sign_success` tells, and is in order only after an approval. */
      readonly notice: boolean;
      /** It may only once people have approved it. */
      readonly needsPeople: boolean;
    }
  | { readonly may: 'each'; readonly source: string; readonly client: boolean; readonly verify: boolean };

const no = (because: string): Reading => ({ may: false, because });

export function read(sent: Sent): Reading {
  const { route } = sent;
  const decoded = readJson(sent.body, CALLBACK);
  if ('no' in decoded) return no(decoded.no);
  if (decoded.value.type !== 'object') return no('not an object');
  return route.callback === 'payment'
    ? readPayment(decoded.value.members)
    : readCosigner(sent, route, decoded.value.members);
}

function readPayment(members: Members): Reading {
  const authentic = members.some(([name]) => name === 'app_id' || name === 'data')
    ? openEnvelope(members)
    : verifyFlat(members);
  if ('no' in authentic) return no(authentic.no);
  const { source, inner } = authentic;
  const asked = paymentTerms(inner);
  if (asked === undefined) return no('not a payment');
  if (!atMost(asked.amount, LIMITS.payment)) return no('above the limit');
  return {
    may: true,
    kind: 'payment',
    source,
    id: asked.terms['id'] ?? '',
    terms: asked.terms,
    notice: false,
    needsPeople: !atMost(asked.amount, WITHOUT_PEOPLE.payment),
  };
}

function readCosigner(sent: Sent, route: Route, members: Members): Reading {
  const party = cosigners.find(({ name }) => name === route.source);
  if (party === undefined || !isShown(party, sent)) return no('not authenticated');
  const type = members.find(([name]) => name === 'type')?.[1];
  if (type?.type === 'text' && type.text === 'verify_public_hash') return selfCheck(party, route, members);
  const question = questionIn(members);
  if (question === undefined) return no('not a question');
  const { kind, id, amount, terms } = question;
  if (!route.expected.includes(kind)) return no('not served there');
  const notice = question.type === 'sign_success';
  if (!notice && (amount === undefined || !atMost(amount, LIMITS[kind]))) return no('above the limit');
  const needsPeople = !notice && (amount === undefined || !atMost(amount, WITHOUT_PEOPLE[kind]));
  return { may: true, kind, source: party.name, id, terms, notice, needsPeople };
}

/** All that the source must show. */
function isShown(party: CosignerParty, sent: Sent): boolean {
  const { header, pathSecret, address } = party;
  return (
    (header === undefined || sent.header(header.name) === header.secret) &&
    (pathSecret === undefined || sent.pathSecret === pathSecret) &&
    (address === undefined || sent.address === address || sent.address === `::ffff:${address}`)
  );
}

function selfCheck(party: CosignerParty, route: Route, members: Members): Reading {
  if (!route.expected.includes('transfer')) return no('not served there');
  const of = new Map(members);
  const appId = textOf(of.get('app_id'));
  const matches = (name: string, pair: Pair | undefined): boolean => {
    if (appId === undefined || pair === undefined) return false;
    const key = pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
    return textOf(of.get(name)) === hmacHex(appId, key);
  };
  return {
    may: 'each',
    source: party.name,
    client: matches('client_system_pubkey_hash', party.selfCheck?.client),
    verify: matches('verify_sign_pub_hash', party.selfCheck?.verify),
  };
}
