import { z } from 'zod';
import { CountersignError, messageOf } from '../errors.ts';
import { type Json, isObject } from '../values/canonical.ts';
import { compileRelease, readPeople } from './compile.ts';
import {
  type EarlierCount,
  type RuleChange,
  type WrittenRule,
  diffRules,
  enforces,
  ruleLoosens,
  writtenRule,
} from './diff-rules.ts';
import { coversAll, directionOfScope } from './diff-scope.ts';
import { type Looser, declaredAt } from './language/looser.ts';
import { PEOPLE_FILE, peopleSentences } from './people.ts';
import type { CompiledPolicy } from './release.ts';
import { ruleNamed } from './rules/registry.ts';
import {
  type Direction,
  type DirectionOf,
  type JsonObject,
  type ValueChange,
  definedIn,
  diffValues,
  directionOfItems,
  mayLoosen,
  noDirection,
} from './value-changes.ts';

/** The differences between two releases, in the terms of policy files. The order of files has no effect. */
export interface ReleaseDiff {
  /** True if nothing differs. */
  readonly same: boolean;
  /**
   * The names of all changes that may approve what was refused before, such as `payments/amount-limit#1`.
   * Every other change is proven not to.
   */
  readonly loosens: readonly string[];
  /** By name. */
  readonly policies: readonly PolicyChange[];
  /** List files, by name. */
  readonly lists: readonly ListChange[];
  /** Assets of `assets.yaml`, by symbol. */
  readonly assets: readonly AssetChange[];
  /** Any other file beside the policies, by name. */
  readonly files: readonly {
    readonly file: string;
    readonly change: Change;
    readonly direction: Direction;
    /** Of people.yaml, what it says no longer, and what it says now: a sentence each. */
    readonly people?: { readonly removed: readonly string[]; readonly added: readonly string[] };
  }[];
}

type Change = 'added' | 'removed' | 'changed';

export type PolicyChange =
  | {
      readonly policy: string;
      readonly change: 'added' | 'removed';
      readonly callback: string;
      readonly rules: readonly WrittenRule[];
      readonly direction: Direction;
    }
  | {
      readonly policy: string;
      readonly change: 'changed';
      /** Its description, its kind of callback, `refusals`. */
      readonly members: readonly ValueChange[];
      /** The callbacks that it applies to, by member. */
      readonly when: readonly ValueChange[];
      readonly rules: readonly RuleChange[];
      /** That it judges other callbacks than before. Its members and rules have directions of their own. */
      readonly direction: Direction;
    };

export interface ListChange {
  readonly file: string;
  readonly change: Change;
  readonly added: Entries;
  readonly removed: Entries;
  readonly direction: Direction;
}

export interface Entries {
  readonly count: number;
  /** At most {@link ENTRIES_SHOWN}. */
  readonly first: readonly string[];
}

export interface AssetChange {
  readonly symbol: string;
  readonly change: Change;
  /** All members of an asset that was added or removed. */
  readonly members: readonly ValueChange[];
  readonly direction: Direction;
}

const ENTRIES_SHOWN = 5;

/**
 * Compares two releases by their canonical documents; undefined means that no release is in force. A document
 * may have rules that this version does not know. Throws STORE_CORRUPT for a text that is not the document of
 * a release.
 */
