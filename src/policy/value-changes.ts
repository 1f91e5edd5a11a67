import { parseAmount } from '../values/amount.ts';
import { type Json, canonicalJson, isObject } from '../values/canonical.ts';
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

/** The direction of a changed value, by its path (`max.BTC`). */
export type DirectionOf = (path: string, before: Json | undefined, after: Json | undefined) => Direction;

/** For values on which no verdict depends. */
export const noDirection: DirectionOf = () => undefined;

/** The changes of named values, by name. */
export function diffValues(
  before: JsonObject,
  after: JsonObject,
  directionOf: DirectionOf,
  parents: readonly string[] = [],
): readonly ValueChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((last): readonly ValueChange[] => {
    const [from, to] = [before[last], after[last]];
    const path = [...parents, last];
    if (isSame(from, to)) return [];
    if (isObject(from) && isObject(to)) return diffValues(definedIn(from), definedIn(to), directionOf, path);
    const name = path.join('.');
    const direction = directionOf(name, from, to);
    const items = Array.isArray(from) || Array.isArray(to) ? diffItems(from, to) : undefined;
    const entry = items && changedEntry(items);
    if (entry !== undefined) {
      const at = Array.isArray(to) ? to.indexOf(entry.after) : 0;
      return diffValues(entry.before, entry.after, directionOf, [...parents, `${last}[${at}]`]);
    }
    return items === undefined || items.added.length + items.removed.length === 0
      ? [{ name, before: from, after: to, direction }]
      : [{ name, ...items, direction }];
  });
}

/** The entry of a list of mappings, if only one was changed. */
function changedEntry({ added, removed }: Items): { before: JsonObject; after: JsonObject } | undefined {
  const [[before], [after]] = [removed, added];
  const isOne = added.length === 1 && removed.length === 1;
  return isOne && isObject(before) && isObject(after) ? { before, after } : undefined;
}

/** The direction of a rule whose bound changed from one amount, number or duration to another. */
export function directionOfBound(bound: 'maximum' | 'minimum', before: Json, after: Json): Direction {
  const [from, to] = [magnitude(before), magnitude(after)];
  if (from === undefined || to === undefined || from.unit !== to.unit) return 'unclear';
  if (from.size === to.size) return undefined;
  return to.size < from.size === (bound === 'maximum') ? 'stricter' : 'looser';
}

export function magnitude(
  written: Json | undefined,
): { readonly unit: string; readonly size: bigint } | undefined {
  if (typeof written !== 'string') return undefined;
  const amount = parseAmount(written);
  if (amount !== undefined) return { unit: 'amount', size: amount };
  const lengthMs = durationMs(written, WINDOW_MAX_MS);
  return lengthMs === undefined ? undefined : { unit: 'time', size: BigInt(lengthMs) };
}

/** Undefined unless both are lists, or one is a list and the other a text: a list of one. */
export function diffItems(before: Json | undefined, after: Json | undefined): Items | undefined {
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

export function definedIn(value: { readonly [name: string]: Json | undefined }): JsonObject {
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );
}
