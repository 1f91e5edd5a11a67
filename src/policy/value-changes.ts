import type { z } from 'zod';
import { parseAmount } from '../values/amount.ts';
import { type Json, canonicalJson, isObject } from '../values/canonical.ts';
import { type Looser, declaredAt } from './language/looser.ts';
import { WINDOW_MAX_MS, durationMs } from './language/parameter.ts';

/** Values by name, as in the document of a release. */
export type JsonObject = { readonly [name: string]: Json };

/**
 * What a change does to approvals, in the same state of the store. `stricter`: it approves nothing that was
 * refused before. `looser`: it refuses nothing that was approved before. `both`: it refuses some callbacks
 * that were approved, and approves some that were refused. `unclear`: none of these is proven. Undefined: it
 * changes no verdict.
 */
export type Direction = 'stricter' | 'looser' | 'both' | 'unclear' | undefined;

/**
 * A change of a parameter or of a policy's member. The name is its path (`max.BTC`). A change of a list has
 * the items that were added and removed, and ignores their order. Any other change has both values.
 */
export type ValueChange = { readonly name: string; readonly direction: Direction } & (
  { readonly before: Json | undefined; readonly after: Json | undefined } | Items
);

/** The items of a list that differ. */
interface Items {
  readonly added: readonly Json[];
  readonly removed: readonly Json[];
}

/** Whether a change may approve what was refused before. */
export const mayLoosen = (direction: Direction): boolean =>
  direction !== undefined && direction !== 'stricter';

/** The direction of a changed value, by its path (`max`, `BTC`). */
export type DirectionOf = (
  path: readonly string[],
  before: Json | undefined,
  after: Json | undefined,
) => Direction;

/** For values on which no verdict depends. */
export const noDirection: DirectionOf = () => undefined;

/** The changes of named values, by name. */
export function diffValues(
  before: JsonObject,
  after: JsonObject,
  directionOf: DirectionOf,
  parents: readonly string[] = [],
): readonly ValueChange[] {
  return changedNames(before, after).flatMap((last): readonly ValueChange[] => {
    const [from, to] = [before[last], after[last]];
    const path = [...parents, last];
    if (isObject(from) && isObject(to)) return diffValues(definedIn(from), definedIn(to), directionOf, path);
    const [name, direction] = [path.join('.'), directionOf(path, from, to)];
    const items = Array.isArray(from) || Array.isArray(to) ? diffItems(from, to) : undefined;
    const [added, removed] = [items?.added ?? [], items?.removed ?? []];
    const [is, was] = [added[0], removed[0]];
    // Of a list in which one entry changed, only what changed in it.
    if (added.length === 1 && removed.length === 1 && isObject(is) && isObject(was)) {
      const at = Array.isArray(to) ? to.indexOf(is) : 0;
      return diffValues(definedIn(was), definedIn(is), directionOf, [...parents, `${last}[${at}]`]);
    }
    return added.length + removed.length === 0
      ? [{ name, before: from, after: to, direction }]
      : [{ name, added, removed, direction }];
  });
}

/** The names of values that differ, sorted. */
const changedNames = (before: JsonObject, after: JsonObject): readonly string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .sort()
    .filter((name) => !isSame(before[name], after[name]));

/** The directions of the parameters of a rule that decides, as their schemas declare it. */
export function declaredDirections(
  schema: z.ZodType | undefined,
  before: JsonObject,
  after: JsonObject,
): DirectionOf {
  const isAlone = changedNames(before, after).length === 1;
  return (path, from, to) => {
    const { by, isPart } = declaredAt(schema, path) ?? {};
    if (by === undefined) return 'unclear';
    if (by === 'never') return undefined;
    if (by === 'more' || by === 'fewer') {
      const items = diffItems(from, to);
      return items === undefined ? 'unclear' : directionOfItems(by, items.added.length, items.removed.length);
    }
    if (from !== undefined && to !== undefined) return directionOfBound(by, from, to);
    if (isPart && by === 'higher') return from === undefined ? 'looser' : 'stricter';
    // Without its bound, a rule may need other parameters, which change its meaning.
    if (isPart || !isAlone || magnitude(from ?? to) === undefined) return 'unclear';
    return from === undefined ? 'stricter' : 'looser';
  };
}

/** The direction of a bound that changed from one amount, number or duration to another. */
function directionOfBound(by: 'higher' | 'lower', before: Json, after: Json): Direction {
  const [from, to] = [magnitude(before), magnitude(after)];
  if (from === undefined || to === undefined || from.unit !== to.unit) return 'unclear';
  if (from.size === to.size) return undefined;
  return to.size > from.size === (by === 'higher') ? 'looser' : 'stricter';
}

function magnitude(written: Json | undefined): { readonly unit: string; readonly size: bigint } | undefined {
  if (typeof written !== 'string') return undefined;
  const amount = parseAmount(written);
  if (amount !== undefined) return { unit: 'amount', size: amount };
  const lengthMs = durationMs(written, WINDOW_MAX_MS);
  return lengthMs === undefined ? undefined : { unit: 'time', size: BigInt(lengthMs) };
}

/** The direction after texts were added to a list, or removed from it. */
export function directionOfItems(by: Looser | undefined, added: number, removed: number): Direction {
  if (added + removed === 0) return undefined;
  if ((by !== 'more' && by !== 'fewer') || (added > 0 && removed > 0)) return 'unclear';
  return added > 0 === (by === 'more') ? 'looser' : 'stricter';
}

/** Undefined unless both are lists, or one is a list and the other a text: a list of one. */
function diffItems(before: Json | undefined, after: Json | undefined): Items | undefined {
  const [from, to] = [itemsOf(before), itemsOf(after)];
  if (from === undefined || to === undefined) return undefined;
  return {
    added: [...to].filter(([text]) => !from.has(text)).map(([, item]) => item),
    removed: [...from].filter(([text]) => !to.has(text)).map(([, item]) => item),
  };
}

function itemsOf(value: Json | undefined): ReadonlyMap<string, Json> | undefined {
  const items = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(items)) return undefined;
  return new Map((items as readonly Json[]).map((item) => [canonicalJson(item), item]));
}

export function isSame(a: Json | undefined, b: Json | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return canonicalJson(a) === canonicalJson(b);
}

export const definedIn = (value: { readonly [name: string]: Json | undefined }): JsonObject =>
  Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );
