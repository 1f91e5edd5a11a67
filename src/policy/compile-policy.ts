import { messageOf } from '../errors.ts';
import type { PolicyDocument, RuleDocument } from './document.ts';
import type { Problem } from './fault.ts';
import type { CompiledPolicy, CompiledRule } from './release.ts';
import type { Check, RuleContext } from './rules/rule.ts';

/** What the files beside the policies hold. */
export type RuleFiles = Pick<RuleContext, 'again' | 'listFile' | 'writtenList' | 'textFile' | 'assets'>;

/** A policy's rules, ready to judge. Their faults go to `problems`; a rule that has one is left out. */
export function compilePolicy(
  document: PolicyDocument,
  files: RuleFiles,
  problems: Problem[],
): CompiledPolicy {
  const counters = new Map<string, number>();
  const rules: CompiledRule[] = [];
  for (const rule of document.rules) {
    const check = compileRule(rule, document, files, problems);
    if (check === undefined) continue;
    const twin = check.counter === undefined ? undefined : counters.get(check.counter);
    if (twin !== undefined) {
      problems.push({
        path: ['rules', rule.index, rule.rule.name],
        of: 'name',
        message: `it would count under the same counter as rule ${twin + 1} of this policy`,
        cure: 'keep one of the two, or move one that observes to a policy of its own',
      });
    }
    if (check.counter !== undefined) counters.set(check.counter, rule.index);
    rules.push({
      name: `${rule.rule.name}#${rule.index + 1}`,
      mode: rule.mode,
      questions: check.questions ?? [],
      evaluate: check.evaluate,
    });
  }
  const { name, callback, when, final } = document;
  return { name, callback, when, final, rules };
}

function compileRule(
  { rule, index, parameters }: RuleDocument,
  document: PolicyDocument,
  files: RuleFiles,
  problems: Problem[],
): Check | undefined {
  const fault: RuleContext['fault'] = (path, message, cure) => {
    problems.push({ path: ['rules', index, rule.name, ...path], of: 'value', message, cure });
    return undefined;
  };
  const { name: policy, callback, when } = document;
  const known = problems.length;
  try {
    const check = rule.compile(parameters, { ...files, policy, callback, when, fault });
    // A policy without one of its rules would let through what that rule is there to refuse.
    if (check !== undefined || problems.length > known) return check;
    return fault([], 'the rule can’t be compiled, and does not say why', 'write it otherwise');
  } catch (thrown) {
    return fault([], `the rule can't be compiled: ${messageOf(thrown)}`, 'write it otherwise');
  }
}
