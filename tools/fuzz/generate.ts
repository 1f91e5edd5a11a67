import { arrived } from './arrive.ts';
import { type Draft, type Entry, draftOf, entry } from './draft.ts';
import type { Past } from './mutations/members.ts';
import { type Random, anyOf, hex } from './random.ts';
import type { Sent } from './reference/reading.ts';
import { written } from './seal.ts';
import { ofBytes, spoilt } from './spoil.ts';

/*
 * One callback after the other: something in order, spoilt in none, one or a few ways, before or after it is
 * signed.
 */

export interface Shot {
  /** The mutations that made it, for the counts. */
  readonly labels: readonly string[];
  readonly sent: Sent;
  /** What a co-signer sends beside its body, and where to. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Generator {
  readonly next: () => Shot;
}

/** What is remembered of callbacks that went before. */
const PAST = 256;

/** `prefix` begins the ids of its subjects, so that two generators have none in common. */
export function createGenerator(random: Random, prefix: string): Generator {
  const drafts: Draft[] = [];
  const entries: (readonly Entry[])[] = [];
  const bodies: Uint8Array[] = [];
  const past: Past = { entries, bodies };
  const keep = <T>(list: T[], value: T): void => {
    if (list.length < PAST) list.push(value);
    else list[random.below(PAST)] = value;
  };
  let count = 0;

  return {
    next() {
      count += 1;
      const before = random.oneIn(8) ? anyOf(random, drafts) : undefined;
      const labels: string[] = before === undefined ? [] : ['a subject again'];
      const draft = before === undefined ? draftOf(random, `${prefix}f${count}`) : followedUp(random, before);
      if (before === undefined) keep(drafts, draft);
      const made = spoilt(random, draft, past);
      const spelt = Buffer.from(written(made.entries));
      const bytes = random.oneIn(4) ? ofBytes(random, spelt, past) : { labels: [], body: spelt };
      keep(entries, made.entries);
      if (bytes.body.length < 4096) keep(bodies, bytes.body);
      return arrived(random, draft, {
        labels: [...labels, ...made.labels, ...bytes.labels],
        body: bytes.body,
      });
    },
  };
}

/** The same subject once more: as it was, sped up, or told to be signed. */
function followedUp(random: Random, draft: Draft): Draft {
  if (draft.kind === 'payment' || draft.kind === 'self-check' || random.oneIn(3)) return draft;
  const others = draft.entries.filter(({ name }) => name !== '"type"' && name !== '"pending_round"');
  const type = random.pick(['"sign_success"', '"sign_success"', '"sign_start"', '"sign_prepare"']);
  const again = [
    entry('type', type),
    entry('pending_round', random.oneIn(2) ? 'true' : 'false'),
    ...others.filter(({ name }) => name !== '"txid"' || type !== '"sign_success"'),
    ...(type === '"sign_success"' ? [entry('txid', `"0x${hex(random, 64)}"`)] : []),
  ];
  return { ...draft, entries: again };
}
