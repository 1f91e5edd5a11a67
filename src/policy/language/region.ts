import type { Kind } from '../../callback/callback.ts';
import { formatAmount, parseAmount } from '../../values/amount.ts';

/*
 * Sets of callbacks, as far as they can be told from the conditions alone: by which values of a member, and
 * by which amounts, values and times, a condition is met. Every set may be too great, and is never too small.
 * So an empty one proves that no callback meets the conditions.
 */

/** The callbacks that meet a condition. */
export type Extent =
  /** Those of which each value of `of` (a member, or another property) is in a set. */
  | {
      readonly of: string;
      readonly allows: ValueSet;
      /** False if the set is too great, so that callbacks outside of `allows` are not all that don't meet it. */
      readonly isExact: boolean;
    }
  /** Those that don't meet all of these. */
  | { readonly not: readonly Extent[] }
  | 'anything';

export type ValueSet = TextSet | NumberSet;

interface TextSet {
  readonly texts: ReadonlySet<string>;
  /** True: all texts but these. */
  readonly others: boolean;
}

/** Whole numbers from 0 to `top`. */
export interface NumberSet {
  /** Both ends included; in order, and not adjacent. */
  readonly ranges: readonly Range[];
  readonly top: bigint;
}

export type Range = readonly [from: bigint, to: bigint];

/** In units of 10^-36, like an amount. An unlimited amount is greater than every other one. */
const UNLIMITED = 10n ** 72n;
/** Greater than each amount and each value. */
const TOP = 10n ** 120n;

/** The amounts in a range; without an end, up to an unlimited one. */
export function amounts(from: bigint, to: bigint = TOP): NumberSet {
  return { ranges: [[from, to]], top: TOP };
}

/** The numbers in any of the ranges. */
export function numbers(ranges: readonly Range[], top: bigint): NumberSet {
  const joined: Range[] = [];
  for (const range of ranges.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const last = joined.at(-1);
    if (last !== undefined && range[0] <= last[1] + 1n) {
      joined[joined.length - 1] = [last[0], range[1] > last[1] ? range[1] : last[1]];
    } else joined.push(range);
  }
  return { ranges: joined, top };
}

/** The condition that a member has one of the texts. */
export function textExtent(member: string, texts: ReadonlySet<string>): Extent {
  if (member !== 'amount') return { of: member, allows: { texts, others: false }, isExact: true };
  const points = [...texts].map((text) => (text === 'unlimited' ? UNLIMITED : (parseAmount(text) ?? 0n)));
  const ranges = points.map((point): Range => [point, point]);
  return { of: 'amount', allows: numbers(ranges, TOP), isExact: true };
}

/** Callbacks by the values that a property may have. A property that it doesn't name may have any. */
export type Region = ReadonlyMap<string, ValueSet>;

/** More regions than these are not told apart. */
const REGIONS_MAX = 256;

/** The amounts that callbacks of a kind have. */
export function amountsOf(kind: Kind): NumberSet {
  return kind === 'web3' ? amounts(0n, UNLIMITED) : amounts(1n, UNLIMITED - 1n);
}

/** The callbacks of a kind that meet all conditions. None of the regions is empty. */
export function regionsOf(kind: Kind, extents: readonly Extent[]): readonly Region[] {
  return intersectAll([
    [new Map([['amount', amountsOf(kind)]])],
    ...extents.map((each) => regionsIn(each, true)),
  ]);
}

function regionsIn(extent: Extent, isMet: boolean): readonly Region[] {
  if (extent === 'anything') return [new Map()];
  if ('of' in extent) {
    if (!isMet && !extent.isExact) return [new Map()];
    return [new Map([[extent.of, isMet ? extent.allows : complement(extent.allows)]])];
  }
  return isMet
    ? extent.not.flatMap((each) => regionsIn(each, false))
    : intersectAll(extent.not.map((each) => regionsIn(each, true)));
}

