import { type Amount, formatAmount } from '../values/amount.ts';
import { CLASSES, type ClassName, FLOWS, type Flow, type Item, type Side, isException } from './classes.ts';

/** The sums of one coin, exact to the last digit. */
export interface CoinSummary {
  readonly flow: Flow;
  readonly coin: string;
  readonly approved: Sum;
  /** Billed or signed. */
  readonly settled: Sum;
  /** Approved minus settled; can be negative. */
  readonly difference: string;
  /** The part of the approved sum that is carried to the next day. */
  readonly settling: Sum;
  /** The difference without what is carried: 0 if nothing differs. */
  readonly unexplained: string;
  /** Items with an unlimited amount, which are in the counts and in no sum. */
  readonly unlimited: number;
}

export interface Sum {
  readonly count: number;
  readonly amount: string;
}

export interface Summary {
  readonly coins: readonly CoinSummary[];
  /** How many items each class has, in the order of the classes; without classes that have no items. */
  readonly classes: Readonly<Partial<Record<ClassName, number>>>;
  readonly items: number;
  readonly exceptions: number;
}

interface Running {
  readonly flow: Flow;
  readonly coin: string;
  readonly approved: RunningSum;
  readonly settled: RunningSum;
  readonly settling: RunningSum;
  unlimited: number;
}
interface RunningSum {
  count: number;
  amount: Amount;
}

export interface Summarizer {
  add(item: Item): void;
  summary(): Summary;
}

export function createSummarizer(): Summarizer {
  const coins = new Map<string, Running>();
  const classes: ClassCounts = new Map();
  let [items, exceptions] = [0, 0];

  function runningOf(flow: Flow, coin: string): Running {
    const name = `${flow} ${coin}`;
    const known = coins.get(name);
    if (known !== undefined) return known;
    const sum = (): RunningSum => ({ count: 0, amount: 0n });
    const made = { flow, coin, approved: sum(), settled: sum(), settling: sum(), unlimited: 0 };
    coins.set(name, made);
    return made;
  }

  function count(
    flow: Flow,
    side: Side | undefined,
    which: readonly ('approved' | 'settled' | 'settling')[],
  ): void {
    if (side === undefined) return;
    const running = runningOf(flow, side.coin);
    for (const each of which) {
      running[each].count++;
      if (side.amount !== 'unlimited') running[each].amount += side.amount;
    }
    if (side.amount === 'unlimited') running.unlimited++;
  }

  return {
    add(item) {
      const { counts } = CLASSES[item.class];
      items++;
      if (isException(item)) exceptions++;
      countClass(classes, item);
      if (counts === 'both' || counts === 'ours') {
        count(item.flow, item.ours, item.class === 'settling' ? ['approved', 'settling'] : ['approved']);
      }
      if (counts === 'both' || counts === 'theirs') count(item.flow, item.theirs, ['settled']);
    },
    summary: () => ({
      coins: [...coins.values()].sort(byFlowAndCoin).map(summaryOf),
      classes: classCounts(classes),
      items,
      exceptions,
    }),
  };
}

type ClassCounts = Map<ClassName, number>;

const countClass = (classes: ClassCounts, { class: name }: Pick<Item, 'class'>): void =>
  void classes.set(name, (classes.get(name) ?? 0) + 1);

/** How many items each class has, in the order of the classes. */
export function countClasses(items: Iterable<Pick<Item, 'class'>>): Summary['classes'] {
  const classes: ClassCounts = new Map();
  for (const item of items) countClass(classes, item);
  return classCounts(classes);
}

function classCounts(classes: ClassCounts): Summary['classes'] {
  const counts: Partial<Record<ClassName, number>> = {};
  for (const name of CLASS_NAMES) {
    const count = classes.get(name);
    if (count !== undefined) counts[name] = count;
  }
  return counts;
}

const isClassName = (name: string): name is ClassName => Object.hasOwn(CLASSES, name);
export const CLASS_NAMES: readonly ClassName[] = Object.keys(CLASSES).filter(isClassName);

function byFlowAndCoin(a: Running, b: Running): number {
  return FLOWS.indexOf(a.flow) - FLOWS.indexOf(b.flow) || (a.coin < b.coin ? -1 : 1);
}

function summaryOf({ flow, coin, approved, settled, settling, unlimited }: Running): CoinSummary {
  // Nothing of ours stands against a transfer order.
  const difference = flow === 'transfer-order' ? 0n : approved.amount - settled.amount;
  return {
    flow,
    coin,
    approved: sumOf(approved),
    settled: sumOf(settled),
    difference: formatAmount(difference),
    settling: sumOf(settling),
    unexplained: formatAmount(difference - settling.amount),
    unlimited,
  };
}

const sumOf = ({ count, amount }: RunningSum): Sum => ({ count, amount: formatAmount(amount) });
