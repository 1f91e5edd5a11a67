import type { Release } from '../policy/release.ts';
import type { Settings } from '../settings/schema.ts';

const DAY_MS = 86_400_000;

/**
 * What is valid, but hardly meant, under these settings: a sentence for each rule without its full stop.
 *
 * A rule that counts for longer than subjects are kept never counts too little: a callback that is repeated
 * after its subject was forgotten counts a second time.
 */
export function policyWarnings(
  { store: { retention } }: Pick<Settings, 'store'>,
  { policies }: Pick<Release, 'policies'>,
): readonly string[] {
  return policies.flatMap((policy) =>
    policy.rules.flatMap(({ name, countsMs = 0 }) => {
      const days = Math.ceil(countsMs / DAY_MS);
      if (days <= retention.subjectsDays) return [];
      return [
        `${policy.name}/${name} counts an approval for up to ${days} days, and store.retention.subjectsDays ` +
          `is ${retention.subjectsDays}, so a callback that is repeated later counts a second time; ` +
          `set it to ${days} or more`,
      ];
    }),
  );
}
