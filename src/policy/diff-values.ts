import { type Json, canonicalJson } from '../values/canonical.ts';
import { type Direction, directionOfBound, directionOfValues } from './diff-direction.ts';
import { isObject } from './document.ts';

/** Values by name, as a release has them. */
export type Named = { readonly [name: string]: Json };

/**
 * A parameter or a policy's member, named by its path (`max.BTC`). Of lists only what was added and removed,
 * their order aside; of anything else the two values.
 */
export type ValueChange = { readonly name: string; readonly direction: Direction } & (
  | { readonly before: Json | undefined; readonly after: Json | undefined }
  | { readonly added: readonly Json[]; readonly removed: readonly Json[] }
);

/** What became of named values. `rule` is the kind of rule whose parameters they are, if they are any's. */
export function diffValues(
  before: Named,
  after: Named,
  rule: string,
  within: readonly string[] = [],
): readonly ValueChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name): readonly ValueChange[] => {
    const [from, to] = [before[name], after[name]];
    const path = [...within, name];
    if (same(from, to)) return [];
    if (isObject(from) && isObject(to)) return diffValues(defined(from), defined(to), rule, path);
    const isList = Array.isArray(from) || Array.isArray(to);
    const [froms, tos] = isList ? [itemsOf(from), itemsOf(to)] : [undefined, undefined];
    const lists = froms && tos && diffItems(froms, tos);
    if (lists === undefined || lists.added.length + lists.removed.length === 0) {
      const direction = directionOfBound(path, from, to);
      return [{ name: path.join('.'), before: from, after: to, direction }];
    }
    const { length: added } = lists.added;
    const direction = name === 'values' ? directionOfValues(rule, added, lists.removed.length) : undefined;
    return [{ name: path.join('.'), ...lists, direction }];
  });
}

function diffItems(
  before: readonly Json[],
  after: readonly Json[],
): { readonly added: readonly Json[]; readonly removed: readonly Json[] } {
  const [from, to] = [before, after].map(
    (items) => new Map(items.map((item) => [canonicalJson(item), item])),
  );
  const { added, removed } = diffTexts([...(from?.keys() ?? [])], [...(to?.keys() ?? [])]);
  return {
    added: added.map((text) => to?.get(text) ?? text),
    removed: removed.map((text) => from?.get(text) ?? text),
  };
}

export function diffTexts(
  before: readonly string[],
  after: readonly string[],
): { readonly added: readonly string[]; readonly removed: readonly string[] } {
  const [from, to] = [new Set(before), new Set(after)];
  return {
    added: [...to].filter((text) => !from.has(text)),
    removed: [...from].filter((text) => !to.has(text)),
  };
}

export function defined(value: { readonly [name: string]: Json | undefined }): {
  readonly [name: string]: Json;
} {
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );
}

export function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return canonicalJson(a) === canonicalJson(b);
}

/** A list's items; one text where a list may stand is a list of one. */
function itemsOf(value: Json | undefined): readonly Json[] | undefined {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? (value as readonly Json[]) : undefined;
}
