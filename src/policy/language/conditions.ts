import type { Callback, Kind } from '../../callback/callback.ts';
import type { Amount } from '../../values/amount.ts';
import type { Facts } from '../facts.ts';
import type { Place } from '../fault.ts';
import type { RuleOutcome } from '../outcome.ts';
import { type Standing, combine } from '../standing.ts';
import { SOURCE, UnreadableMember, comparisonProblem, valuesOf } from './members.ts';
import { type MovedAmount, amountsOf } from './moved-amounts.ts';
import type { Duration } from './parameter.ts';
import { priceOf, valueAt } from './price.ts';
import type { CompiledSchedule } from './schedule.ts';
import {
  type ValueSet,
  UNLIMITED,
  amounts,
  complement,
  intersect,
  isEmpty,
  namedValues,
} from './value-sets.ts';

/*
 * What `when` means. A condition is a value: what it looks at, and the values that meet it. It is tested against a
 * callback (met, not met, unknown or unclear), and it stands for a set of callbacks, with which the warnings of
 * `policy validate` and the diff prove what they say.
 */

export type Condition =
  /** The member has one of the texts. `isListed`: they are those of a file beside the policy. */
  | {
      readonly is: 'one-of';
      readonly member: string;
      readonly texts: ReadonlySet<string>;
      readonly isListed: boolean;
    }
  | { readonly is: 'signed'; readonly schemes: ReadonlySet<string> }
  | { readonly is: 'amount'; readonly range: AmountRange }
  /** The value at prices that are no older. `ofMovements`: of all that a transaction moves. */
  | {
      readonly is: 'value';
      readonly range: AmountRange;
      readonly maxAge: Duration;
      readonly ofMovements: boolean;
    }
  | { readonly is: 'open'; readonly schedule: CompiledSchedule }
  /** Not all of these are met. */
  | { readonly is: 'not'; readonly all: readonly Condition[] };

/** At least one bound. */
export type AmountRange = Readonly<
  Partial<Record<'above' | 'atLeast' | 'below' | 'atMost', Amount | undefined>>
>;

/** The callbacks that a policy or a rule is for: those that meet all of its conditions. */
export interface When {
  /** In the order in which they are tested. */
  readonly conditions: readonly Condition[];
  /** The texts that they name, but for those in files, by canonical member name. */
  readonly texts: ReadonlyMap<string, ReadonlySet<string>>;
  /** Where its file has it; undefined for a stored release. */
  readonly place?: Place | undefined;
}

/** No condition: for all callbacks. */
export const ALWAYS: When = { conditions: [], texts: new Map() };

// ---- whether a callback meets a condition ----

/** Whether a callback meets a condition. `failed`: it found no price that is valid now. */
export interface Tested extends Standing {
  /**
   * `unknown`: a member or a price is missing. The policy or rule then applies, but does not count as the one
   * that must cover the callback. `unclear`: some values of a member meet it and others don't, or the chain of
   * the asset does not accept one. Whether it applies is then not clear, and the callback is refused.
   */
  readonly state: 'met' | 'unmet' | 'unknown' | 'unclear';
  /** Why it is unknown or unclear. */
  readonly because?: string;
  /** For the refusal, if it is unclear. */
  readonly values?: RuleOutcome['values'];
}

const MET: Tested = { state: 'met' };
const UNMET: Tested = { state: 'unmet' };

/** Whether every callback meets it. The evaluation then tests nothing. */
export const isWithoutConditions = ({ conditions }: When): boolean => conditions.length === 0;

/** Whether a callback meets all conditions of `when`. */
export const testWhen = ({ conditions }: When, callback: Callback, facts: Facts): Tested =>
  testAll(conditions, callback, facts);

/**
 * Whether the callback may meet all conditions at some time and some prices. Plugins are asked before these
 * are known.
 */
export const mayMeet = ({ conditions }: When, callback: Callback, facts: Facts): boolean =>
  testAll(conditions.filter(isConstant), callback, facts).state !== 'unmet';

/** Whether it depends on the callback alone, and not on time or prices. */
export const isConstant = (condition: Condition): boolean =>
  condition.is === 'not'
    ? condition.all.every(isConstant)
    : condition.is !== 'value' && condition.is !== 'open';

