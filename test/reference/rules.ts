import {
  type Counting,
  type Policy,
  type Rule,
  type Rules,
  type When,
  MINUTE_MS,
  UNIT,
  amountOf,
  isOpen,
  maxOf,
  msOf,
  valueOf,
} from './policy.ts';
import type { Member, Movement, Question } from './question.ts';

/*
 * What each rule says of a callback before the store is asked: that it passes, that it refuses, or what must
 * hold in the store. As plainly as the pages of the rules say it.
 */

export interface Price {
  readonly price: bigint;
  readonly asOfMs: number;
}

/** What people were asked about a subject, and who approved it. */
export interface Approved {
  readonly by: readonly string[];
  readonly askedAtMs: number;
  readonly untilMs: number;
}

/** A callback as a policy sees it, and what else its rules and conditions depend on. */
export interface Case {
  readonly policy: Policy;
  readonly question: Question;
  /** In a policy with movements, `to` is everybody who gets something. */
  readonly members: Question['members'];
  /** The amounts that it judges; undefined if they are not known. */
  readonly amounts: readonly Movement[] | undefined;
  /** The group of its source. */
  readonly group: string | undefined;
  readonly files: Readonly<Record<string, string>>;
  readonly prices: ReadonlyMap<string, Price>;
  /** Undefined if nobody was asked. */
  readonly approved: Approved | undefined;
  /** The members of each group of people. */
  readonly people: Readonly<Record<string, readonly string[]>>;
  readonly atMs: number;
  /** Whether a price was looked up, found or not. */
  readonly looked: { prices: boolean };
}

/** Where a rule is. */
export interface Place {
  /** The conditions around it, for each of which there is a count of its own. */
  readonly scope: readonly When[];
  readonly observes: boolean;
}

/** What must hold in the store. Each name of a count or mark says whose it is. */
export type Wanted =
  | {
      readonly type: 'list';
      readonly list: string;
      readonly values: readonly string[];
      readonly listed: boolean;
    }
  | {
      readonly type: 'aged';
      readonly list: string;
      readonly values: readonly string[];
      readonly ageMs: number;
    }
  | {
      readonly type: 'window';
      readonly counter: string;
      readonly amount: bigint;
      readonly max: bigint;
      readonly window: string;
    }
  | {
      readonly type: 'distinct';
      readonly counter: string;
      /** What is counted; known by these names whatever the window. */
      readonly values: readonly string[];
      readonly max: number;
      readonly window: string;
      readonly onlyNew: boolean;
    }
  | { readonly type: 'mark'; readonly mark: string; readonly ageMs: number; readonly exempt: boolean }
  | { readonly type: 'order'; readonly members: Question['orderMembers'] }
  /** That enough people approve, and that nothing has changed since they were heard. */
  | { readonly type: 'approval'; readonly approval: 'current' | 'changed' | 'missing' }
  | { readonly type: 'speed-up'; readonly max: number; readonly withinMs: number }
  | LockoutWanted;

/** That a key is not locked out. */
export interface LockoutWanted {
  readonly type: 'refusals';
  readonly key: string;
  readonly policy: string;
  readonly whose: string;
  readonly after: number;
  readonly withinMs: number;
  /** Infinity: until somebody lifts it. */
  readonly forMs: number;
}

type Refusal = 'refuses' | 'refuses for now' | 'lacks a price';
/** What must hold in the store, which may be nothing, or a refusal. */
type Said = readonly Wanted[] | Refusal;

const PASSES: Said = [];
const allOf = (all: readonly Said[]): Said =>
  all.find((each) => typeof each === 'string') ??
  all.flatMap((each) => (typeof each === 'string' ? [] : each));

export function saidBy(rule: Rule, of: Case, place: Place): Said {
  if ('pass' in rule) return PASSES;
  if ('schedule' in rule) return isOpen(rule.schedule, of.atMs) ? PASSES : 'refuses for now';
  if ('amount-limit' in rule) return ofAmounts(rule['amount-limit'], of);
  if ('window-limit' in rule) return ofSums(rule['window-limit'], of, place);
  if ('velocity-limit' in rule) return ofNumbers(rule['velocity-limit'], of, place);
  if ('value-limit' in rule) return ofValues(rule['value-limit'], of, place);
  if ('distinct-limit' in rule) return ofDistinct(rule['distinct-limit'], of, place);
  if ('first-use-limit' in rule) return ofFirstUse(rule['first-use-limit'], of);
  if ('lock-out' in rule) return ofRefusals(rule['lock-out'], of, place);
  if ('expected-order' in rule) return [{ type: 'order', members: of.question.orderMembers }];
  if ('approval' in rule) return [{ type: 'approval', approval: ofApproval(rule.approval, of) }];
  if ('speed-up' in rule) return ofSpeedUps(rule['speed-up'], of);
  if ('cooling-period' in rule) {
    const { list, for: age, of: members } = rule['cooling-period'];
    const values = textsOf(members, of);
    return values === undefined ? 'refuses' : [{ type: 'aged', list, values, ageMs: msOf(age) }];
  }
  const listed = 'allow-list' in rule;
  const { list, of: members } = listed ? rule['allow-list'] : rule['deny-list'];
  const values = textsOf(members, of);
  return values === undefined ? 'refuses' : [{ type: 'list', list, values, listed }];
}

/** Who is in the group now counts, once each, until the time of the rule or that of the request is over. */
export function ofApproval(
  { by: group, quorum, within }: Rules['approval'],
  { approved, people, atMs }: Pick<Case, 'approved' | 'people' | 'atMs'>,
): 'current' | 'changed' | 'missing' {
  if (approved === undefined) return 'missing';
  const { by, askedAtMs, untilMs } = approved;
  const isInTime = atMs < untilMs && atMs < askedAtMs + msOf(within);
  const counting = people[group]?.filter((person) => by.includes(person)) ?? [];
  const isEnough = isInTime && counting.length >= Number(quorum);
  return isEnough ? 'current' : 'changed';
}

function ofAmounts({ max, approvals }: Rules['amount-limit'], of: Case): Said {
  const sums = sumsOf(countedIn(of, approvals));
  const isWithin = sums !== undefined && [...sums].every(([asset, sum]) => sum <= maxOf(max, asset));
  return isWithin ? PASSES : 'refuses';
}

function ofSums({ max, by, approvals, ...counting }: Rules['window-limit'], of: Case, place: Place): Said {
  const amounts = countedIn(of, approvals);
  const sums = sumsOf(amounts);
  if (sums === undefined) return 'refuses';
  const count = (asset: string): Said => {
    const most = maxOf(max, asset);
    if (most < 0n) return 'refuses';
    const what = ['window-limit', by === undefined ? 'all' : 'each', asset, approvals];
    return inCounts({ ...counting, what }, of, place, (counter, to) => {
      const amount = sumsOf(amounts, to)?.get(asset);
      return amount === undefined
        ? []
        : [{ type: 'window', counter, amount, max: most, window: counting.window }];
    });
  };
  // A callback that moves nothing must have the members as well.
  const nothing = inCounts({ ...counting, what: [] }, of, place, () => []);
  return allOf([...[...sums.keys()].map(count), nothing]);
}

function ofNumbers({ max, ...counting }: Rules['velocity-limit'], of: Case, place: Place): Said {
  const symbol = counting.counter === undefined ? of.policy.when?.symbol : undefined;
  return inCounts({ ...counting, what: ['velocity-limit', symbol] }, of, place, (counter) => [
    { type: 'window', counter, amount: UNIT, max: amountOf(max), window: counting.window },
  ]);
}

function ofValues(rule: Rules['value-limit'], of: Case, place: Place): Said {
  const { window, maxAge, approvals, ...counting } = rule;
  const max = amountOf(rule.max);
  const amounts = countedIn(of, approvals);
  const sums = sumsOf(amounts);
  if (sums === undefined) return 'refuses';
  const total = totalOf(sums, maxAge, of);
  if (total === undefined) return 'lacks a price';
  if (window === undefined) return total <= max ? PASSES : 'refuses for now';
  return inCounts({ ...counting, window, what: ['value-limit', approvals] }, of, place, (counter, to) => {
    const own = sumsOf(amounts, to) ?? new Map<string, bigint>();
    const amount = totalOf(own, maxAge, of) ?? 0n;
    return own.size === 0 ? [] : [{ type: 'window', counter, amount, max, window }];
  });
}

function ofDistinct(rule: Rules['distinct-limit'], of: Case, place: Place): Said {
  const { of: members, only, window } = rule;
  const texts = textsOf(members, of);
  if (texts === undefined) return 'refuses';
  const onlyNew = only === 'new';
  return inCounts({ ...rule, window: '', what: ['distinct-limit', members] }, of, place, (known) => [
    {
      type: 'distinct',
      counter: JSON.stringify([known, window, onlyNew]),
      values: texts.map((text) => JSON.stringify([known, text])),
      max: Number(rule.max),
      window,
      onlyNew,
    },
  ]);
}

function ofFirstUse({ of: members, max, for: age = '0s' }: Rules['first-use-limit'], of: Case): Said {
  const sums = sumsOf(of.amounts);
  if (sums === undefined) return 'refuses';
  const used = (asset: string): Said => {
    const most = maxOf(max, asset);
    if (most < 0n) return 'refuses';
    return forEach(members, of, (values, to) => {
      const amount = sumsOf(of.amounts, to)?.get(asset);
      if (amount === undefined) return [];
      const mark = JSON.stringify([of.question.source, of.policy.policy, members, asset, values]);
      return [{ type: 'mark', mark, ageMs: msOf(age), exempt: amount <= most }];
    });
  };
  return allOf([...sums.keys()].map(used));
}

