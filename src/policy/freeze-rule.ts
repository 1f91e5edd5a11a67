import { ALWAYS } from './language/conditions.ts';
import { refuse } from './outcome.ts';
import { PEOPLE_FILE, type People, SIGNERS_NEEDED } from './people.ts';
import type { CompiledRule } from './release.ts';
import { needsPeople } from './rules/approval.ts';
import type { Check } from './rules/rule.ts';

/** In the place of a policy. */
export const FREEZE = 'freeze';

const DAY_MS = 86_400_000;
const WITHIN = { text: '24h', ms: DAY_MS };
/** As long as a rule may count it. */
const COUNTS_MS = 30 * DAY_MS;
const GROUP = 'those with the role approve';

/**
 * What each callback needs while only what people approve may pass. It covers no callback. An approval that a
 * rule asked for counts too, until it expires.
 */
export function freezeRule(people: People): CompiledRule {
  const members = membersOf(people, GROUP);
  const check =
    members.length < SIGNERS_NEEDED
      ? refusing(members.length)
      : needsPeople({ group: GROUP, members, quorum: SIGNERS_NEEDED, within: WITHIN, countsMs: COUNTS_MS });
  return { name: 'approval#1', mode: 'enforce', when: ALWAYS, always: true, covers: false, ...check };
}

/** Who is in a group that a request names: one of people.yaml, or all who may approve during a freeze. */
export function membersOf({ people, groups }: People, group: string): readonly string[] {
  if (group !== GROUP) return groups.get(group) ?? [];
  return [...people.values()]
    .filter(
      ({ roles, sshKeys, passkeys }) => roles.includes('approve') && sshKeys.length + passkeys.length > 0,
    )
    .map(({ name }) => name);
}

function refusing(able: number): Check {
  const because =
    `only what people approve passes during the freeze, and ${PEOPLE_FILE} has ${able} of the ` +
    `${SIGNERS_NEEDED} people with the role approve and a key that it takes; push policies with more of them, ` +
    'or lift the freeze';
  return { evaluate: () => ({ ...refuse(because), failed: true }) };
}