/** One unmet condition decides, whatever the others are. Otherwise an unknown one does. */
function testAll(conditions: readonly Condition[], callback: Callback, facts: Facts): Tested {
  let worst = MET;
  for (const condition of conditions) {
    worst = worse(worst, test(condition, callback, facts));
    if (worst.state === 'unmet') break;
  }
  return worst;
}

const SEVERITY = { met: 0, unknown: 1, unclear: 2, unmet: 3 } as const;

/** The one of the two that decides, with the standing of both. */
function worse(one: Tested, other: Tested): Tested {
  const worst = SEVERITY[other.state] > SEVERITY[one.state] ? other : one;
  if (one === MET || other === MET) return one === MET ? other : one;
  return { ...worst, ...combine('one', [one, other]) };
}

function test(condition: Condition, callback: Callback, facts: Facts): Tested {
  const { is } = condition;
  if (is === 'one-of') return testTexts(condition.member, condition.texts, callback);
  if (is === 'amount') return isWithin(callback.amount, condition.range) ? MET : UNMET;
  if (is === 'value') return testValue(condition, callback, facts);
  if (is === 'open') {
    const { verdict, valid, retryable } = condition.schedule.evaluate(callback, facts);
    return { state: verdict === 'pass' ? 'met' : 'unmet', valid, retryable };
  }
  if (is === 'signed') {
    const { scheme } = facts;
    if (scheme === undefined) return { state: 'unknown', because: 'its scheme is not known' };
    return condition.schemes.has(scheme) ? MET : UNMET;
  }
  const tested = testAll(condition.all, callback, facts);
  if (tested.state === 'met') return { ...tested, state: 'unmet' };
  return tested.state === 'unmet' ? { ...tested, state: 'met' } : tested;
}

/** Whether the member's values are among the texts: all, some or none of them. */
function testTexts(member: string, texts: ReadonlySet<string>, callback: Callback): Tested {
  const problem = comparisonProblem(callback, member);
  if (problem !== undefined) return { state: 'unclear', ...problem };
  const values = valuesOf(callback, member);
  if (values.length === 0) return { state: 'unknown', because: `${member} is missing` };
  let matches = 0;
  for (const value of values) if (texts.has(value)) matches++;
  if (matches === 0) return UNMET;
  if (matches === values.length) return MET;
  const because = `some values of ${member}, not all, are named under when`;
  return { state: 'unclear', because, values: { member } };
}

/** An unlimited amount is above every amount. */
function isWithin(amount: Amount | 'unlimited', { above, atLeast, below, atMost }: AmountRange): boolean {
  if (amount === 'unlimited') return below === undefined && atMost === undefined;
  return (
    (above === undefined || amount > above) &&
    (atLeast === undefined || amount >= atLeast) &&
    (below === undefined || amount < below) &&
    (atMost === undefined || amount <= atMost)
  );
}

function testValue(
  { range, maxAge }: Extract<Condition, { is: 'value' }>,
  callback: Callback,
  facts: Facts,
): Tested {
  const moved = knownAmounts(callback);
  if ('state' in moved) return moved;
  let value = 0n;
  let standing: Standing = { usesPrices: true, retryable: true };
  for (const { amount, symbol } of moved) {
    if (amount === 'unlimited') return isWithin(amount, range) ? MET : UNMET;
    const priced = priceOf(symbol, facts, maxAge);
    if ('verdict' in priced) return { ...priced, state: 'unknown' };
    value += valueAt(amount, priced.price);
    standing = combine('one', [standing, priced]);
  }
  return { ...standing, state: isWithin(value, range) ? 'met' : 'unmet' };
}

/** The amounts of the callback, or that they are unknown. */
function knownAmounts(callback: Callback): readonly MovedAmount[] | Tested {
  try {
    return amountsOf(callback);
  } catch (thrown) {
    if (thrown instanceof UnreadableMember) return { state: 'unknown', because: thrown.message };
    throw thrown;
  }
}

// ---- the set of callbacks that meet conditions ----

/** The members whose texts the conditions compare. */
export const membersIn = (conditions: readonly Condition[]): readonly string[] =>
  conditions.flatMap((each) =>
    each.is === 'one-of' ? [each.member] : each.is === 'not' ? membersIn(each.all) : [],
  );

/** The texts that both allow. A rule counts one symbol if its own conditions name it. */
export function bothTexts(outer: When['texts'], own: When['texts']): When['texts'] {
  const both = [...own].map(
    ([member, texts]) => [member, outer.get(member)?.intersection(texts) ?? texts] as const,
  );
  return new Map([...outer, ...both]);
}

