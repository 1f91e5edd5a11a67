import { z } from 'zod';
import { KINDS, type Kind } from '../../callback/callback.ts';
import { type Json, isObject } from '../../values/canonical.ts';
import { type Path, type Problem, fixFor, problemsOf, formatInput } from '../fault.ts';
import { ruleNamed, ruleNames } from '../rules/registry.ts';
import type { Rule } from '../rules/rule.ts';

export const MODES = ['enforce', 'observe'] as const;
/** The rules of a policy, those in `any` and `all` included. */
export const RULES_MAX = 100;
/** How deep `any` and `all` may be in one another. */
const GROUP_DEPTH_MAX = 4;

const NAME = 'a name of at most 64 lower-case letters, digits and hyphens, a letter first';
const RULES = `a list of at least one rule and at most ${RULES_MAX}`;

/** The content of `movements`. */
export const movementsShape = z.strictObject(
  {
    approvals: z
      .literal('count', { error: 'count' })
      .describe('`count`: an approval counts as its full amount, for its spender.'),
  },
  { error: 'a mapping like { approvals: count }' },
);

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
      'The callbacks that the policy applies to: conditions, all of which must be met. The default is every ' +
        'callback of the kind.',
    ),
  movements: z
    .unknown()
    .optional()
    .describe(
      'For `callback: web3`: the rules judge all that a transaction moves, and not only its native coins. ' +
        '`approvals: count` counts approvals like transfers. See docs/movements.md.',
    ),
  rules: z
    .array(z.unknown(), { error: RULES })
    .min(1, { error: RULES })
    .max(RULES_MAX, { error: RULES })
    .describe('The rules. All of them must pass.'),
});

/** A policy whose members are valid; its conditions and rules are not compiled yet. */
export interface PolicyDocument {
  readonly name: string;
  readonly callback: Kind;
  readonly when: Json | undefined;
  /** Whether its rules see movements. */
  readonly movements: 'count' | undefined;
  readonly rules: readonly EntryDocument[];
}

/** An entry of `rules`: a rule, or a group of entries. */
export type EntryDocument = RuleDocument | GroupDocument;

interface EntryBase {
  /** Its place: `2`; within groups `2.1`. Counted from 1. */
  readonly place: string;
  /** Where it is written. */
  readonly path: Path;
  readonly mode: (typeof MODES)[number];
  readonly when: Json | undefined;
}

export interface RuleDocument extends EntryBase {
  readonly rule: Rule;
  readonly parameters: Json;
}

export interface GroupDocument extends EntryBase {
  /** `any`: one of the entries must hold; `all`: each of them. */
  readonly group: Group;
  readonly entries: readonly EntryDocument[];
}

export const GROUPS = ['any', 'all'] as const;
export type Group = (typeof GROUPS)[number];

/**
 * Reads one policy from plain values, of a file or of a release. Reports all problems, and still returns the
 * valid parts, so that their problems are found too. Undefined if the kind of callback is unknown.
 */
export function readPolicy(written: Json, problems: Problem[]): PolicyDocument | undefined {
  const parsed = policyShape.safeParse(written);
  if (!parsed.success) problems.push(...problemsOf(parsed.error, written, Object.keys(policyShape.shape)));
  if (!isObject(written)) return undefined;
  const kind = KINDS.find((each) => each === written['callback']);
  const reader: Reader = { kind, problems, rules: 0 };
  const rules = readEntries(written['rules'], { path: ['rules'], places: [] }, reader);
  if (reader.rules > RULES_MAX) {
    const message = `it has ${reader.rules} rules, those in any and all included`;
    const fix = `use at most ${RULES_MAX}, or write several policies`;
    problems.push({ path: ['rules'], of: 'value', message, fix });
  }
  if (kind === undefined) return undefined;
  return {
    name: typeof written['policy'] === 'string' ? written['policy'] : '',
    callback: kind,
    when: written['when'],
    movements: readMovements(written['movements'], kind, problems),
    rules,
  };
}

function readMovements(
  written: Json | undefined,
  kind: Kind,
  problems: Problem[],
): PolicyDocument['movements'] {
  if (written === undefined) return undefined;
  const path = ['movements'];
  if (kind !== 'web3') {
    const message = `the rules judge all that a ${kind} moves anyway`;
    problems.push({ path, of: 'name', message, fix: 'leave movements out' });
  }
  const parsed = movementsShape.safeParse(written);
  if (parsed.success) return parsed.data.approvals;
  problems.push(...problemsOf(parsed.error, written, Object.keys(movementsShape.shape), path));
  return undefined;
}

