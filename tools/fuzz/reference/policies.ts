/*
 * What policies decide, read a second time: docs/conditions.md, docs/movements.md and the pages of the rules,
 * as plainly as can be. All that was approved is kept, and counted anew for each callback. So are the
 * refusals that count for lock-outs.
 */

export interface Range {
  readonly above?: string;
  readonly atLeast?: string;
  readonly below?: string;
  readonly atMost?: string;
}

/** All of these must be met. */
export interface When {
  /** By member: the texts that it may have. */
  readonly texts?: Readonly<Record<string, readonly string[]>>;
  readonly amount?: Range;
  readonly value?: { readonly range: Range; readonly maxAgeMs: number };
  /** Minutes of the day in UTC, from and to. */
  readonly during?: readonly [from: number, to: number];
  readonly scheme?: readonly string[];
  readonly not?: When;
}

export interface Counting {
  readonly per: readonly string[];
  /** The length of a rolling window, or a calendar day in UTC. */
  readonly windowMs: number | 'day';
  /** Counts for all sources of the group together. */
  readonly acrossGroup?: true;
  /** The name of a count that rules of several policies share. */
  readonly counter?: string;
}

/** One amount, or with `by: asset` an amount for each. */
type Max = string | Readonly<Record<string, string>>;

/** `approvals: only`: judges the approvals of a transaction. */
interface OfMovements {
  readonly onlyApprovals?: true;
}

export type Rule =
  | { readonly name: 'pass' }
  | ({ readonly name: 'amount-limit'; readonly max: Max } & OfMovements)
  | ({ readonly name: 'window-limit'; readonly max: Max } & Counting & OfMovements)
  | ({ readonly name: 'velocity-limit'; readonly max: string } & Counting)
  | ({ readonly name: 'value-limit'; readonly max: string; readonly maxAgeMs: number } & OfMovements)
  | ({ readonly name: 'value-window'; readonly max: string; readonly maxAgeMs: number } & Counting &
      OfMovements)
  | ({
      readonly name: 'distinct-limit';
      readonly of: readonly string[];
      readonly onlyNew: boolean;
      readonly max: number;
    } & Counting)
  | { readonly name: 'allow-list' | 'deny-list'; readonly of: readonly string[]; readonly list: string }
  | {
      readonly name: 'cooling-period';
      readonly of: readonly string[];
      readonly list: string;
      readonly forMs: number;
    }
  | {
      readonly name: 'first-use-limit';
      readonly of: readonly string[];
      readonly max: Max;
      readonly forMs: number;
    }
  | { readonly name: 'schedule'; readonly during: readonly [from: number, to: number] }
  | {
      readonly name: 'lock-out';
      readonly per: readonly string[];
      readonly after: number;
      readonly withinMs: number;
      /** Infinity: until somebody lifts it. */
      readonly forMs: number;
    };

export type Entry = { readonly when?: When; readonly observe?: true } & (
  { readonly rule: Rule } | { readonly any: readonly Entry[] } | { readonly all: readonly Entry[] }
);

export interface Policy {
  readonly policy: string;
  readonly callback: 'payment' | 'transfer' | 'web3';
  readonly when?: When;
  /** Whether the rules see what a transaction moves. */
  readonly movements?: 'count';
  readonly rules: readonly Entry[];
}

/** What a transaction moves, or allows somebody to take. */
export interface Movement {
  readonly kind: 'native' | 'transfer' | 'approval';
  readonly to: string;
  readonly asset: string;
  readonly amount: bigint | 'unlimited';
}

/** What a callback says. */
export interface Facts {
  readonly kind: Policy['callback'];
  readonly id: string;
  /** Those that it lacks are absent. Only `to` may have several. */
  readonly members: Readonly<Record<string, readonly string[]>>;
  /** Of a transaction, undefined if its call data can't be read. Otherwise what each address gets. */
  readonly movements: readonly Movement[] | undefined;
  readonly scheme: string | undefined;
}

// ---- amounts ----

const PLACES = 36;

/** In units of 10^-36. */
export function units(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(PLACES, '0'));
}

const UNIT = units('1');

/** A product of two amounts, rounded up at the last place. */
const roundedUp = (product: bigint): bigint => product / UNIT + (product % UNIT === 0n ? 0n : 1n);

