import { parseAmount } from '../values/amount.ts';
import { type Json, canonicalJson } from '../values/canonical.ts';
import { WINDOW_MAX_MS, durationMs } from './rules/parameter.ts';

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
  | { readonly before: Json | undefined; readonly after: Json | undefined }
  | { readonly added: readonly Json[]; readonly removed: readonly Json[] }
);

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
export function diffItems(
  before: Json | undefined,
  after: Json | undefined,
): { readonly added: readonly Json[]; readonly removed: readonly Json[] } | undefined {
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
