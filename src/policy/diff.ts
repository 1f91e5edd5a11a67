import { z } from 'zod';
import { CountersignError, messageOf } from '../errors.ts';
import { type Json, isObject } from '../values/canonical.ts';
import {
  type Direction,
  type Named,
  type RuleChange,
  type ValueChange,
  type WrittenRule,
  definedIn,
  diffRules,
  diffValues,
  directionOfValues,
  writtenRule,
} from './diff-rules.ts';

/** The differences between two releases, in the terms of policy files. The order of files has no effect. */
export interface ReleaseDiff {
  /** True if nothing differs. */
  readonly same: boolean;
  /** By name. */
  readonly policies: readonly PolicyChange[];
  /** List files, by name. */
  readonly lists: readonly ListChange[];
  /** Assets of `assets.yaml`, by symbol. */
  readonly assets: readonly AssetChange[];
  /** Any other file beside the policies, by name. */
  readonly files: readonly { readonly file: string; readonly change: Change }[];
}

type Change = 'added' | 'removed' | 'changed';

export type PolicyChange =
  | {
      readonly policy: string;
      readonly change: 'added' | 'removed';
      readonly callback: string;
      readonly rules: readonly WrittenRule[];
    }
  | {
      readonly policy: string;
      readonly change: 'changed';
      /** Its description, its kind of callback, `refusals`. */
      readonly members: readonly ValueChange[];
      /** The callbacks that it applies to, by member. */
      readonly when: readonly ValueChange[];
      readonly rules: readonly RuleChange[];
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
}

const ENTRIES_SHOWN = 5;

/**
 * Compares two releases by their canonical documents; undefined means that no release is in force. A document
 * may have rules that this version does not know. Throws STORE_CORRUPT for a text that is not the document of
 * a release.
 */
export function diffReleases(before: string | undefined, after: string | undefined): ReleaseDiff {
  const [from, to] = [contentOf(before), contentOf(after)];
  const policies = byName(from.policies, to.policies).flatMap(([name, was, is]) => diffPolicy(name, was, is));
  const lists = byName(from.lists, to.lists).flatMap(([file, was, is]) =>
    diffList(file, was, is, [from, to]),
  );
  const assets = byName(from.assets, to.assets).flatMap(([symbol, was, is]) => diffAsset(symbol, was, is));
  const files = byName(from.files, to.files).flatMap(([file, was, is]) =>
    was === is ? [] : [{ file, change: changeOf(was, is) }],
  );
  const same = [policies, lists, assets, files].every(({ length }) => length === 0);
  return { same, policies, lists, assets, files };
}

interface Content {
  readonly policies: ReadonlyMap<string, Named>;
  readonly lists: ReadonlyMap<string, readonly string[]>;
  readonly assets: ReadonlyMap<string, Named>;
  readonly files: ReadonlyMap<string, string>;
}

const json = z.json() as z.ZodType<Json>;
const named = z.record(z.string(), json);
const shape = z.looseObject({
  policies: z.array(named),
  lists: z.record(z.string(), z.array(z.string())),
  assets: z.looseObject({ assets: z.record(z.string(), named) }).optional(),
  files: z.record(z.string(), z.string()).optional(),
});

function contentOf(document: string | undefined): Content {
  if (document === undefined)
    return { policies: new Map(), lists: new Map(), assets: new Map(), files: new Map() };
  try {
    const { policies, lists, assets, files } = shape.parse(JSON.parse(document));
    return {
      policies: new Map(policies.map((policy) => [textOf(policy['policy']), policy])),
      lists: new Map(Object.entries(lists)),
      assets: new Map(Object.entries(assets?.assets ?? {})),
      files: new Map(Object.entries(files ?? {})),
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

function diffPolicy(policy: string, was: Named | undefined, is: Named | undefined): readonly PolicyChange[] {
  if (was === undefined || is === undefined) {
    const written = is ?? was ?? {};
    const change = is === undefined ? 'removed' : 'added';
    return [{ policy, change, callback: textOf(written['callback']), rules: rulesOf(written) }];
  }
  const members = diffValues(membersOf(was), membersOf(is), '');
  const when = diffValues(mapping(was['when']), mapping(is['when']), '');
  const rules = diffRules(rulesOf(was), rulesOf(is));
  if (members.length + when.length + rules.length === 0) return [];
  return [{ policy, change: 'changed', members, when, rules }];
}

/**
 * The members that are compared by value: all except the name and the members that are compared in another
 * way.
 */
function membersOf(policy: Named): Named {
  const others = Object.entries(policy).filter(([name]) => !['policy', 'when', 'rules'].includes(name));
  return Object.fromEntries(others);
}

function rulesOf({ rules }: Named): readonly WrittenRule[] {
  return Array.isArray(rules)
    ? (rules as readonly Json[]).map(writtenRule).filter((rule) => rule !== undefined)
    : [];
}

function diffList(
  file: string,
  was: readonly string[] | undefined,
  is: readonly string[] | undefined,
  contents: readonly Content[],
): readonly ListChange[] {
  const [from, to] = [new Set(was), new Set(is)];
  const added = [...to].filter((text) => !from.has(text));
  const removed = [...from].filter((text) => !to.has(text));
  const change = changeOf(was, is);
  if (change === 'changed' && added.length + removed.length === 0) return [];
  const [kind = '', ...others] = new Set(contents.flatMap((content) => kindsThatUse(content, file)));
  const direction =
    change === 'changed' && others.length === 0
      ? directionOfValues(kind, added.length, removed.length)
      : undefined;
  return [{ file, change, added: entriesOf(added), removed: entriesOf(removed), direction }];
}

/** The kinds of rules that refer to a list file. */
function kindsThatUse({ policies }: Content, file: string): readonly string[] {
  return [...policies.values()].flatMap((policy) =>
    rulesOf(policy)
      .filter(({ parameters }) => Object.values(parameters).includes(file))
      .map(({ kind }) => kind),
  );
}

function diffAsset(symbol: string, was: Named | undefined, is: Named | undefined): readonly AssetChange[] {
  const members = diffValues(was ?? {}, is ?? {}, '');
  const change = changeOf(was, is);
  return change === 'changed' && members.length === 0 ? [] : [{ symbol, change, members }];
}

const entriesOf = (values: readonly string[]): Entries => ({
  count: values.length,
  first: values.slice(0, ENTRIES_SHOWN),
});

const changeOf = (was: unknown, is: unknown): Change =>
  was === undefined ? 'added' : is === undefined ? 'removed' : 'changed';

const mapping = (value: Json | undefined): Named => (isObject(value) ? definedIn(value) : {});

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