function intersectAll(all: readonly (readonly Region[])[]): readonly Region[] {
  let met: readonly Region[] = [new Map()];
  for (const regions of all) {
    // Left out, the set is too great, as it may be.
    if (met.length * regions.length > REGIONS_MAX) continue;
    met = met.flatMap((one) => regions.flatMap((other) => intersectRegions(one, other)));
  }
  return met;
}

/** The one region of both, if it is not empty. */
function intersectRegions(one: Region, other: Region): readonly Region[] {
  const both = new Map(one);
  for (const [property, values] of other) {
    const before = both.get(property);
    const met = before === undefined ? values : intersect(before, values);
    if (isEmpty(met)) return [];
    both.set(property, met);
  }
  return [both];
}

function intersect(one: ValueSet, other: ValueSet): ValueSet {
  if ('ranges' in one) {
    if (!('ranges' in other)) return one;
    const ranges = one.ranges.flatMap(([from, to]) =>
      other.ranges.map(([low, high]): Range => [from > low ? from : low, to < high ? to : high]),
    );
    return numbers(
      ranges.filter(([from, to]) => from <= to),
      one.top,
    );
  }
  if ('ranges' in other) return other;
  if (one.others && other.others) return { texts: new Set([...one.texts, ...other.texts]), others: true };
  const [named, by] = one.others ? [other, one] : [one, other];
  return {
    texts: new Set([...named.texts].filter((text) => by.texts.has(text) !== by.others)),
    others: false,
  };
}

function complement(values: ValueSet): ValueSet {
  if (!('ranges' in values)) return { ...values, others: !values.others };
  const { ranges, top } = values;
  const starts = [0n, ...ranges.map(([, to]) => to + 1n)];
  const ends = [...ranges.map(([from]) => from - 1n), top];
  const between = starts.map((from, at): Range => [from, ends[at] ?? top]);
  return { ranges: between.filter(([from, to]) => from <= to), top };
}

function isEmpty(values: ValueSet): boolean {
  return 'ranges' in values ? values.ranges.length === 0 : values.texts.size === 0 && !values.others;
}

/** Whether a region has callbacks with this text in a member. */
export function allowsText(region: Region, member: string, text: string): boolean {
  const values = region.get(member);
  return values === undefined || 'ranges' in values || values.texts.has(text) !== values.others;
}

/** The numbers of `all` that are not among `some`. */
export function restOf(some: NumberSet, all: NumberSet): readonly Range[] {
  const rest = intersect(complement(some), all);
  return 'ranges' in rest ? rest.ranges : [];
}

/** The amounts in a region. */
export function amountsIn(region: Region): readonly Range[] {
  const values = region.get('amount');
  return values !== undefined && 'ranges' in values ? values.ranges : amounts(0n).ranges;
}

/** A range in words: `of exactly 1000`, `above 100 and below 1000`, `from 5`. */
export function formatRange([from, to]: Range): string {
  if (from === to) return from === UNLIMITED ? 'unlimited' : `exactly ${formatAmount(from)}`;
  const low = from === 0n ? undefined : shorter(['above', from - 1n], ['from', from]);
  const high = to >= UNLIMITED - 1n ? undefined : shorter(['below', to + 1n], ['up to', to]);
  const both = [low, high].filter((each) => each !== undefined);
  return both.length === 0 ? 'any' : both.join(low?.startsWith('from') === true ? ' ' : ' and ');
}

type Bound = readonly [word: string, amount: bigint];

/** The bound as people write it: the one with fewer digits. */
function shorter(...bounds: readonly [Bound, Bound]): string {
  const [first, second] = bounds.map(([, amount]) => formatAmount(amount));
  const isFirst = (first?.length ?? 0) < (second?.length ?? 0);
  const [word] = isFirst ? bounds[0] : bounds[1];
  return `${word} ${isFirst ? first : second}`;
}
