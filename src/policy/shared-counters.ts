import { type PolicyFault, faultOfFile } from './fault.ts';
import { excludes } from './language/conditions.ts';
import type { CompiledPolicy, CompiledRule } from './release.ts';
import type { SharedCounter } from './rules/rule.ts';

/** A rule that names its counter. */
interface Sharer {
  readonly policy: CompiledPolicy;
  readonly rule: CompiledRule;
  readonly shared: SharedCounter;
}

/**
 * Reports rules that name one counter but would count differently: nothing of the one would count in the other.
 * Also reports rules of different policies that would both count one callback.
 */
export function sharedCounterFaults(policies: readonly CompiledPolicy[]): readonly PolicyFault[] {
  const sharers = policies.flatMap((policy) =>
    policy.rules.flatMap((rule): readonly Sharer[] =>
      rule.sharedCounter === undefined ? [] : [{ policy, rule, shared: rule.sharedCounter }],
    ),
  );
  const byName = Map.groupBy(sharers, ({ shared }) => shared.name);
  return [...byName.values()].flatMap((all) =>
    all.flatMap((sharer, at) => {
      return faultAmong(sharer, all.slice(0, at)) ?? [];
    }),
  );
}

function faultAmong(sharer: Sharer, others: readonly Sharer[]): PolicyFault | undefined {
  const { policy, rule, shared } = sharer;
  for (const other of others) {
    for (const [name, { text, identity }] of Object.entries(shared.agreement)) {
      const theirs = other.shared.agreement[name];
      if (theirs === undefined || theirs.identity === identity) continue;
      const message = `the counter ${shared.name} has ${name} ${text} here, and ${theirs.text} in ${nameOf(other)}`;
      return faultOf(rule, policy, message, `write the same ${name} in both, or name another counter`);
    }
    // Two rules of one policy are compared where they are compiled: alternatives may share a count.
    const areApart = policy.callback !== other.policy.callback || excludes(policy.when, other.policy.when);
    if (policy === other.policy || areApart) continue;
    const message = `a callback could count twice under the counter ${shared.name}, here and in ${nameOf(other)}`;
    const fix = 'name different sources or symbols under when of the two policies, or name another counter';
    return faultOf(rule, policy, message, fix);
  }
  return undefined;
}

function nameOf({ policy, rule: { name, place } }: Sharer): string {
  const at = place === undefined ? '' : ` (${place.file}:${place.line})`;
  return `${policy.name}/${name}${at}`;
}

function faultOf(rule: CompiledRule, policy: CompiledPolicy, message: string, fix: string): PolicyFault {
  const fault = faultOfFile(`release, policy ${policy.name}`, `${rule.name}: ${message}`, fix);
  return rule.place === undefined ? fault : { ...fault, ...rule.place, message };
}