function ofRefusals(rule: Rules['lock-out'], of: Case, { scope, observes }: Place): Said {
  const { per = [], after, within, for: period } = rule;
  const { policy } = of.policy;
  return forEach(per, of, (values) => {
    const named = per.map((member, at) => `${member} ${values[at]}`).toSorted();
    return [
      {
        type: 'refusals',
        key: JSON.stringify([policy, scope, per, observes, values]),
        policy,
        whose: named.join(', ') || `source ${of.question.source}`,
        after: Number(after),
        withinMs: msOf(within),
        forMs: msOf(period),
      },
    ];
  });
}

function ofSpeedUps(rule: Rules['speed-up'], { question }: Case): Said {
  if (!question.speedUp) return PASSES;
  if ('allowed' in rule) return 'refuses';
  return [{ type: 'speed-up', max: Number(rule.max), withinMs: msOf(rule.within) }];
}

// ---- amounts and values ----

const countedIn = ({ amounts }: Case, approvals?: 'only'): readonly Movement[] | undefined =>
  amounts?.filter(({ kind }) => kind === 'approval' || approvals !== 'only');

/**
 * The sum of each asset, of all or of what one address gets. Undefined if one is not known, or unlimited. Native
 * coins of zero are none.
 */
export function sumsOf(
  amounts: readonly Movement[] | undefined,
  only?: string,
): ReadonlyMap<string, bigint> | undefined {
  const sums = new Map<string, bigint>();
  for (const { kind, asset, amount, to } of amounts ?? []) {
    if (only !== undefined && to !== only) continue;
    if (amount === 'unlimited') return undefined;
    if (kind !== 'native' || amount > 0n) sums.set(asset, (sums.get(asset) ?? 0n) + amount);
  }
  return amounts && sums;
}

/** The value of all sums. Undefined if one of them has no price that is new enough. */
export function totalOf(
  sums: ReadonlyMap<string, bigint>,
  maxAge: string,
  { prices, atMs, looked }: Case,
): bigint | undefined {
  let total = 0n;
  for (const [asset, sum] of sums) {
    looked.prices = true;
    const found = prices.get(asset);
    if (found === undefined || atMs - found.asOfMs > msOf(maxAge) || found.asOfMs - atMs > MINUTE_MS) {
      return undefined;
    }
    total += valueOf(sum, found.price);
  }
  return total;
}

// ---- members and counts ----

/** What is wanted for the values of the members: once, or with `to` once for each address. */
function forEach(
  members: readonly Member[],
  { members: own, amounts }: Case,
  wanted: (values: readonly string[], to: string | undefined) => readonly Wanted[],
): Said {
  const addresses = members.includes('to') ? amounts && new Set(amounts.map(({ to }) => to)) : [undefined];
  const all = [...(addresses ?? [])].map((to): Said => {
    const values = members.map((member) => (member === 'to' ? to : own[member]?.[0]));
    return values.every((each) => each !== undefined) ? wanted(values, to) : 'refuses';
  });
  return addresses === undefined ? 'refuses' : allOf(all);
}

/** What is wanted of each count of a callback, by the name of the count. */
function inCounts(
  { per = [], window, across, counter, what }: Counting & { readonly what: readonly unknown[] },
  of: Case,
  { scope }: Place,
  wanted: (counter: string, to: string | undefined) => readonly Wanted[],
): Said {
  if (per.includes('to') && of.amounts === undefined) return 'refuses';
  // A rule counts across the group of a source that has none.
  if (across === 'group' && of.group === undefined) return 'refuses for now';
  const { policy, movements } = of.policy;
  const owner = counter ?? [policy, movements, scope];
  const whose = across === 'group' ? { group: of.group } : of.question.source;
  return forEach(per, of, (values, to) =>
    wanted(JSON.stringify([what, owner, whose, window, per, values]), to),
  );
}

/** The texts to look up: one, or one for each movement. Undefined if a member is missing. */
function textsOf(members: readonly Member[], { members: own, amounts }: Case): readonly string[] | undefined {
  const textOf = (movement?: Movement): string | undefined => {
    const texts = members.map((member) => {
      if (member === 'to') return movement?.to;
      return member === 'symbol' && movement !== undefined ? movement.asset : own[member]?.[0];
    });
    return texts.every((text) => text !== undefined) ? texts.join(' ') : undefined;
  };
  const all = members.includes('to') ? amounts?.map(textOf) : [textOf()];
  return all?.every((text) => text !== undefined) === true ? [...new Set(all)] : undefined;
}
