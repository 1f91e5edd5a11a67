import type { Json } from '../values/canonical.ts';
import { parseAmount } from '../values/amount.ts';
import { durationMs } from './rules/duration.ts';

/** Whether a rule lets less or more through than before; undefined where that can't be said for certain. */
export type Direction = 'stricter' | 'looser' | undefined;

/** Parameters whose order is known in every rule that has them. */
const BOUNDS: Readonly<Record<string, 'least' | 'most'>> = {
  max: 'most',
  maxAge: 'most',
  maxEach: 'most',
  min: 'least',
};
/** Rules that pass for what they name, or for what they do not; of lists of theirs. */
const NAMING: Readonly<Record<string, 'passes' | 'refuses'>> = {
  'allow-list': 'passes',
  'deny-list': 'refuses',
};

/** Of a parameter that changed from one text to another; `path` leads to it, as in max, BTC. */
export function directionOfBound(
  path: readonly string[],
  before: Json | undefined,
  after: Json | undefined,
): Direction {
  const name = path.findLast((step) => Object.hasOwn(BOUNDS, step));
  const bound = name === undefined ? undefined : BOUNDS[name];
  const [from, to] = [magnitude(before), magnitude(after)];
  if (bound === undefined || from === undefined || to === undefined) return undefined;
  if (from.unit !== to.unit || from.size === to.size) return undefined;
  return to.size < from.size === (bound === 'most') ? 'stricter' : 'looser';
}

/** Of values that were added to those that a rule names, or taken from them. */
export function directionOfValues(rule: string, added: number, removed: number): Direction {
  const naming = Object.hasOwn(NAMING, rule) ? NAMING[rule] : undefined;
  if (naming === undefined || added > 0 === removed > 0) return undefined;
  return added > 0 === (naming === 'passes') ? 'looser' : 'stricter';
}

function magnitude(written: Json | undefined): { readonly unit: string; readonly size: bigint } | undefined {
  if (typeof written !== 'string') return undefined;
  const amount = parseAmount(written);
  if (amount !== undefined) return { unit: 'amount', size: amount };
  const lengthMs = durationMs(written);
  return lengthMs === undefined ? undefined : { unit: 'time', size: BigInt(lengthMs) };
}
