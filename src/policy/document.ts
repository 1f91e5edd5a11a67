import { z } from 'zod';
import { KINDS, type Kind } from '../callback/callback.ts';
import { type Json, isObject } from '../values/canonical.ts';
import { type Problem, fixFor, problemsOf, formatInput } from './fault.ts';
import { ruleNamed, ruleNames } from './rules/registry.ts';
import type { Rule } from './rules/rule.ts';
import { type When, compileWhen } from './when.ts';

export const MODES = ['enforce', 'observe'] as const;
export const RULES_MAX = 100;

const NAME = 'a name of at most 64 lower-case letters, digits and hyphens, a letter first';
const RULES = `a list of at least one rule and at most ${RULES_MAX}`;

/** The members of a policy. The content of `when` and of the rules depends on the kind and the rule. */
export const policyShape = z.strictObject({
  policy: z
    .string({ error: NAME })
    .regex(/^[a-z][a-z0-9-]{0,63}$/, { error: NAME })
    .describe('The name of the policy, unique among all files.'),
  description: z
    .string({ error: 'a text' })
    .max(2000, { error: 'at most 2000 characters' })
    .optional()
    .describe('The purpose of the policy.'),
  callback: z
    .enum(KINDS, { error: `one of ${KINDS.join(', ')}` })
    .describe('The kind of callback that the policy judges.'),
  when: z
    .unknown()
    .optional()
    .describe(
      'The callbacks that the policy applies to: by member, a value or a list of values. The ' +
        'default is every callback of the kind.',
    ),
  refusals: z
    .literal('final', { error: 'final, or leave it out' })
    .optional()
    .describe('`final`: a refusal by this policy is never decided again.'),
  rules: z
    .array(z.unknown(), { error: RULES })
    .min(1, { error: RULES })
    .max(RULES_MAX, { error: RULES })
    .describe('The rules. All of them must pass.'),
});

/** A policy whose members are valid; its rules are not compiled yet. */
export interface PolicyDocument {
  readonly name: string;
  readonly callback: Kind;
  readonly when: When;
  readonly final: boolean;
  readonly rules: readonly RuleDocument[];
}

export interface RuleDocument {
  readonly rule: Rule;
  readonly mode: (typeof MODES)[number];
  readonly parameters: Json;
  /** Its index in the policy. */
  readonly index: number;
}

/**
 * Reads one policy from plain values, of a file or of a release. Reports all problems, and still returns the
 * valid parts, so that their problems are found too. Undefined if the kind of callback is unknown.
 */
export function readPolicy(written: Json, problems: Problem[]): PolicyDocument | undefined {
  const parsed = policyShape.safeParse(written);
  if (!parsed.success) problems.push(...problemsOf(parsed.error, written, Object.keys(policyShape.shape)));
  if (!isObject(written)) return undefined;
  const rules = isList(written['rules']) ? written['rules'].slice(0, RULES_MAX) : [];
  const read = rules
    .map((rule, index) => readRule(rule, index, problems))
    .filter((rule) => rule !== undefined);
  const kind = KINDS.find((each) => each === written['callback']);
  if (kind === undefined) return undefined;
  return {
    name: typeof written['policy'] === 'string' ? written['policy'] : '',
    callback: kind,
    when: compileWhen(written['when'], kind, problems),
    final: written['refusals'] === 'final',
    rules: read.filter((rule) => supportsKind(rule, kind, problems)),
  };
}

/** An entry of `rules`: the name of the rule with its parameters, and optionally `mode`. */
function readRule(entry: Json, index: number, problems: Problem[]): RuleDocument | undefined {
  const fault = (path: readonly string[], of: Problem['of'], message: string, fix: string): undefined => {
    problems.push({ path: ['rules', index, ...path], of, message, fix });
    return undefined;
  };
  if (!isObject(entry)) {
    return fault(
      [],
      'value',
      `${formatInput(entry)} is not a rule`,
      'write its name and parameters, like amount-limit: { max: 100 }',
    );
  }
  const { mode = 'enforce', ...others } = entry;
  const known = MODES.find((each) => each === mode);
  if (known === undefined) {
    fault(['mode'], 'value', `${formatInput(mode)} is not a mode`, `write observe, or leave it out`);
  }
  const names = Object.keys(others);
  const [name] = names;
  const unknownNames = names.filter((each) => ruleNamed(each) === undefined);
  for (const each of unknownNames) {
    fault([each], 'name', `there is no rule ${formatInput(each)}`, fixFor(each, [...ruleNames, 'mode']));
  }
  if (unknownNames.length > 0) return undefined;
  if (name === undefined || names.length > 1) {
    return fault(
      [],
      'value',
      name === undefined ? 'it names no rule' : `it names ${names.length} rules`,
      'write one rule in each entry of the list, with a hyphen before it',
    );
  }
  const rule = ruleNamed(name);
  const parameters = others[name];
  if (rule === undefined || parameters === undefined) {
    return fault([name], 'value', 'it has no parameters', 'write them in braces');
  }
  const parsed = rule.parameters.safeParse(parameters);
  if (!parsed.success) {
    const found = problemsOf(parsed.error, parameters, Object.keys(rule.parameters.shape), [
      'rules',
      index,
      name,
    ]);
    problems.push(...found);
  }
  return parsed.success && known !== undefined ? { rule, mode: known, parameters, index } : undefined;
}

function supportsKind({ rule, index }: RuleDocument, kind: Kind, problems: Problem[]): boolean {
  if (rule.callbacks.includes(kind)) return true;
  problems.push({
    path: ['rules', index, rule.name],
    of: 'name',
    message: `${rule.name} can't judge a ${kind} callback`,
    fix: `it is for ${rule.callbacks.join(', ')}; leave it out`,
  });
  return false;
}

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