export function diffReleases(
  oldDocument: string | undefined,
  newDocument: string | undefined,
  earlier: EarlierCounts = new Map(),
): ReleaseDiff {
  const [from, to] = [contentOf(oldDocument), contentOf(newDocument)];
  const sides: Sides = {
    before: from.compiled,
    after: to.compiled,
    newCounts: begun(from.compiled, to.compiled, 'counter'),
    forgetting: begun(from.compiled, to.compiled, 'remembers'),
    earlier,
  };
  const policies = byName(from.policies, to.policies).flatMap(([name, before, after]) =>
    diffPolicy(name, before, after, sides),
  );
  const lists = byName(from.lists, to.lists).flatMap(([file, before, after]) =>
    diffList(file, before, after, [from, to]),
  );
  const assets = byName(from.assets, to.assets).flatMap(([symbol, before, after]) =>
    diffAsset(symbol, before, after),
  );
  const files = byName(from.files, to.files).flatMap(([file, before, after]) =>
    before === after
      ? []
      : [
          {
            file,
            change: changeOf(before, after),
            direction: 'unclear' as const,
            ...(file === PEOPLE_FILE && { people: diffPeople(before, after) }),
          },
        ],
  );
  const same = [policies, lists, assets, files].every(({ length }) => length === 0);
  const loosens = [
    ...policies.flatMap(looseningsOf),
    ...lists.filter(({ direction }) => mayLoosen(direction)).map(({ file }) => `list file ${file}`),
    ...assets.map(({ symbol }) => `asset ${symbol}`),
    ...files.map(({ file }) => `file ${file}`),
  ];
  return { same, loosens, policies, lists, assets, files };
}

function diffPeople(before: string | undefined, after: string | undefined) {
  const [old, now] = [before, after].map((text) => {
    const read = readPeople(text ?? '');
    return read.ok ? peopleSentences(read.people) : [];
  });
  const without = (these: readonly string[] = [], others: readonly string[] = []) =>
    these.filter((each) => !others.includes(each));
  return { removed: without(old, now), added: without(now, old) };
}

/** The counters that the store still has from earlier revisions, by their identity. */
export type EarlierCounts = ReadonlyMap<string, EarlierCount>;

/** Whether a rule begins to count anew. */
export const beginsCounts = ({ policies }: ReleaseDiff): boolean =>
  policies.some((policy) =>
    policy.rules.some((rule) => 'newCount' in rule && rule.newCount?.counts === true),
  );

/** The names of the changes of a policy that may approve what was refused before. */
function looseningsOf(change: PolicyChange): readonly string[] {
  const { policy } = change;
  const members = change.change === 'changed' ? change.members : [];
  const itself = [change, ...members].some(({ direction }) => mayLoosen(direction));
  const rules =
    change.change === 'changed'
      ? change.rules.filter(ruleLoosens).map(({ rule }) => rule)
      : change.rules
          .filter(({ mode, newCount }) => mode === 'enforce' && newCount?.counts === true)
          .map(({ name }) => name);
  return [...(itself ? [`policy ${policy}`] : []), ...rules.map((rule) => `${policy}/${rule}`)];
}

interface Content {
  readonly policies: ReadonlyMap<string, JsonObject>;
  readonly lists: ReadonlyMap<string, readonly string[]>;
  readonly assets: ReadonlyMap<string, JsonObject>;
  readonly files: ReadonlyMap<string, string>;
  /** Undefined if this version can't compile the document. */
  readonly compiled: readonly CompiledPolicy[] | undefined;
}

/** Both releases, as far as this version can compile them. */
interface Sides {
  readonly before: Content['compiled'];
  readonly after: Content['compiled'];
  /** The rules in `after` that begin a new count, such as `payments/window-limit#1`, with their counters. */
  readonly newCounts: ReadonlyMap<string, string>;
  /** The rules in `after` that no longer know the values that were approved before. */
  readonly forgetting: ReadonlyMap<string, string>;
  readonly earlier: EarlierCounts;
}

const json = z.json() as z.ZodType<Json>;
const recordShape = z.record(z.string(), json);
const releaseShape = z.looseObject({
  policies: z.array(recordShape),
  lists: z.record(z.string(), z.array(z.string())),
  assets: z.looseObject({ assets: z.record(z.string(), recordShape) }).optional(),
  files: z.record(z.string(), z.string()).optional(),
});

