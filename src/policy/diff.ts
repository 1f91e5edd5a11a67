import { z } from 'zod';
import { CountersignError, messageOf } from '../errors.ts';
import { type Json, isObject } from '../values/canonical.ts';
import {
  type Direction,
  type JsonObject,
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
export function diffReleases(oldDocument: string | undefined, newDocument: string | undefined): ReleaseDiff {
  const [from, to] = [contentOf(oldDocument), contentOf(newDocument)];
  const policies = byName(from.policies, to.policies).flatMap(([name, before, after]) =>
    diffPolicy(name, before, after),
  );
  const lists = byName(from.lists, to.lists).flatMap(([file, before, after]) =>
    diffList(file, before, after, [from, to]),
  );
  const assets = byName(from.assets, to.assets).flatMap(([symbol, before, after]) =>
    diffAsset(symbol, before, after),
  );
  const files = byName(from.files, to.files).flatMap(([file, before, after]) =>
    before === after ? [] : [{ file, change: changeOf(before, after) }],
  );
  const same = [policies, lists, assets, files].every(({ length }) => length === 0);
  return { same, policies, lists, assets, files };
}

interface Content {
  readonly policies: ReadonlyMap<string, JsonObject>;
  readonly lists: ReadonlyMap<string, readonly string[]>;
  readonly assets: ReadonlyMap<string, JsonObject>;
  readonly files: ReadonlyMap<string, string>;
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
    return { policies: new Map(), lists: new Map(), assets: new Map(), files: new Map() };
  try {
    const { policies, lists, assets, files } = releaseShape.parse(JSON.parse(document));
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

function diffPolicy(
  policy: string,
  before: JsonObject | undefined,
  after: JsonObject | undefined,
): readonly PolicyChange[] {
  if (before === undefined || after === undefined) {
    const written = after ?? before ?? {};
    const change = after === undefined ? 'removed' : 'added';
    return [{ policy, change, callback: textOf(written['callback']), rules: rulesOf(written) }];
  }
  const members = diffValues(membersOf(before), membersOf(after), '');
  const when = diffValues(mapping(before['when']), mapping(after['when']), '');
  const rules = diffRules(rulesOf(before), rulesOf(after));
  if (members.length + when.length + rules.length === 0) return [];
  return [{ policy, change: 'changed', members, when, rules }];
}

/**
 * The members that are compared by value: all except the name and the members that are compared in another
 * way.
 */
function membersOf(policy: JsonObject): JsonObject {
  const others = Object.entries(policy).filter(([name]) => !['policy', 'when', 'rules'].includes(name));
  return Object.fromEntries(others);
}

function rulesOf({ rules }: JsonObject): readonly WrittenRule[] {
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
  const [kind = '', ...others] = new Set(contents.flatMap((content) => kindsThatUse(content, file)));
  const direction =
    change === 'changed' && others.length === 0
      ? directionOfValues(kind, added.length, removed.length)
      : undefined;
  return [{ file, change, added: entriesOf(added), removed: entriesOf(removed), direction }];
}

/** The kinds of enforcing rules that refer to a list file. */
function kindsThatUse({ policies }: Content, file: string): readonly string[] {
  return [...policies.values()].flatMap((policy) =>
    rulesOf(policy)
      .filter(({ mode, parameters }) => mode === 'enforce' && hasText(parameters, file))
      .map(({ kind }) => kind),
  );
}

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
  const members = diffValues(before ?? {}, after ?? {}, '');
  const change = changeOf(before, after);
  return change === 'changed' && members.length === 0 ? [] : [{ symbol, change, members }];
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
