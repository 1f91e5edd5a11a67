import { CountersignError, type Failure, failure } from '../errors.ts';
import { type Members, decodeMembers } from '../values/members.ts';
import { decodeBase64 } from './base64.ts';
import { jsonOf, stringMember, without } from './body.ts';
import { type Opened, openEnvelope, sealEnvelope } from './envelope.ts';
import { readPrivateKeyOf, readPublicKeyOf } from './key-of.ts';
import { readPrivateKey, readPublicKey } from './keys.ts';
import { isRsaSized } from './rsa.ts';
import { type Explanation, type KeyInUse, type Scheme, measured, signFailure, signedOf } from './scheme.ts';

const ENVELOPE_MEMBERS: ReadonlySet<string> = new Set(['app_id', 'time', 'data', 'sign']);

/**
 * `{app_id, time, data, sign}`: the flat members but for `appKey` and `sign` as one JSON text, encrypted
 * block by block for the merchant key and signed with the platform's. `time` is covered by neither and is not
 * looked at.
 */
export const rsaEnvelope: Scheme<'rsa-envelope'> = {
  name: 'rsa-envelope',
  shape: 'envelope',
  bears: isRsaSized,

  verifier({ platformKey, merchantKey }, readSecret) {
    const senderKey = readPublicKeyOf(platformKey, readSecret);
    const receiverKey = readPrivateKeyOf(merchantKey, readSecret);
    const keys: readonly KeyInUse[] = [
      { role: 'platform key', fingerprint: senderKey.fingerprint },
      { role: 'merchant key', fingerprint: receiverKey.fingerprint },
    ];
    const scheme = 'rsa-envelope';
    const open = (members: Members, sign: string): Opened => {
      const data = dataOf(members);
      return typeof data === 'string' ? openEnvelope({ data, sign }, { senderKey, receiverKey }) : data;
    };
    return {
      scheme,
      by: `rsa-envelope ${senderKey.fingerprint}`,
      keys,
      warnings:
        senderKey.fingerprint === receiverKey.fingerprint
          ? ["platformKey is the public half of merchantKey: put the platform's own public key there"]
          : [],
      verify(members, sign, appKey) {
        const opened = open(members, sign);
        if (!opened.ok) return signFailure(opened.code, opened.because, { scheme, keys });
        const held = contentOf(opened.plaintext, appKey);
        return held.ok
          ? held
          : signFailure(held.code, held.because, { scheme, keys }, measured(opened.plaintext));
      },
      explain(members, sign) {
        const explained = (plaintext: Uint8Array, next: string | undefined): Explanation => ({
          ok: true,
          scheme,
          keys,
          ...signedOf(plaintext, 'md5-hex'),
          expected: undefined,
          received: sign,
          verifies: next === undefined,
          next,
        });
        const opened = open(members, sign);
        if (opened.ok) return explained(opened.plaintext, undefined);
        // Unlike the service, a holder of the keys may see what an envelope with a wrong sign holds.
        const data = decodeBase64(members.get('data')?.text ?? '');
        const plaintext = data && receiverKey.decrypt(data);
        // What is not for this key deciphers to random bytes, which can be text by chance, and not members.
        return plaintext === undefined || !decodeMembers(plaintext).ok
          ? signFailure(opened.code, opened.because, { scheme, keys })
          : explained(plaintext, opened.because);
      },
    };
  },

  signer(config) {
    const senderKey = readPrivateKey(config.senderKey);
    const receiverKey = readPublicKey(config.receiverKey);
    return {
      scheme: 'rsa-envelope',
      sign(members, nowMs) {
        const appKey = members.get('appKey');
        if (appKey === undefined) throw new CountersignError('USAGE', 'an envelope needs the member appKey');
        const plaintext = jsonOf(without(members, 'appKey', 'sign'));
        const { data, sign } = sealEnvelope(plaintext, { senderKey, receiverKey });
        return JSON.stringify({ app_id: appKey.text, time: nowMs, data, sign });
      },
    };
  },
};

function dataOf(members: Members): string | Failure {
  const stranger = [...members.keys()].find((name) => !ENVELOPE_MEMBERS.has(name));
  if (stranger !== undefined) {
    return failure(
      'ENVELOPE_MALFORMED',
      `${JSON.stringify(stranger)} stands beside an envelope, where nothing signs it: it belongs into data`,
    );
  }
  const data = members.get('data');
  return data?.kind === 'string'
    ? data.text
    : failure('ENVELOPE_MALFORMED', 'data is missing, or is no string');
}

/** The members in a verified plaintext, with `appKey` as the flat schemes have it. */
function contentOf(
  plaintext: Uint8Array,
  appKey: string,
): { readonly ok: true; members: Members; plaintext: string; canonical: undefined } | Failure {
  const held = decodeMembers(plaintext);
  if (!held.ok) return { ...held, because: `in the envelope's plaintext, ${held.because}` };
  if (held.members.has('sign')) return failure('ENVELOPE_MALFORMED', 'the plaintext holds a sign of its own');
  const inner = held.members.get('appKey') ?? stringMember(appKey);
  if (inner.kind !== 'string' || inner.text !== appKey) {
    return failure('ENVELOPE_MALFORMED', 'the plaintext names another appKey than app_id');
  }
  const members = new Map([['appKey', inner], ...held.members]);
  return { ok: true, members, plaintext: held.text, canonical: undefined };
}