function contentOf(document: string | undefined): Content {
  if (document === undefined)
    return { policies: new Map(), lists: new Map(), assets: new Map(), files: new Map(), compiled: [] };
  try {
    const { policies, lists, assets, files } = releaseShape.parse(JSON.parse(document));
    return {
      policies: new Map(policies.map((policy) => [textOf(policy['policy']), policy])),
      lists: new Map(Object.entries(lists)),
      assets: new Map(Object.entries(assets?.assets ?? {})),
      files: new Map(Object.entries(files ?? {})),
      compiled: compiledIn(document),
    };
  } catch (thrown) {
    throw new CountersignError(
      'STORE_CORRUPT',
      `a stored release can't be read: ${messageOf(thrown)}; push the policies again`,
      {},
      thrown,
    );
  }
}

function compiledIn(document: string): Content['compiled'] {
  const compiled = compileRelease(document);
  return compiled.ok ? compiled.release.policies : undefined;
}

function diffPolicy(
  policy: string,
  before: JsonObject | undefined,
  after: JsonObject | undefined,
  sides: Sides,
): readonly PolicyChange[] {
  const [rulesBefore, rulesAfter] = [rulesOf(before), rulesOf(after).map(withNewCount(policy, sides))];
  if (before === undefined || after === undefined) {
    const [written, rules] = after === undefined ? [before ?? {}, rulesBefore] : [after, rulesAfter];
    const change = after === undefined ? 'removed' : 'added';
    const direction = enforces(rules) ? directionOfScope(policy, sides.before, sides.after) : undefined;
    return [{ policy, change, callback: textOf(written['callback']), rules, direction }];
  }
  const isEnforced = enforces(rulesBefore) || enforces(rulesAfter);
  const members = diffValues(
    membersOf(before),
    membersOf(after),
    isEnforced ? directionOfMember : noDirection,
  );
  const when = diffValues(mapping(before['when']), mapping(after['when']), noDirection);
  const hasMovements = before['movements'] !== undefined || after['movements'] !== undefined;
  const covers = [sides.before, sides.after].every((policies = []) =>
    policies.some((each) => each.name === policy && coversAll(each)),
  );
  const rules = diffRules(rulesBefore, rulesAfter, { hasMovements, covers });
  if (members.length + when.length + rules.length === 0) return [];
  const judgesOthers =
    when.length > 0 ||
    before['callback'] !== after['callback'] ||
    enforces(rulesBefore) !== enforces(rulesAfter);
  const direction =
    isEnforced && judgesOthers ? directionOfScope(policy, sides.before, sides.after) : undefined;
  return [{ policy, change: 'changed', members, when, rules, direction }];
}

/** The direction of what the policy judges includes its kind of callback. */
const directionOfMember: DirectionOf = ([name]) =>
  name === 'description' || name === 'callback' ? undefined : 'unclear';

/**
 * The rules that have a new counter, or forget what they remembered, with what is new: where that of another rule of
 * their kind is gone, as with a rule before its change, or the policy before its renaming. Several may share one.
 */
