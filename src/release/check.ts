import { coverageWarnings } from '../policy/coverage-warnings.ts';
import { formatFault } from '../policy/fault.ts';
import { movementWarnings } from '../policy/movement-warnings.ts';
import type { Release } from '../policy/release.ts';
import { spellingWarnings } from '../policy/spelling-warnings.ts';
import { counted } from '../values/text.ts';

/** What is valid, but hardly meant: gaps, overlaps and spellings of addresses, a sentence each. */
export const releaseWarnings = (release: Release): readonly string[] => [
  ...[...release.warnings, ...coverageWarnings(release), ...movementWarnings(release)].map(formatFault),
  ...spellingWarnings(release),
];

/** The numbers of policies and rules. */
export function sizeOf({ policies }: Pick<Release, 'policies'>): { policies: number; rules: number } {
  return {
    policies: policies.length,
    rules: policies.reduce((sum, policy) => sum + policy.rules.length, 0),
  };
}

/** `3 policies, 9 rules`. */
export function sizeText(release: Pick<Release, 'policies'>): string {
  const { policies, rules } = sizeOf(release);
  return `${counted(policies, 'policy', 'policies')}, ${counted(rules, 'rule')}`;
}
