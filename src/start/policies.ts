import { SOURCE } from '../policy/members.ts';
import type { CompiledPolicy, Release } from '../policy/release.ts';
import { type UnmatchedValues, unmatchedValues } from '../release/lists.ts';
import type { Settings } from '../settings/schema.ts';
import type { Store } from '../store/store.ts';
import { kindsOf } from './sources.ts';

const DAY_MS = 86_400_000;

/**
 * What is valid, but hardly meant, or refuses everything, under these settings: a sentence for each rule
 * without its full stop.
 */
export function policyWarnings(
  { store, sources }: Pick<Settings, 'store' | 'sources'>,
  { policies }: Pick<Release, 'policies'>,
): readonly string[] {
  return policies.flatMap((policy) => [
    ...countsTooLong(policy, store.retention.subjectsDays),
    ...lackGroups(policy, sources),
  ]);
}

/**
 * A rule that counts for longer than subjects are kept never counts too little: a callback that is repeated
 * after its subject was forgotten counts a second time.
 */
function countsTooLong({ name: policy, rules }: CompiledPolicy, subjectsDays: number): readonly string[] {
  return rules.flatMap(({ name, countsMs = 0 }) => {
    const days = Math.ceil(countsMs / DAY_MS);
    if (days <= subjectsDays) return [];
    return [
      `${policy}/${name} counts an approval for up to ${days} days, and store.retention.subjectsDays ` +
        `is ${subjectsDays}, so a callback that is repeated later counts a second time; ` +
        `set it to ${days} or more`,
    ];
  });
}

/** A rule that counts across a group refuses sources that have none. */
function lackGroups(
  { name: policy, callback, when, rules }: CompiledPolicy,
  sources: Settings['sources'],
): readonly string[] {
  const without = sources
    .filter((source) => source.group === undefined && kindsOf(source).includes(callback))
    .map(({ name }) => name)
    .filter((name) => when.texts.get(SOURCE)?.has(name) ?? true);
  if (without.length === 0) return [];
  return rules
    .filter(({ acrossGroup }) => acrossGroup)
    .map(
      ({ name }) =>
        `${policy}/${name} counts across the sources of a group, so it refuses ${without.join(', ')}, which ` +
        'has no group in the settings; add `group` to the source',
    );
}

/** The values of lists in the store that nothing can match under a release, in force or not. */
export const unmatchedInStore = (
  { sources }: Pick<Settings, 'sources'>,
  store: Pick<Store, 'lists' | 'listEntries'>,
  release: Pick<Release, 'policies'>,
): Promise<readonly UnmatchedValues[]> =>
  unmatchedValues(
    store,
    release,
    sources.map((source) => ({ name: source.name, kinds: kindsOf(source) })),
  );
