import type { Draft, Entry } from './draft.ts';
import { divided, madeOfNames, swallowed } from './mutations/ambiguity.ts';
import { byteMutations } from './mutations/bytes.ts';
import { type Past, memberMutations } from './mutations/members.ts';
import { envelopeMutations, oddPlaintext, sealMutations } from './mutations/signs.ts';
import { worstOf } from './mutations/worst.ts';
import { type Random, anyOf } from './random.ts';
import { sealed, written } from './seal.ts';

/*
 * Which mutations are applied to a draft, and how often.
 */

export interface Made {
  readonly labels: readonly string[];
  readonly entries: readonly Entry[];
}

/** The members as they are written, whatever was done to them. */
export function spoilt(random: Random, draft: Draft, past: Past): Made {
  const drawn = random.below(100);
  if (drawn < 22) return { labels: ['none'], entries: sealed(random, draft) };
  // An envelope is dear, and has more to be spoilt than its members.
  if (draft.kind === 'payment' && isEnvelope(draft) && drawn < 70) return spoiltSeal(random, draft, past);
  if (drawn < 68) {
    const { labels, entries } = ofMembers(random, draft.entries, past);
    return { labels, entries: sealed(random, { ...draft, entries }) };
  }
  if (draft.kind === 'payment') return spoiltPayment(random, draft, past, drawn);
  if (drawn < 96) return ofMembers(random, draft.entries, past);
  const { label, entries } = worstOf(random, draft);
  return { labels: [`worst: ${label}`], entries };
}

/** What only something signed can be spoilt by. */
function spoiltPayment(
  random: Random,
  draft: Draft & { readonly kind: 'payment' },
  past: Past,
  drawn: number,
): Made {
  if (drawn < 78) {
    const { labels, entries } = ofMembers(random, sealed(random, draft), past);
    return { labels: labels.map((label) => `signed before: ${label}`), entries };
  }
  if (drawn < 88) return spoiltSeal(random, draft, past);
  if (drawn < 96) {
    const [label, mutate] = random.pick<readonly [string, typeof swallowed]>([
      ['a member swallowed', swallowed],
      ['a member divided', divided],
      ['values made of names', madeOfNames],
    ]);
    return { labels: [label], entries: mutate(random, draft) };
  }
  const { label, entries } = worstOf(random, draft);
  const signs = random.oneIn(2);
  return {
    labels: [`worst: ${label}`],
    entries: signs && written(entries).length < 65_000 ? sealedCheaply(random, draft, entries) : entries,
  };
}

function isEnvelope({ party, scheme }: Draft & { readonly kind: 'payment' }): boolean {
  return party.schemes[scheme]?.scheme === 'rsa-envelope';
}

function spoiltSeal(random: Random, draft: Draft & { readonly kind: 'payment' }, past: Past): Made {
  if (isEnvelope(draft) && random.oneIn(3)) {
    const { label, entries } = oddPlaintext(random, draft, past);
    return { labels: [label], entries };
  }
  const table = isEnvelope(draft) && !random.oneIn(4) ? envelopeMutations : sealMutations;
  const [label, mutate] = anyOf(random, Object.entries(table)) ?? ['none', () => draft.entries];
  return { labels: [label], entries: mutate(random, draft, past) };
}

/** Long texts are signed flat: as an envelope they would be hundreds of blocks. */
function sealedCheaply(
  random: Random,
  draft: Draft & { readonly kind: 'payment' },
  entries: readonly Entry[],
): readonly Entry[] {
  const isLong = written(entries).length > 1000;
  return isEnvelope(draft) && isLong ? entries : sealed(random, { ...draft, entries });
}

function ofMembers(random: Random, members: readonly Entry[], past: Past): Made {
  const labels: string[] = [];
  let entries = members;
  do {
    const [label, mutate] = anyOf(random, Object.entries(memberMutations)) ?? ['none', () => entries];
    labels.push(label);
    entries = mutate(random, entries, past);
  } while (random.oneIn(4));
  return { labels, entries };
}

export function ofBytes(
  random: Random,
  body: Buffer,
  past: Past,
): { readonly labels: readonly string[]; readonly body: Buffer } {
  const labels: string[] = [];
  let bytes = body;
  do {
    const [label, mutate] = anyOf(random, Object.entries(byteMutations)) ?? ['none', () => bytes];
    labels.push(`bytes: ${label}`);
    bytes = bytes.length === 0 ? bytes : mutate(random, bytes, past);
  } while (random.oneIn(4));
  return { labels, body: bytes };
}