function begun(
  before: Content['compiled'] = [],
  after: Content['compiled'] = [],
  kept: 'counter' | 'remembers',
): ReadonlyMap<string, string> {
  const keptIn = (policies: readonly CompiledPolicy[]) =>
    policies.flatMap((policy) =>
      policy.rules.flatMap(({ name, [kept]: identity }) =>
        identity === undefined
          ? []
          : [{ identity, rule: `${policy.name}/${name}`, kind: name.replace(/#.*/, '') }],
      ),
    );
  const [had, has] = [keptIn(before), keptIn(after)];
  const known = new Set(had.map(({ identity }) => identity));
  const still = new Set(has.map(({ identity }) => identity));
  const gone = new Set(had.filter(({ identity }) => !still.has(identity)).map(({ kind }) => kind));
  const fresh = has.filter(({ identity, kind }) => !known.has(identity) && gone.has(kind));
  return new Map(fresh.map(({ rule, identity }) => [rule, identity]));
}

/** A rule that counts in a window has the parameters `max` and `window`. */
function withNewCount(
  policy: string,
  { newCounts, forgetting, earlier }: Sides,
): (rule: WrittenRule) => WrittenRule {
  return (rule) => {
    const name = `${policy}/${rule.name}`;
    const counter = newCounts.get(name);
    const forgets = forgetting.has(name);
    if (counter === undefined && !forgets) return rule;
    const { max, window } = rule.parameters;
    const goesOn = counter === undefined ? undefined : earlier.get(counter);
    return { ...rule, newCount: { max, window, goesOn, counts: counter !== undefined, forgets } };
  };
}

/**
 * The members that are compared by value: all except the name and the members that are compared in another
 * way.
 */
function membersOf(policy: JsonObject): JsonObject {
  const others = Object.entries(policy).filter(([name]) => !['policy', 'when', 'rules'].includes(name));
  return Object.fromEntries(others);
}

function rulesOf(policy: JsonObject | undefined): readonly WrittenRule[] {
  const rules = policy?.['rules'];
  return Array.isArray(rules)
    ? (rules as readonly Json[]).map(writtenRule).filter((rule) => rule !== undefined)
    : [];
}

function diffList(
  file: string,
  before: readonly string[] | undefined,
  after: readonly string[] | undefined,
  contents: readonly Content[],
): readonly ListChange[] {
  const [from, to] = [new Set(before), new Set(after)];
  const added = [...to].filter((text) => !from.has(text));
  const removed = [...from].filter((text) => !to.has(text));
  const change = changeOf(before, after);
  if (change === 'changed' && added.length + removed.length === 0) return [];
  // The rules that begin or cease to use the file have a direction themselves.
  const counts = change === 'changed' ? ([added.length, removed.length] as const) : ([0, 0] as const);
  const directions = new Set(
    contents.flatMap((content) => usesOf(content, file)).map((by) => directionOfItems(by, ...counts)),
  );
  const direction = directions.size > 1 ? 'unclear' : [...directions][0];
  return [{ file, change, added: entriesOf(added), removed: entriesOf(removed), direction }];
}

/** What is declared where rules that decide, and conditions, use a list file. Undefined: nothing is. */
const usesOf = ({ policies }: Content, file: string): readonly (Looser | undefined)[] =>
  [...policies.values()].flatMap((policy) => [
    ...(hasText(policy['when'], file) ? [undefined] : []),
    ...rulesOf(policy)
      .filter(({ mode }) => mode === 'enforce')
      .flatMap(({ kind, parameters }) =>
        Object.entries(parameters)
          .filter(([, value]) => hasText(value, file))
          .map(([name]) => declaredAt(ruleNamed(kind)?.parameters, [name])?.by),
      ),
  ]);

/** Whether the value, or a value in it at any depth, is this text. */
function hasText(value: Json | undefined, text: string): boolean {
  if (typeof value !== 'object' || value === null) return value === text;
  return Object.values(value).some((each: Json | undefined) => hasText(each, text));
}

function diffAsset(
  symbol: string,
  before: JsonObject | undefined,
  after: JsonObject | undefined,
): readonly AssetChange[] {
  const members = diffValues(before ?? {}, after ?? {}, noDirection);
  const change = changeOf(before, after);
  return change === 'changed' && members.length === 0
    ? []
    : [{ symbol, change, members, direction: 'unclear' }];
}

const entriesOf = (values: readonly string[]): Entries => ({
  count: values.length,
  first: values.slice(0, ENTRIES_SHOWN),
});

const changeOf = (before: unknown, after: unknown): Change =>
  before === undefined ? 'added' : after === undefined ? 'removed' : 'changed';

const mapping = (value: Json | undefined): JsonObject => (isObject(value) ? definedIn(value) : {});

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** The values of both sides for every name, sorted by name. */
function byName<T>(
  before: ReadonlyMap<string, T>,
  after: ReadonlyMap<string, T>,
): readonly (readonly [name: string, before: T | undefined, after: T | undefined])[] {
  return [...new Set([...before.keys(), ...after.keys()])]
    .sort()
    .map((name) => [name, before.get(name), after.get(name)] as const);
}