const isIn = (amount: bigint, { above, atLeast, below, atMost }: Range): boolean =>
  (above === undefined || amount > units(above)) &&
  (atLeast === undefined || amount >= units(atLeast)) &&
  (below === undefined || amount < units(below)) &&
  (atMost === undefined || amount <= units(atMost));

// ---- what is known beside the callback ----

interface Price {
  readonly price: bigint;
  readonly asOfMs: number;
}

/** What approvals left: a sum, a mark or a counted value. */
interface Left {
  readonly key: string;
  readonly subject: string;
  readonly atMs: number;
  readonly untilMs: number;
  readonly amount: bigint;
  readonly value: string;
}

/** What the approvals of a source, or of a group of sources, have left. */
export class Counts {
  #left: Left[] = [];
  /** By mark, its first approval. */
  readonly #firsts = new Map<string, { readonly atMs: number; readonly subject: string }>();

  counting(key: string, atMs: number): readonly Left[] {
    return this.#left.filter((each) => each.key === key && atMs < each.untilMs);
  }

  leave(left: Left): void {
    this.#left.push(left);
  }

  /** A subject counts once, at its latest approval: what it left in a sum before does not count any more. */
  forget(key: string, subject: string): void {
    this.#left = this.#left.filter(
      (each) => each.key !== key || each.subject !== subject || each.value !== '',
    );
  }

  firstMs(mark: string): number | undefined {
    return this.#firsts.get(mark)?.atMs;
  }

  /** Whether no other subject had it before. */
  isNew(mark: string, subject: string): boolean {
    return (this.#firsts.get(mark)?.subject ?? subject) === subject;
  }

  mark(mark: string, subject: string, atMs: number): void {
    if (!this.#firsts.has(mark)) this.#firsts.set(mark, { atMs, subject });
  }

  /** Sums are given back. Values stay counted, because other approvals may count them as well. */
  giveBack(subject: string): void {
    this.#left = this.#left.filter((each) => each.subject !== subject || each.value !== '');
  }
}

/** Who is locked out. */
export interface Lockout {
  readonly policy: string;
  readonly whose: string;
  readonly refusals: number;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The refusals of a source that count, and who is locked out for them. */
class Lockouts {
  /** By key, until when an operation counts. */
  readonly #refused = new Map<string, Map<string, number>>();
  readonly #locked = new Map<string, Lockout>();

  isLocked(key: string, atMs: number): boolean {
    return atMs < (this.#locked.get(key)?.untilMs ?? -Infinity);
  }

  standing(atMs: number): readonly (Lockout & { readonly key: string })[] {
    const all = [...this.#locked].map(([key, lockout]) => ({ key, ...lockout }));
    return all.filter(({ untilMs: end }) => atMs < end);
  }

  lift(key: string): void {
    this.#locked.delete(key);
  }

  /** Counts a refusal of the operation. Rules of one key, in different alternatives, count it once. */
  refuse(checked: readonly LockoutNeed[], subject: string, atMs: number): void {
    for (const [key, rules] of Map.groupBy(checked, (rule) => rule.key)) {
      if (this.isLocked(key, atMs)) continue;
      const before = [...(this.#refused.get(key) ?? [])].filter(([, end]) => atMs < end);
      const counted = new Map(before);
      const end = Math.max(...rules.map(({ withinMs }) => atMs + withinMs), counted.get(subject) ?? 0);
      counted.set(subject, end);
      const locking = rules.filter(({ after }) => counted.size >= after);
      const [first] = locking;
      if (first === undefined) {
        this.#refused.set(key, counted);
        continue;
      }
      const { policy, whose } = first;
      const untilAtMs = Math.max(...locking.map(({ forMs }) => atMs + forMs));
      this.#refused.delete(key);
      this.#locked.set(key, { policy, whose, refusals: counted.size, sinceMs: atMs, untilMs: untilAtMs });
    }
  }
}

/** All that one source's decisions depend on. */
export class Ledger {
  readonly source: string;
  readonly lockouts = new Lockouts();
  readonly lists = new Map<string, Map<string, number>>();
  prices: ReadonlyMap<string, Price> = new Map();
  readonly own = new Counts();
  /** The counts of the source's group; undefined without a group. */
  readonly group: Counts | undefined;
  readonly #released = new Set<string>();

  constructor(source: string, group?: Counts) {
    this.source = source;
    this.group = group;
  }

  /** An approved operation failed. */
  release(facts: Facts): void {
    const subject = subjectOf(facts);
    this.#released.add(subject);
    this.own.giveBack(subject);
    this.group?.giveBack(subject);
  }

  isReleased(facts: Facts): boolean {
    return this.#released.has(subjectOf(facts));
  }

  countsOf({ acrossGroup }: Counting): Counts | undefined {
    return acrossGroup === true ? this.group : this.own;
  }
}

// ---- conditions ----

/** `some`: of the values of a member, some and not all. */
type Met = 'yes' | 'no' | 'unknown' | 'some';

interface Case {
  readonly facts: Facts;
  readonly ledger: Ledger;
  readonly atMs: number;
}

/** The movements that amounts and values are made of. */
function countedIn({ facts }: Case, { onlyApprovals }: OfMovements = {}): readonly Movement[] | undefined {
  return facts.movements?.filter(({ kind }) => kind === 'approval' || onlyApprovals !== true);
}

/** The sum of each asset. Undefined if one is not known, or unlimited. A native amount of zero is none. */
function sumsOf(movements: readonly Movement[] | undefined): ReadonlyMap<string, bigint> | undefined {
  const sums = new Map<string, bigint>();
  for (const { kind, asset, amount } of movements ?? []) {
    if (amount === 'unlimited') return undefined;
    if (kind !== 'native' || amount > 0n) sums.set(asset, (sums.get(asset) ?? 0n) + amount);
  }
  return movements && sums;
}

/** The value of everything that is counted. Undefined if it is not known. */
function totalOf(of: Case, movements: readonly Movement[] | undefined, maxAgeMs: number): bigint | undefined {
  const values = [...(sumsOf(movements) ?? [['', undefined] as const])].map(([asset, sum]) => {
    const price = priceOf(of, asset, maxAgeMs);
    return price === undefined || sum === undefined ? undefined : sum * price;
  });
  if (!values.every((each) => each !== undefined)) return undefined;
  return roundedUp(values.reduce((sum, each) => sum + each, 0n));
}

/**
 * Whether a price is missing without which it is not known whether the movements are in a range of values.
 */
function lacksPrice(when: When | undefined, of: Case): boolean {
  if (when === undefined) return false;
  return (
    (when.value !== undefined && isUnpriced(of, countedIn(of), when.value.maxAgeMs)) ||
    lacksPrice(when.not, of)
  );
}

/** Whether only prices are missing for the value of the movements. */
function isUnpriced(of: Case, movements: readonly Movement[] | undefined, maxAgeMs: number): boolean {
  const sums = sumsOf(movements);
  return sums !== undefined && [...sums.keys()].some((asset) => priceOf(of, asset, maxAgeMs) === undefined);
}

function meets(when: When | undefined, of: Case): Met {
  if (when === undefined) return 'yes';
  const { facts, atMs } = of;
  const { texts = {}, amount, value, during, scheme, not } = when;
  const all: Met[] = Object.entries(texts).map(([member, allowed]) => {
    if (member === 'to' && facts.movements === undefined) return 'some';
    const values = facts.members[member] ?? [];
    if (values.length === 0) return 'unknown';
    const met = values.filter((each) => allowed.includes(each)).length;
    return met === 0 ? 'no' : met === values.length ? 'yes' : 'some';
  });
  const say = (met: boolean | undefined): void =>
    void all.push(met === undefined ? 'unknown' : met ? 'yes' : 'no');
  if (amount !== undefined) say(isIn(sumsOf(facts.movements)?.values().next().value ?? 0n, amount));
  if (during !== undefined) say(isDuring(during, atMs));
  if (scheme !== undefined) say(facts.scheme === undefined ? undefined : scheme.includes(facts.scheme));
  if (value !== undefined) {
    const { range, maxAgeMs } = value;
    const movements = countedIn(of);
    // Unlimited is above every value.
    const isUnlimited = movements?.some((each) => each.amount === 'unlimited') === true;
    const total = totalOf(of, movements, maxAgeMs);
    if (isUnlimited) say(range.below === undefined && range.atMost === undefined);
    else say(total === undefined ? undefined : isIn(total, range));
  }
  if (not !== undefined) {
    const met = meets(not, of);
    all.push(met === 'yes' ? 'no' : met === 'no' ? 'yes' : met);
  }
  return all.includes('no')
    ? 'no'
    : all.includes('some')
      ? 'some'
      : all.includes('unknown')
        ? 'unknown'
        : 'yes';
}

const AHEAD_MS = 60_000;

function priceOf({ ledger, atMs }: Case, asset: string, maxAgeMs: number): bigint | undefined {
  const found = ledger.prices.get(asset);
  if (found === undefined || atMs - found.asOfMs > maxAgeMs || found.asOfMs - atMs > AHEAD_MS)
    return undefined;
  return found.price;
}

function isDuring([from, to]: readonly [number, number], atMs: number): boolean {
  const minute = Math.floor(atMs / 60_000) % 1440;
  return from < to ? minute >= from && minute < to : minute >= from || minute < to;
}

// ---- what must be found ----

type Need =
  | {
      readonly kind: 'sum';
      readonly counts: Counts;
      readonly key: string;
      readonly amount: bigint;
      readonly max: bigint;
      readonly counting: Counting;
    }
  | {
      readonly kind: 'listed';
      readonly list: string;
      readonly texts: readonly string[];
      readonly on: boolean;
    }
  | {
      readonly kind: 'aged';
      readonly list: string;
      readonly texts: readonly string[];
      readonly forMs: number;
    }
  | {
      readonly kind: 'known';
      readonly counts: Counts;
      readonly mark: string;
      readonly forMs: number;
      readonly isLittle: boolean;
    }
  | {
      readonly kind: 'distinct';
      readonly counts: Counts;
      readonly key: string;
      readonly values: readonly string[];
      /** The marks of the values, with `only: new`. */
      readonly marks: readonly string[] | undefined;
      readonly max: number;
      readonly counting: Counting;
    }
  | {
      readonly kind: 'one';
      /** Each with its number in the list. The last may need nothing. */
      readonly alternatives: readonly { readonly number: number; readonly needs: readonly Need[] }[];
      /** Whether something failed in one of all its alternatives. */
      readonly broken: boolean;
    }
  | LockoutNeed
  /** It applies only because something failed. */
  | { readonly kind: 'broken'; readonly need: Need };

/** The key is not locked out. */
interface LockoutNeed {
  readonly kind: 'lockout';
  readonly key: string;
  readonly policy: string;
  readonly whose: string;
  readonly after: number;
  readonly withinMs: number;
  readonly forMs: number;
}

/**
 * What an entry comes to. `sure`: it applies for certain. `counts`: it refuses for a reason of its own, and
 * not only because something failed. `broken`: something in it failed, such as a price that is missing.
 */
type Came = 'absent' | Fails | Holds;
interface Fails {
  readonly fails: true;
  readonly counts: boolean;
  readonly broken: boolean;
  /** Of the other rules, which are looked up all the same. */
  readonly needs: readonly Need[];
}
interface Holds {
  readonly fails: false;
  readonly sure: boolean;
  readonly broken: boolean;
  readonly needs: readonly Need[];
}

interface Place {
  readonly policy: string;
  /** The conditions around, for each of which there is a count of its own. */
  readonly around: readonly When[];
  readonly observes: boolean;
  /** Whether it applies only because a price is missing. */
  readonly broken: boolean;
}

function came(entry: Entry, of: Case, place: Place, isAlternative: boolean): Came {
  const met = meets(entry.when, of);
  const isBroken = place.broken || (met === 'unknown' && lacksPrice(entry.when, of));
  if (met === 'some' || (isAlternative && met === 'no')) return failsAt(place);
  if (isAlternative && met === 'unknown') return failsAt({ broken: isBroken });
  if (met === 'no') return 'absent';
  const around = entry.when === undefined ? place.around : [...place.around, entry.when];
  const inner = { ...place, around, broken: isBroken };
  const found =
    'rule' in entry
      ? ofRule(entry.rule, of, inner)
      : 'any' in entry
        ? ofAny(entry.any, of, inner)
        : ofAll(entry.all, of, inner, isAlternative);
  if (found === 'absent') return found;
  const all = isBroken ? found.needs.map((need) => ({ kind: 'broken', need }) as const) : found.needs;
  return found.fails ? { ...found, needs: all } : { ...found, needs: all, sure: found.sure && met === 'yes' };
}

function ofAll(entries: readonly Entry[], of: Case, place: Place, isAlternative: boolean): Came {
  const all = entries.map((entry) => came(entry, of, place, false)).filter((each) => each !== 'absent');
  const broken = all.some((each) => each.broken);
  const looked = all.flatMap((each) => each.needs);
  const failing = all.filter((each) => each.fails);
  if (failing.length > 0) {
    return { fails: true, counts: failing.some(({ counts }) => counts), broken, needs: looked };
  }
  const sure = all.some((each) => !each.fails && each.sure);
  if (isAlternative && !sure) return failsAt({ broken: place.broken || broken });
  return all.length === 0 ? 'absent' : { fails: false, sure, broken, needs: looked };
}

function ofAny(entries: readonly Entry[], of: Case, place: Place): Came {
  const alternatives: { readonly number: number; readonly needs: readonly Need[] }[] = [];
  let [sure, broken] = [true, false];
  for (const [at, entry] of entries.entries()) {
    const alternative = came(entry, of, place, true);
    if (alternative === 'absent') continue;
    broken ||= alternative.broken;
    if (alternative.fails) continue;
    alternatives.push({ number: at + 1, needs: alternative.needs });
    // A lock-out covers nothing. Whether another alternative is taken is only known later.
    sure &&= alternative.sure;
    // Nobody looks at those behind one that holds in any case.
    if (holdsAnyway(alternative.needs)) break;
  }
  return alternatives.length === 0
    ? failsAt({ broken: broken || place.broken })
    : { fails: false, sure, broken, needs: [{ kind: 'one', alternatives, broken }] };
}

/** Also a nested `any` needs nothing if its first alternative that may hold needs nothing. */
const holdsAnyway = (needed: readonly Need[]): boolean =>
  needed.every(
    (need) => need.kind === 'one' && need.alternatives.slice(0, 1).some((first) => holdsAnyway(first.needs)),
  );

const PASSES: Came = { fails: false, sure: true, broken: false, needs: [] };
const failsAt = ({ broken }: Pick<Place, 'broken'>): Fails => ({
  fails: true,
  counts: !broken,
  broken,
  needs: [],
});

function ofRule(rule: Rule, of: Case, place: Place): Came {
  const { facts, ledger, atMs } = of;
  const fails = failsAt(place);
  const passes = (met: boolean): Came => (met ? PASSES : fails);
  if (
    (rule.name === 'value-limit' || rule.name === 'value-window') &&
    isUnpriced(of, countedIn(of, rule), rule.maxAgeMs)
  ) {
    return failsAt({ broken: true });
  }
  const counts = 'windowMs' in rule ? ledger.countsOf(rule) : ledger.own;
  // A rule counts across the group of a source that has none.
  if (counts === undefined) return fails;
  switch (rule.name) {
    case 'pass':
      return PASSES;
    case 'schedule':
      return passes(isDuring(rule.during, atMs));
    case 'amount-limit': {
      const sums = sumsOf(countedIn(of, rule));
      return passes(sums !== undefined && [...sums].every(([asset, sum]) => sum <= maxOf(rule.max, asset)));
    }
    case 'value-limit': {
      const total = totalOf(of, countedIn(of, rule), rule.maxAgeMs);
      return passes(total !== undefined && total <= units(rule.max));
    }
    case 'window-limit': {
      const room = (asset: string, amount: bigint) => ({ amount, max: maxOf(rule.max, asset), coin: asset });
      return forEach(rule.per, of, place, (values, to) => {
        const sums = sumsOf(countedIn(of, rule)?.filter((each) => to === undefined || each.to === to));
        const all = sums && [...sums].map(([asset, sum]) => room(asset, sum));
        // An asset that has no maximum is refused.
        if (all?.every(({ max }) => max >= 0n) !== true) return undefined;
        return all.map(({ coin, ...more }): Need => {
          const key = keyOf(rule.name, [coin, rule.onlyApprovals], rule, place, values);
          return { kind: 'sum', counts, key, ...more, counting: rule };
        });
      });
    }
    case 'value-window':
      return forEach(rule.per, of, place, (values, to) => {
        const movements = countedIn(of, rule)?.filter((each) => to === undefined || each.to === to);
        const amount = totalOf(of, movements, rule.maxAgeMs);
        if (amount === undefined) return undefined;
        if (sumsOf(movements)?.size === 0) return [];
        const key = keyOf(rule.name, rule.onlyApprovals, rule, place, values);
        return [{ kind: 'sum', counts, key, amount, max: units(rule.max), counting: rule }];
      });
    case 'velocity-limit':
      return forEach(rule.per, of, place, (values) => {
        const key = keyOf(rule.name, '', rule, place, values);
        return [{ kind: 'sum', counts, key, amount: UNIT, max: units(rule.max), counting: rule }];
      });
    case 'allow-list':
    case 'deny-list': {
      const texts = textsOf(rule.of, facts);
      const on = rule.name === 'allow-list';
      return texts ? needs({ kind: 'listed', list: rule.list, texts, on }) : fails;
    }
    case 'cooling-period': {
      const texts = textsOf(rule.of, facts);
      return texts ? needs({ kind: 'aged', list: rule.list, texts, forMs: rule.forMs }) : fails;
    }
    case 'first-use-limit':
      return forEach(rule.of, of, place, (values, to) => {
        const sums = sumsOf(countedIn(of)?.filter((each) => to === undefined || each.to === to));
        const all = sums && [...sums].map(([asset, sum]) => ({ asset, sum, max: maxOf(rule.max, asset) }));
        if (all?.every(({ max }) => max >= 0n) !== true) return undefined;
        return all.map(({ asset, sum, max }): Need => {
          const mark = JSON.stringify(['known', place.policy, rule.of, asset, values]);
          return { kind: 'known', counts, mark, forMs: rule.forMs, isLittle: sum <= max };
        });
      });
    case 'distinct-limit': {
      const { of: members, onlyNew, max, per } = rule;
      const texts = textsOf(members, facts);
      if (texts === undefined) return fails;
      return forEach(per, of, place, (values) => {
        const key = keyOf(rule.name, [members, onlyNew], rule, place, values);
        const owner = rule.counter ?? [place.policy, place.around];
        const marks = texts.map((text) => JSON.stringify(['new', owner, members, per, values, text]));
        const marked = onlyNew ? marks : undefined;
        return [{ kind: 'distinct', counts, key, values: texts, marks: marked, max, counting: rule }];
      });
    }
    case 'lock-out': {
      const { name, per, after, withinMs, forMs } = rule;
      const { policy, around, observes } = place;
      const found = forEach(per, of, place, (values): readonly Need[] => {
        const named = per.map((member, at) => `${member} ${values[at]}`).toSorted();
        const whose = named.join(', ') || `source ${ledger.source}`;
        const key = JSON.stringify([name, policy, around, per, observes, values]);
        return [{ kind: 'lockout', key, policy, whose, after, withinMs, forMs }];
      });
      // It covers nothing.
      return found === 'absent' || found.fails ? found : { ...found, sure: false };
    }
    default:
      throw new TypeError('no such rule');
  }
}

const needs = (...all: readonly Need[]): Came => ({ fails: false, sure: true, broken: false, needs: all });

/** Below zero for an asset that is not in the table. */
const maxOf = (max: Max, asset: string): bigint => {
  const own = typeof max === 'string' ? max : max[asset];
  return own === undefined ? -1n : units(own);
};

/** What is needed for the values of the members: once, or with `to` once for each recipient. */
function forEach(
  members: readonly string[],
  { facts }: Case,
  place: Place,
  needed: (values: readonly string[], to: string | undefined) => readonly Need[] | undefined,
): Came {
  if (!members.includes('to')) {
    const values = members.map((member) => facts.members[member]?.[0]);
    const all = values.every((each) => each !== undefined) ? needed(values, undefined) : undefined;
    return all ? needs(...all) : failsAt(place);
  }
  if (facts.movements === undefined) return failsAt(place);
  const all = recipientsOf(facts.movements).map((to) => {
    const values = members.map((member) => (member === 'to' ? to : facts.members[member]?.[0]));
    return values.every((each) => each !== undefined) ? needed(values, to) : undefined;
  });
  return all.every((each) => each !== undefined) ? needs(...all.flat()) : failsAt(place);
}

const recipientsOf = (movements: readonly Movement[]): readonly string[] => [
  ...new Set(movements.map(({ to }) => to)),
];

/** The texts to look up: one, or one for each recipient. Undefined if a member is missing. */
function textsOf(
  members: readonly string[],
  { members: values, movements }: Facts,
): readonly string[] | undefined {
  if (!members.includes('to')) {
    const texts = members.map((member) => values[member]?.[0]);
    return texts.every((each) => each !== undefined) ? [texts.join(' ')] : undefined;
  }
  const all = movements?.map(({ to, asset }) =>
    members.map((member) => (member === 'to' ? to : member === 'symbol' ? asset : values[member]?.[0])),
  );
  if (all?.every((each) => each.every((text) => text !== undefined)) !== true) return undefined;
  return [...new Set(all.map((each) => each.join(' ')))];
}

function keyOf(
  rule: string,
  more: unknown,
  { per, windowMs, acrossGroup, counter }: Counting,
  { policy, around }: Place,
  values: readonly string[],
): string {
  const owner = counter === undefined ? [policy, around] : counter;
  return JSON.stringify([rule, more, owner, per, windowMs, acrossGroup, values]);
}

// ---- the decision ----

const PARTS = 60;
const DAY_MS = 86_400_000;

/** Until when an approval at the instant counts. A rolling sum counts by parts of its window. */
function untilMs({ windowMs }: Counting, atMs: number, isExact: boolean): number {
  if (windowMs === 'day') return (Math.floor(atMs / DAY_MS) + 1) * DAY_MS;
  const part = Math.ceil(windowMs / PARTS);
  return isExact ? atMs + windowMs : (Math.floor(atMs / part) + 1) * part + windowMs;
}

export interface Decided {
  readonly approves: boolean;
  /** Of each `any` of a policy that applies: the alternative that is taken, 0 for none. */
  readonly took: readonly number[];
  /** What a refusal counts for if it is decided anew, and refuses by a rule. */
  readonly counting: readonly LockoutNeed[];
}

/** What is decided. An approval leaves what it reserves in the ledger. */
export function decide(policies: readonly Policy[], facts: Facts, ledger: Ledger, atMs: number): Decided {
  if (ledger.isReleased(facts)) return { approves: false, took: [], counting: [] };
  const search = new Search({ facts, ledger, atMs });
  const took: number[] = [];
  let [covered, refused, counts] = [false, false, false];
  for (const policy of policies.toSorted((a, b) => (a.policy < b.policy ? -1 : 1))) {
    if (policy.callback !== facts.kind) continue;
    const of = { facts, ledger, atMs };
    const met = meets(policy.when, of);
    if (met === 'no') continue;
    if (met === 'some' && policy.rules.some(({ observe }) => observe !== true)) {
      refused = true;
      counts = true;
    }
    const broken = met === 'unknown' && lacksPrice(policy.when, of);
    for (const entry of policy.rules) {
      const place = { policy: policy.policy, around: [], observes: entry.observe === true, broken };
      const found = came(entry, of, place, false);
      if (found === 'absent') continue;
      const results = found.needs.map((need) => search.find(need));
      const numbers = found.fails ? [0] : results.map(({ number }) => number);
      if ('any' in entry) took.push(...numbers);
      if (entry.observe === true) continue;
      if (numbers.includes(0)) refused = true;
      else covered ||= met === 'yes' && !found.fails && found.sure;
      counts ||= (found.fails && found.counts) || results.some((each) => each.counts);
    }
  }
  const approves = covered && !refused;
  if (approves) search.reserve();
  return { approves, took, counting: !approves && counts ? search.lockouts : [] };
}

/** A refusal that was decided anew, by a rule. */
export function countRefusal({ counting }: Decided, facts: Facts, ledger: Ledger, atMs: number): void {
  ledger.lockouts.refuse(counting, subjectOf(facts), atMs);
}

type Found = Exclude<Need, { readonly kind: 'one' | 'broken' | 'lockout' }>;

/** What is found for a need. `number`: of the alternative that is taken; 0 if it does not hold. */
interface Result {
  readonly number: number;
  /** Whether it refuses for a reason of its own. */
  readonly counts: boolean;
}

/** What the needs of one callback find, and what they would reserve. */
class Search {
  readonly #case: Case;
  readonly #taken: Found[] = [];
  /** Those that were looked at. */
  readonly lockouts: LockoutNeed[] = [];
  /** How many needs so far failed for no reason of their own. */
  #broken = 0;

  constructor(of: Case) {
    this.#case = of;
  }

  find(need: Need): Result {
    const before = this.#broken;
    const number = this.#find(need);
    const isBroken = this.#broken > before || (need.kind === 'one' && need.broken);
    return { number, counts: number === 0 && !isBroken };
  }

  /**
   * Of alternatives, the first that holds is taken, and its number returned. Everything else is taken whether
   * it holds or not. Returns 0 for what does not hold.
   */
  #find(need: Need): number {
    if (need.kind === 'broken') {
      const number = this.#find(need.need);
      if (number === 0) this.#broken++;
      return number;
    }
    if (need.kind === 'lockout') {
      const { ledger, atMs } = this.#case;
      this.lockouts.push(need);
      const isLocked = ledger.lockouts.isLocked(need.key, atMs);
      if (isLocked) this.#broken++;
      return isLocked ? 0 : 1;
    }
    if (need.kind !== 'one') {
      const holds = this.#holds(need);
      const lacksList =
        (need.kind === 'listed' || need.kind === 'aged') && !this.#case.ledger.lists.has(need.list);
      if (lacksList) this.#broken++;
      this.#taken.push(need);
      return holds ? 1 : 0;
    }
    const taken = need.alternatives.find((alternative) => {
      const before = this.#taken.length;
      const holds = alternative.needs.every((each) => this.#find(each) > 0);
      if (!holds) this.#taken.length = before;
      return holds;
    });
    return taken?.number ?? 0;
  }

  #holds(need: Found): boolean {
    const { ledger, atMs } = this.#case;
    switch (need.kind) {
      case 'sum': {
        const own = subjectOf(this.#case.facts);
        const others = need.counts.counting(need.key, atMs).filter(({ subject }) => subject !== own);
        const before = others.reduce((sum, { amount }) => sum + amount, this.#asked(need));
        return before + need.amount <= need.max;
      }
      case 'listed': {
        const list = ledger.lists.get(need.list);
        return list !== undefined && need.texts.every((text) => list.has(text) === need.on);
      }
      case 'aged': {
        const list = ledger.lists.get(need.list);
        return need.texts.every((text) => (list?.get(text) ?? Infinity) + need.forMs <= atMs);
      }
      case 'known':
        return need.isLittle || (need.counts.firstMs(need.mark) ?? Infinity) + need.forMs <= atMs;
      case 'distinct': {
        const counted = new Set(need.counts.counting(need.key, atMs).map(({ value }) => value));
        const counting = this.#counting(need);
        const all = new Set([...counted, ...counting]);
        return counting.length === 0 || all.size <= need.max;
      }
      default:
        throw new TypeError('no such need');
    }
  }

  /** The values that count: all, or with `only: new` those that no other operation had before. */
  #counting({ counts, values, marks }: Extract<Need, { readonly kind: 'distinct' }>): readonly string[] {
    const subject = subjectOf(this.#case.facts);
    return values.filter((_, at) => marks === undefined || counts.isNew(marks[at] ?? '', subject));
  }

  /** What the callback's other needs ask of the same count. */
  #asked(of: Extract<Need, { readonly kind: 'sum' }>): bigint {
    return this.#taken.reduce(
      (sum, need) => (need.kind === 'sum' && need.key === of.key ? sum + need.amount : sum),
      0n,
    );
  }

  reserve(): void {
    const { facts, atMs } = this.#case;
    const left: (Omit<Left, 'subject' | 'atMs'> & { readonly counts: Counts })[] = [];
    const marks: { readonly counts: Counts; readonly mark: string }[] = [];
    for (const need of this.#taken) {
      if (need.kind === 'known') marks.push(need);
      if (need.kind === 'sum') {
        left.push({ ...need, value: '', untilMs: untilMs(need.counting, atMs, false) });
      }
      if (need.kind === 'distinct') {
        const { counts, key } = need;
        marks.push(...(need.marks ?? []).map((mark) => ({ counts, mark })));
        const until = untilMs(need.counting, atMs, true);
        const values = this.#counting(need);
        left.push(...values.map((value) => ({ counts, key, amount: 0n, value, untilMs: until })));
      }
    }
    const subject = subjectOf(facts);
    for (const { counts, key, value } of left) if (value === '') counts.forget(key, subject);
    for (const { counts, key, amount, value, untilMs: until } of left) {
      counts.leave({ key, amount, value, untilMs: until, subject, atMs });
    }
    for (const { counts, mark } of marks) counts.mark(mark, subject, atMs);
  }
}

const subjectOf = ({ kind, id }: Facts): string => `${kind}:${id}`;
