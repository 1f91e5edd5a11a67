import { formatAmount, parseAmount } from '../../values/amount.ts';

/* Sets of the values that a property of callbacks may have: texts, or whole numbers from 0 to a greatest one. */

export type ValueSet = TextSet | NumberSet;

interface TextSet {
  readonly texts: ReadonlySet<string>;
  /** True: all texts but these. */
  readonly others: boolean;
}

interface NumberSet {
  /** Both ends included; in order, and not adjacent. */
  readonly ranges: readonly Range[];
  /** The greatest number of the property. */
  readonly top: bigint;
}

export type Range = readonly [from: bigint, to: bigint];

/** In units of 10^-36, like an amount. An unlimited amount is greater than every other one. */
export const UNLIMITED = 10n ** 72n;
/** Greater than each amount and each value. */
const TOP = 10n ** 120n;

/** The amounts in a range; without an end, up to an unlimited one. */
export const amounts = (from: bigint, to: bigint = TOP): NumberSet => ({ ranges: [[from, to]], top: TOP });

/** The numbers in any of the ranges. */
export function numbers(ranges: readonly Range[], top: bigint = TOP): NumberSet {
  const joined: Range[] = [];
  for (const range of ranges.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const last = joined.at(-1);
    if (last !== undefined && range[0] <= last[1] + 1n) {
      joined[joined.length - 1] = [last[0], range[1] > last[1] ? range[1] : last[1]];
    } else joined.push(range);
  }
  return { ranges: joined, top };
}

/** The values that a member has if it has one of the texts. */
export function namedValues(member: string, texts: ReadonlySet<string>): ValueSet {
  if (member !== 'amount') return { texts, others: false };
  const points = [...texts].map((text) => (text === 'unlimited' ? UNLIMITED : (parseAmount(text) ?? 0n)));
  return numbers(points.map((point) => [point, point]));
}

export function intersect(one: ValueSet, other: ValueSet): ValueSet {
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
  if (one.others && other.others) return { texts: one.texts.union(other.texts), others: true };
  const [named, by] = one.others ? [other, one] : [one, other];
  return {
    texts: by.others ? named.texts.difference(by.texts) : named.texts.intersection(by.texts),
    others: false,
  };
}

export function complement(values: ValueSet): ValueSet {
  if (!('ranges' in values)) return { ...values, others: !values.others };
  const { ranges, top } = values;
  const starts = [0n, ...ranges.map(([, to]) => to + 1n)];
  const ends = [...ranges.map(([from]) => from - 1n), top];
  const between = starts.map((from, at): Range => [from, ends[at] ?? top]);
  return { ranges: between.filter(([from, to]) => from <= to), top };
}

export const isEmpty = (values: ValueSet): boolean =>
  'ranges' in values ? values.ranges.length === 0 : values.texts.size === 0 && !values.others;

/** Whether a property that may have these values may have the text. Undefined stands for any value. */
export const allowsText = (values: ValueSet | undefined, text: string): boolean =>
  values === undefined || 'ranges' in values || values.texts.has(text) !== values.others;

export const rangesOf = (values: ValueSet): readonly Range[] => ('ranges' in values ? values.ranges : []);

/** A range of amounts in words: `exactly 1000`, `above 100 and below 1000`, `from 5`. */
export function formatRange([from, to]: Range): string {
  if (from === to) return from === UNLIMITED ? 'unlimited' : `exactly ${formatAmount(from)}`;
  const low = from === 0n ? undefined : shorter(['above', from - 1n], ['from', from]);
  const high = to >= UNLIMITED - 1n ? undefined : shorter(['below', to + 1n], ['up to', to]);
  const both = [low, high].filter((each) => each !== undefined);
  return both.length === 0 ? 'any' : both.join(low?.startsWith('from') === true ? ' ' : ' and ');
}

/** The bound as people write it: the one with fewer digits. */
function shorter(...bounds: readonly (readonly [word: string, amount: bigint])[]): string {
  const texts = bounds.map(([word, amount]) => ({ word, text: formatAmount(amount) }));
  const [{ word, text } = { word: '', text: '' }] = texts.toSorted((a, b) => a.text.length - b.text.length);
  return `${word} ${text}`;
}