interface Reader {
  readonly kind: Kind | undefined;
  readonly problems: Problem[];
  /** The rules that were read. */
  rules: number;
}

/** Where a list of entries is written, and the places of the groups that it is in. */
interface Position {
  readonly path: Path;
  readonly places: readonly number[];
}

function readEntries(
  written: Json | undefined,
  { path, places }: Position,
  reader: Reader,
): readonly EntryDocument[] {
  if (!isList(written)) return [];
  return written
    .slice(0, RULES_MAX)
    .map((entry, index) =>
      readEntry(entry, { path: [...path, index], places: [...places, index + 1] }, reader),
    )
    .filter((entry) => entry !== undefined);
}

/** The name of a rule with its parameters, or `any` or `all` with entries; beside it `mode` and `when`. */
function readEntry(entry: Json, position: Position, reader: Reader): EntryDocument | undefined {
  const { path, places } = position;
  const fault = (at: readonly string[], of: Problem['of'], message: string, fix: string): undefined => {
    reader.problems.push({ path: [...path, ...at], of, message, fix });
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
  const { mode = 'enforce', when, ...others } = entry;
  const known = MODES.find((each) => each === mode);
  if (known === undefined) {
    fault(['mode'], 'value', `${formatInput(mode)} is not a mode`, `write observe, or leave it out`);
  } else if (entry['mode'] !== undefined && places.length > 1) {
    fault(
      ['mode'],
      'name',
      'a rule in any or all has no mode of its own',
      'write mode beside the outermost one',
    );
  }
  const names = Object.keys(others);
  const [name] = names;
  const unknownNames = names.filter(
    (each) => ruleNamed(each) === undefined && groupNamed(each) === undefined,
  );
  for (const each of unknownNames) {
    const fix = fixFor(each, [...ruleNames, ...GROUPS, 'mode', 'when']);
    fault([each], 'name', `there is no rule ${formatInput(each)}`, fix);
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
  const base = { place: places.join('.'), path, mode: known ?? 'enforce', when };
  const group = groupNamed(name);
  const parameters = others[name];
  if (group !== undefined) return readGroup(group, parameters, base, position, reader);
  reader.rules += 1;
  const rule = ruleNamed(name);
  if (rule === undefined || parameters === undefined) {
    return fault([name], 'value', 'it has no parameters', 'write them in braces');
  }
  const parsed = rule.parameters.safeParse(parameters);
  if (!parsed.success) {
    const members = Object.keys(rule.parameters.shape);
    reader.problems.push(...problemsOf(parsed.error, parameters, members, [...path, name]));
  }
  if (reader.kind !== undefined && !rule.callbacks.includes(reader.kind)) {
    const fix = `it is for ${rule.callbacks.join(', ')}; leave it out`;
    return fault([name], 'name', `${rule.name} can't judge a ${reader.kind} callback`, fix);
  }
  return parsed.success && known !== undefined ? { ...base, rule, parameters } : undefined;
}

function readGroup(
  group: Group,
  written: Json | undefined,
  base: EntryBase,
  { path, places }: Position,
  reader: Reader,
): GroupDocument | undefined {
  const fault = (message: string, fix: string): undefined => {
    reader.problems.push({ path: [...path, group], of: 'value', message, fix });
    return undefined;
  };
  if (!isList(written) || written.length === 0) {
    return fault(`${group} has no rules`, 'write a list of rules, with a hyphen before each');
  }
  if (places.length > GROUP_DEPTH_MAX) {
    return fault(`there are more than ${GROUP_DEPTH_MAX} any and all in one another`, 'use fewer');
  }
  if (written.length > RULES_MAX) {
    return fault(`${group} has ${written.length} rules`, `use at most ${RULES_MAX}`);
  }
  const entries = readEntries(written, { path: [...path, group], places }, reader);
  // A missing alternative would only make approvals rarer, but a missing rule of `all` would not.
  return entries.length === written.length ? { ...base, group, entries } : undefined;
}

const groupNamed = (name: string): Group | undefined => GROUPS.find((each) => each === name);

function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}
