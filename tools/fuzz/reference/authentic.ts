import { type PaymentParty, type Scheme, payments } from '../parties.ts';
import { CALLBACK, type Value, readJson, textOf } from './json.ts';
import { isDefined, readingsOf } from './payment.ts';
import { type Members, decrypted, fromBase64, isMd5, md5Hex, rsaHolds, signedText } from './signs.ts';

/*
 * Who sent a payment, shown by what it is signed with (protocol.md).
 */

export type Authentic = { readonly source: string; readonly inner: Members } | { readonly no: string };

export function verifyFlat(members: Members): Authentic {
  const of = new Map(members);
  const party = partyOf(of.get('appKey'));
  const sign = textOf(of.get('sign'));
  if (party === undefined || sign === undefined) return { no: 'nobody signed it' };
  for (const scheme of party.schemes) {
    if (scheme.scheme === 'rsa-envelope') continue;
    const text = signedText(members, scheme.emptyValues);
    if (text === undefined) return { no: 'a member has no text' };
    if (!holds(scheme, text, sign)) continue;
    const inner = members.filter(([name]) => name !== 'sign');
    const strange = inner.some(
      ([name, value]) => isSigned(value, scheme.emptyValues) && !isDefined(name, signedAs(value)),
    );
    if (strange) return { no: 'the text signs what the callback does not define' };
    if (readingsOf(text, party.appKey) !== 1) return { no: 'more readings than one' };
    return { source: party.name, inner };
  }
  return { no: 'no signature holds' };
}

function holds(scheme: Exclude<Scheme, { scheme: 'rsa-envelope' }>, text: string, sign: string): boolean {
  if (scheme.scheme === 'md5') return isMd5(sign) && sign.toLowerCase() === md5Hex(text + scheme.secret);
  const signature = fromBase64(sign);
  const signed = scheme.signs === 'string' ? text : md5Hex(text);
  return (
    signature !== undefined &&
    rsaHolds({ key: scheme.platform.publicKey, digest: scheme.digest, text: signed }, signature)
  );
}

function isSigned(value: Value, emptyValues: 'keep' | 'skip'): boolean {
  return value.type !== 'null' && !(emptyValues === 'skip' && signedAs(value) === '');
}

const signedAs = (value: Value): string => ('text' in value ? value.text : '');

/** `app_id`, `time`, `data` and `sign`, and nothing beside them. */
export function openEnvelope(members: Members): Authentic {
  const of = new Map(members);
  if (members.some(([name]) => !['app_id', 'time', 'data', 'sign'].includes(name))) {
    return { no: 'something beside the envelope' };
  }
  const party = partyOf(of.get('app_id'));
  const data = fromBase64(textOf(of.get('data')) ?? '');
  const signature = fromBase64(textOf(of.get('sign')) ?? '');
  if (party === undefined || data === undefined || signature === undefined) return { no: 'not an envelope' };
  for (const scheme of party.schemes) {
    if (scheme.scheme !== 'rsa-envelope') continue;
    const plaintext = decrypted(data, scheme.merchant.privateKey);
    if (plaintext === undefined) continue;
    const key = scheme.platform.publicKey;
    if (!rsaHolds({ key, digest: 'sha256', text: md5Hex(plaintext) }, signature)) continue;
    const inner = readJson(plaintext, CALLBACK);
    if ('no' in inner || inner.value.type !== 'object') return { no: 'the envelope holds no object' };
    const named = inner.value.members;
    const other = named.some(
      ([name, value]) => name === 'sign' || (name === 'appKey' && textOf(value) !== party.appKey),
    );
    if (other) return { no: 'the envelope holds another appKey or a sign' };
    const appKey: Value = { type: 'text', text: party.appKey };
    return {
      source: party.name,
      inner: [...named.filter(([name]) => name !== 'appKey'), ['appKey', appKey]],
    };
  }
  return { no: 'no envelope of the source' };
}

function partyOf(value: Value | undefined): PaymentParty | undefined {
  const appKey = textOf(value);
  return payments.find((party) => party.appKey === appKey);
}
