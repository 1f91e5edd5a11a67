import { type Draft, type Entry, entry, meant } from '../draft.ts';
import type { Random } from '../random.ts';
import { sealed } from '../seal.ts';

/*
 * Attacks on a signed text without separators: other members with the same text, and values that contain
 * names of members.
 */

const NAMES = ['appKey', 'appOrderId', 'orderAmount', 'payCoinSymbol', 'time', 'userId'] as const;

type Payment = Draft & { readonly kind: 'payment' };

/** A sign that holds, and members moved into the value before them: the same text, read another way. */
export function swallowed(random: Random, draft: Payment): readonly Entry[] {
  const signed = sealed(random, draft);
  const sign = signed.find(({ name }) => name === '"sign"');
  if (sign === undefined) return signed;
  const sorted = draft.entries.toSorted((a, b) => (meant(a.name) < meant(b.name) ? -1 : 1));
  const at = 1 + random.below(sorted.length - 1);
  const [before, gone] = [sorted[at - 1], sorted[at]];
  if (before === undefined || gone === undefined) return signed;
  const merged = meant(before.value) + meant(gone.name) + meant(gone.value);
  const rest = sorted.filter((_, index) => index !== at - 1 && index !== at);
  return [...rest, { name: before.name, value: JSON.stringify(merged) }, sign];
}

/** A sign that holds, and a value cut where a name begins within it: one member more, and the same text. */
export function divided(random: Random, draft: Payment): readonly Entry[] {
  const holder = random.pick(['appOrderId', 'payCoinSymbol']);
  const later = NAMES.slice(NAMES.indexOf(holder === 'appOrderId' ? 'appOrderId' : 'payCoinSymbol') + 1);
  const name = random.pick(['time', ...later]);
  const value = name === 'time' ? '1522055680' : random.pick(['5', '1', 'X1']);
  const around = draft.entries.map((each) =>
    meant(each.name) === holder ? entry(holder, JSON.stringify(meant(each.value) + name + value)) : each,
  );
  const signed = sealed(random, { ...draft, entries: around });
  if (random.oneIn(2)) return signed;
  const others = signed.filter((each) => meant(each.name) !== name && meant(each.name) !== holder);
  const cut = draft.entries.filter((each) => meant(each.name) === holder);
  return [...others, ...cut, entry(name, JSON.stringify(value))];
}

/** Values made of names, where an overlap shows first; rightly signed. */
export function madeOfNames(random: Random, draft: Payment): readonly Entry[] {
  const pieces: readonly [string, ...string[]] = [
    'orderAmount',
    'payCoinSymbol',
    'time',
    'userId',
    '1',
    '1522055680',
    'X',
    '.',
    '-',
    '1522055680123',
  ];
  const value = (): string => Array.from({ length: 1 + random.below(7) }, () => random.pick(pieces)).join('');
  const entries = draft.entries.map((each) => {
    const name = meant(each.name);
    if (name === 'appOrderId' && !random.oneIn(4)) return entry(name, JSON.stringify(value()));
    if (name === 'payCoinSymbol' && random.oneIn(2)) return entry(name, JSON.stringify(`X${value()}`));
    return each;
  });
  return sealed(random, { ...draft, entries });
}
