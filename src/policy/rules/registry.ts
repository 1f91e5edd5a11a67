import { allowList } from './allow-list.ts';
import { amountLimit } from './amount-limit.ts';
import { denyList } from './deny-list.ts';
import { memberEquals } from './member-equals.ts';
import type { Rule } from './rule.ts';
import { velocityLimit } from './velocity-limit.ts';
import { windowLimit } from './window-limit.ts';

/** Every rule there is, in the order of the reference. A rule is a file and a row here. */
export const rules: readonly Rule[] = [
  amountLimit,
  windowLimit,
  velocityLimit,
  allowList,
  denyList,
  memberEquals,
];

export const ruleNames: readonly string[] = rules.map((rule) => rule.name);

const byName: ReadonlyMap<string, Rule> = new Map(rules.map((rule) => [rule.name, rule]));

export function ruleNamed(name: string): Rule | undefined {
  return byName.get(name);
}