/**
 * Whether `outer` applies, and is known to, wherever `inner` does. Where one of the members that both name is missing,
 * neither is known to.
 */
export const implies = (inner: Pick<When, 'texts'>, { conditions }: Pick<When, 'conditions'>): boolean =>
  conditions.every(
    (each) => each.is === 'one-of' && inner.texts.get(each.member)?.isSubsetOf(each.texts) === true,
  );

/** Members of which every callback has exactly one value. */
const ALWAYS_PRESENT = [SOURCE, 'symbol'];

/** Whether certainly no callback is one of both. One that lacks a member, or has several values, may be. */
export const excludes = (one: Pick<When, 'texts'>, other: Pick<When, 'texts'>): boolean =>
  ALWAYS_PRESENT.some((member) => {
    const [texts, others] = [one.texts.get(member), other.texts.get(member)];
    return texts !== undefined && others?.isDisjointFrom(texts) === true;
  });

/**
 * Whether every callback has what the condition looks at, so that it is met or not, and never unknown. An entry is
 * also judged if it is unknown whether the conditions around it are met.
 */
export const isAlwaysKnown = (condition: Condition): boolean =>
  condition.is === 'not'
    ? condition.all.every(isAlwaysKnown)
    : condition.is === 'one-of'
      ? ['amount', ...ALWAYS_PRESENT].includes(condition.member)
      : condition.is === 'amount' || condition.is === 'open';

/** Whether it, or a condition in it, is about the amount. */
export const isAboutAmount = (condition: Condition): boolean =>
  condition.is === 'not' ? condition.all.some(isAboutAmount) : valuesThatMeet(condition)?.of === 'amount';

/** Callbacks by the values that a property may have. A property that it doesn't name may have any. */
export type Region = ReadonlyMap<string, ValueSet>;

/** The amounts that callbacks of a kind have. */
export const amountsOfKind = (kind: Kind): ValueSet =>
  kind === 'web3' ? amounts(0n, UNLIMITED) : amounts(1n, UNLIMITED - 1n);

/**
 * The callbacks of a kind that meet all conditions. None of the regions is empty. They may have more callbacks, and
 * never have fewer: so no region proves that no callback meets the conditions.
 */
export const regionsOf = (kind: Kind, conditions: readonly Condition[]): readonly Region[] =>
  intersectAll([
    [new Map([['amount', amountsOfKind(kind)]])],
    ...conditions.map((each) => regionsWhere(each, true)),
  ]);

function regionsWhere(condition: Condition, isMet: boolean): readonly Region[] {
  if (condition.is === 'not') {
    const inner = condition.all.map((each) => regionsWhere(each, !isMet));
    return isMet ? inner.flat() : intersectAll(inner);
  }
  const values = valuesThatMeet(condition);
  if (values === undefined || (!isMet && !values.isExact)) return [new Map()];
  return [new Map([[values.of, isMet ? values.allows : complement(values.allows)]])];
}

/** The property that it looks at, and the values with which it is met; undefined if these can't be told. */
function valuesThatMeet(condition: Exclude<Condition, { is: 'not' }>):
  | {
      /** A member, or another property. The clocks of two zones are two properties. */
      readonly of: string;
      readonly allows: ValueSet;
      /** False if some of these values don't meet it. */
      readonly isExact: boolean;
    }
  | undefined {
  const { is } = condition;
  if (is === 'one-of') {
    const { member, texts } = condition;
    return { of: member, allows: namedValues(member, texts), isExact: true };
  }
  if (is === 'amount') return { of: 'amount', allows: amountsWithin(condition.range), isExact: true };
  if (is === 'value') {
    // What a transaction moves has another value than its native coins.
    return condition.ofMovements
      ? undefined
      : { of: 'value', allows: amountsWithin(condition.range), isExact: true };
  }
  if (is === 'signed')
    return { of: 'scheme', allows: namedValues('scheme', condition.schemes), isExact: true };
  const { zone, week, hasHolidays } = condition.schedule;
  return { of: `during in ${zone}`, allows: week, isExact: !hasHolidays };
}

function amountsWithin({ above, atLeast, below, atMost }: AmountRange): ValueSet {
  const from = above === undefined ? (atLeast ?? 0n) : above + 1n;
  return amounts(from, below === undefined ? atMost : below - 1n);
}

/** More regions than these are not told apart. */
const REGIONS_MAX = 256;

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
