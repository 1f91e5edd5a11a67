import { constants, createHash, publicEncrypt, sign as signWith } from 'node:crypto';
import { type Draft, type Entry, entry, meant } from './draft.ts';
import { type Pair, type PaymentParty, type Scheme, merchant, stranger } from './parties.ts';
import type { Random } from './random.ts';

/*
 * Signs and encrypts as the platform would, and as somebody without its keys might try to.
 */

/** Who signs, beside the platform itself. */
export type Hand = 'own' | 'stranger' | 'another scheme' | 'empty secret' | 'nobody';

/** What goes over the wire: a payment with its sign or in its envelope, a co-signer's callback as it is. */
export function sealed(random: Random, draft: Draft, hand: Hand = 'own'): readonly Entry[] {
  if (draft.kind !== 'payment' || hand === 'nobody') return draft.entries;
  const scheme = handed(random, draft.party, draft.party.schemes[draft.scheme], hand);
  return scheme.scheme === 'rsa-envelope'
    ? inEnvelope(random, scheme, draft.party.appKey, {
        plaintext: Buffer.from(written(innerOf(random, draft.entries))),
        block: random.oneIn(4) ? 1 + random.below(245) : 245,
      })
    : [...draft.entries, entry('sign', JSON.stringify(signOf(draft.entries, scheme)))];
}

/** JSON of the members, without a blank. */
export function written(entries: readonly Entry[]): string {
  return `{${entries.map(({ name, value }) => `${name}:${value}`).join(',')}}`;
}

export interface Contents {
  readonly plaintext: Uint8Array;
  /** Bytes of the plaintext in a block, at most 245. */
  readonly block: number;
}

type EnvelopeScheme = Extract<Scheme, { scheme: 'rsa-envelope' }>;

export function inEnvelope(
  random: Random,
  { platform, merchant: receiver }: EnvelopeScheme,
  appId: string,
  { plaintext, block }: Contents,
): readonly Entry[] {
  const hash = createHash('md5').update(plaintext).digest('hex');
  const signature = signWith('sha256', Buffer.from(hash), platform.privateKey);
  const blocks: Uint8Array[] = [];
  // As few blocks as a test can pay for: each costs its receiver a private-key operation.
  const size = Math.max(block, Math.ceil(plaintext.length / 4));
  const taken = Math.min(size, 245);
  for (let from = 0; from < plaintext.length; from += taken) {
    blocks.push(encrypted(random, plaintext.subarray(from, from + taken), receiver));
  }
  return [
    entry('app_id', JSON.stringify(appId)),
    entry('time', random.pick(['1790000000000', '"1790000000"', '1790000000'])),
    entry('data', JSON.stringify(Buffer.concat(blocks).toString('base64url'))),
    entry('sign', JSON.stringify(signature.toString('base64url'))),
  ];
}

/** PKCS #1 v1.5 with padding that the seed gives, so that a run can be repeated byte by byte. */
export function encrypted(random: Random, content: Uint8Array, receiver: Pair): Uint8Array {
  const padding = Buffer.from(Array.from({ length: 253 - content.length }, () => 1 + random.below(255)));
  const padded = Buffer.concat([Buffer.from([0, 2]), padding, Buffer.from([0]), content]);
  return publicEncrypt({ key: receiver.publicKey, padding: constants.RSA_NO_PADDING }, padded);
}

/** The text that is signed, of members as they will be written; what is no JSON counts as it stands. */
export function canonical(entries: readonly Entry[], emptyValues: 'keep' | 'skip'): string {
  return entries
    .map(({ name, value }) => [meant(name), meant(value), value] as const)
    .filter(
      ([name, text, json]) => name !== 'sign' && json !== 'null' && !(text === '' && emptyValues === 'skip'),
    )
    .toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map(([name, text]) => name + text)
    .join('');
}

function signOf(entries: readonly Entry[], scheme: Exclude<Scheme, EnvelopeScheme>): string {
  const text = canonical(entries, scheme.emptyValues);
  if (scheme.scheme === 'md5')
    return createHash('md5')
      .update(text + scheme.secret)
      .digest('hex');
  const signed = scheme.signs === 'string' ? text : createHash('md5').update(text).digest('hex');
  return signWith(scheme.digest, Buffer.from(signed), scheme.platform.privateKey).toString('base64url');
}

/** Without appKey, as protocol.md has it; now and then with it. */
function innerOf(random: Random, entries: readonly Entry[]): readonly Entry[] {
  return random.oneIn(20) ? entries : entries.filter(({ name }) => meant(name) !== 'appKey');
}

function handed(random: Random, party: PaymentParty, own: Scheme | undefined, hand: Hand): Scheme {
  const scheme = own ?? party.schemes[0];
  if (scheme === undefined) throw new Error(`${party.name} has no scheme: give it one in parties.ts`);
  if (hand === 'own') return scheme;
  if (hand === 'empty secret') return { scheme: 'md5', secret: '', emptyValues: 'keep' };
  if (hand === 'another scheme') {
    return random.pick<Scheme>([
      { scheme: 'md5', secret: party.appKey, emptyValues: 'keep' },
      { scheme: 'rsa', platform: stranger, digest: 'sha256', signs: 'string', emptyValues: 'keep' },
      { scheme: 'rsa-envelope', platform: stranger, merchant },
      ...party.schemes,
    ]);
  }
  return scheme.scheme === 'md5'
    ? { ...scheme, secret: 'the-secret-of-a-stranger' }
    : { ...scheme, platform: stranger };
}
