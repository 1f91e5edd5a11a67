import { createHash } from 'node:crypto';
import { type Draft, type Entry, entry, meant } from '../draft.ts';
import { merchant, payments } from '../parties.ts';
import { type Random, anyOf, hex } from '../random.ts';
import { canonical, encrypted, inEnvelope, sealed, written } from '../seal.ts';
import { byteMutations } from './bytes.ts';
import type { Past } from './members.ts';

/*
 * Mutations of signatures and envelopes, and of what they cover.
 */

type SealMutation = (
  random: Random,
  draft: Draft & { readonly kind: 'payment' },
  past: Past,
) => readonly Entry[];

const changed = (entries: readonly Entry[], wanted: string, value: string): readonly Entry[] =>
  entries.map((each) => (meant(each.name) === wanted ? entry(wanted, value) : each));

const valueIn = (entries: readonly Entry[], wanted: string): string =>
  meant(entries.find(({ name }) => meant(name) === wanted)?.value ?? '""');

const BASE64_OF_NOTHING: readonly [string, ...string[]] = [
  '',
  '=',
  'A',
  'AA==',
  '====',
  'A'.repeat(342),
  'A'.repeat(344),
  '0'.repeat(32),
  'f'.repeat(33),
];

/** The same bytes otherwise written, or nearly the same. */
function otherwise(random: Random, base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  return random.pick([
    base64.toUpperCase(),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    `${bytes.toString('base64url')}==`,
    `${bytes.toString('base64url')}=`,
    bytes.toString('base64').replaceAll('=', ''),
    bytes.toString('base64').replace('/', '_'),
    ` ${base64}`,
    `${base64}\n`,
    `${base64}\0`,
    base64.replace(/(.{64})/, '$1\r\n'),
    base64.slice(0, -1),
    `${base64}A`,
    base64.slice(0, -1) + (base64.endsWith('A') ? 'B' : 'A'),
    Buffer.alloc(bytes.length).toString('base64url'),
    Buffer.alloc(bytes.length, 0xff).toString('base64url'),
    bytes.toString('hex'),
    bytes.subarray(1).toString('base64url'),
    Buffer.concat([Buffer.from([0]), bytes]).toString('base64url'),
    ...BASE64_OF_NOTHING,
  ]);
}

/** Payments whose sign or envelope is not what it should be. */
export const sealMutations: Readonly<Record<string, SealMutation>> = {
  'signed by a stranger': (random, draft) => sealed(random, draft, 'stranger'),
  'signed by another scheme': (random, draft) => sealed(random, draft, 'another scheme'),
  'signed without a secret': (random, draft) => sealed(random, draft, 'empty secret'),
  'not signed': (random, draft) => sealed(random, draft, 'nobody'),
  'a sign otherwise written': (random, draft) => {
    const entries = sealed(random, draft);
    return changed(entries, 'sign', JSON.stringify(otherwise(random, valueIn(entries, 'sign'))));
  },
  'a sign that is no text': (random, draft) => {
    const entries = sealed(random, draft);
    const sign = JSON.stringify(valueIn(entries, 'sign'));
    return changed(
      entries,
      'sign',
      random.pick([`[${sign}]`, `{"sign":${sign}}`, 'null', '1', 'true', hex(random, 32)]),
    );
  },
  'the sign of another callback': (random, draft, { entries: past }) => {
    const other = anyOf(random, past)?.find(({ name }) => name === '"sign"')?.value;
    return changed(sealed(random, draft), 'sign', other ?? '""');
  },
  'the appKey of another source': (random, draft) => {
    const appKey = JSON.stringify(random.pick(['', 'fuzz-shop ', ...payments.map((party) => party.appKey)]));
    return changed(changed(sealed(random, draft), 'appKey', appKey), 'app_id', appKey);
  },
  'an MD5 of the text alone': (_random, draft) => [
    ...draft.entries,
    entry('sign', JSON.stringify(createHash('md5').update(canonical(draft.entries, 'keep')).digest('hex'))),
  ],
  'members of an envelope beside a sign': (random, draft) => [
    ...sealed(random, draft),
    entry(random.pick(['app_id', 'data', 'time']), random.pick(['"x"', 'null', '""', '"1790000000"'])),
  ],
};

/** Fields of an envelope exchanged for those of another one, or otherwise written. */
export const envelopeMutations: Readonly<Record<string, SealMutation>> = {
  'envelope: fields of another': (random, draft, { entries: past }) => {
    const own = sealed(random, draft);
    const other =
      anyOf(
        random,
        past.filter((each) => each.some(({ name }) => name === '"data"')),
      ) ?? [];
    return own.map((each) =>
      random.oneIn(3) ? (other.find(({ name }) => name === each.name) ?? each) : each,
    );
  },
  'envelope: data otherwise written': (random, draft) => {
    const own = sealed(random, draft);
    return changed(own, 'data', JSON.stringify(otherwise(random, valueIn(own, 'data'))));
  },
  'envelope: blocks moved': (random, draft) => {
    const own = sealed(random, draft);
    const data = Buffer.from(valueIn(own, 'data'), 'base64');
    const first = data.subarray(0, 256);
    const empty = encrypted(random, new Uint8Array(), merchant);
    const moved = random.pick([
      [data, data],
      [data.subarray(256), first],
      [first],
      [data, empty],
      [empty, data],
      [data, Buffer.alloc(256)],
      [data, Buffer.alloc(256, 0xff)],
      [data, encrypted(random, Buffer.from(' '), merchant)],
      [data.subarray(0, -1)],
      Array.from({ length: random.oneIn(20) ? 180 : 8 }, () => first),
    ]);
    return changed(own, 'data', JSON.stringify(Buffer.concat(moved).toString('base64url')));
  },
  'envelope: fields in odd forms': (random, draft) => {
    const wanted = random.pick(['time', 'time', 'app_id', 'data', 'sign']);
    const value = random.pick(['null', '[1e400]', '{}', '""', '"x"', '-1', 'true', '1.5', '[[[1]]]']);
    return changed(sealed(random, draft), wanted, value);
  },
  'envelope: without its time': (random, draft) =>
    sealed(random, draft).filter(({ name }) => name !== '"time"'),
  'envelope: something beside it': (random, draft) => [
    ...sealed(random, draft),
    entry(
      random.pick(['x', 'appKey', 'orderAmount', 'userId', '__proto__']),
      random.pick(['"1"', 'null', '{}']),
    ),
  ],
};

/** Odd bytes in an envelope that is rightly sealed, so that they come through authentication. */
export function oddPlaintext(
  random: Random,
  draft: Draft & { readonly kind: 'payment' },
  past: Past,
): { readonly label: string; readonly entries: readonly Entry[] } {
  const scheme = draft.party.schemes[draft.scheme];
  if (scheme?.scheme !== 'rsa-envelope') return { label: 'none', entries: sealed(random, draft) };
  const inner = Buffer.from(written(draft.entries.filter(({ name }) => name !== '"appKey"')));
  const [label, mutate] = anyOf(random, Object.entries(byteMutations)) ?? ['none', () => inner];
  const mutated = mutate(random, inner, past);
  // What has no more than four blocks is dear enough.
  const plaintext = mutated.length > 0 && mutated.length <= 980 ? mutated : inner;
  return {
    label: `sealed: ${label}`,
    entries: inEnvelope(random, scheme, draft.party.appKey, { plaintext, block: 245 }),
  };
}
