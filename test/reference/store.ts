import { countsUntilMs } from './policy.ts';
import { type Question, subjectOf } from './question.ts';
import type { LockoutWanted, Wanted } from './rules.ts';

/*
 * What the store keeps, and what it finds: every sum, mark and entry is found anew each time in all that ever
 * happened.
 */

/** An order, or what was made of it. */
export interface OrderChange {
  readonly subject: string;
  /** What is announced; without it the order is cancelled. */
  readonly announce?: { readonly members: Question['orderMembers']; readonly expiresAtMs: number };
}
export type OrderOutcome = 'expected' | 'unchanged' | 'conflict' | 'cancelled' | 'ended' | 'NOT_FOUND';

interface Order {
  readonly members: Question['orderMembers'];
  readonly expiresAtMs: number;
  state: 'expected' | 'cancelled' | 'used';
}

/** What an approval reserved, and for whom. Sources have no subject in common. */
export interface Reservation {
  readonly atMs: number;
  readonly subject: string;
  readonly wanted: Wanted;
}

/** What is found for something wanted. It has more members, which depend on the type. */
export type Found = Readonly<Record<string, unknown>> & {
  readonly type: string;
  readonly holds: boolean;
  /** Of a list that does not exist. */
  readonly missing?: boolean;
};

/** Approvals of the subject that is asked about. */
export interface Approvals {
  /** When the question without a speed-up was approved; 0 for never. */
  readonly approvedAtMs: number;
  /** How many other speed-ups of it were approved. */
  readonly speedUps: number;
}

/** A question that is being settled. */
interface Settling {
  readonly question: Question;
  readonly approvals: Approvals;
  readonly atMs: number;
  /** What else it wants, and was looked up before. */
  readonly before: readonly Wanted[];
}

/** Lists, orders, lock-outs, and what approvals reserved, of one source. */
export class StateModel {
  readonly lockouts = new Lockouts();
  readonly #lists: {
    readonly list: string;
    readonly value: string;
    readonly on: boolean;
    readonly atMs: number;
  }[] = [];
  readonly #orders = new Map<string, Order>();
  /** Of all sources that count together. */
  readonly #reserved: Reservation[];

  constructor(reserved: Reservation[]) {
    this.#reserved = reserved;
  }

  /** Adds the value to the list if it is not there, else removes it. */
  toggle(list: string, value: string, atMs: number): void {
    this.#lists.push({ list, value, on: this.addedAtMs(list, value) === undefined, atMs });
  }

  /** Since when the list has held the value; undefined if it does not. */
  addedAtMs(list: string, value: string): number | undefined {
    const last = this.#lists.findLast((each) => each.list === list && each.value === value);
    return last?.on === true ? last.atMs : undefined;
  }

  changesOf(list: string): number {
    return this.#lists.filter((each) => each.list === list).length;
  }

  /** What a change of an order comes to at that time, and what it leaves. */
  foretellOrder({ subject, announce }: OrderChange, atMs: number): OrderOutcome {
    const order = this.#orders.get(subject);
    const isOpen = order?.state === 'expected' && atMs < order.expiresAtMs;
    if (announce === undefined) return order === undefined ? 'NOT_FOUND' : isOpen ? 'cancelled' : 'ended';
    if (order?.state === 'used') return 'conflict';
    if (!isOpen) return 'expected';
    const same =
      order.expiresAtMs === announce.expiresAtMs && textOf(order.members) === textOf(announce.members);
    return same ? 'unchanged' : 'conflict';
  }

  changeOrder(change: OrderChange, atMs: number): void {
    const outcome = this.foretellOrder(change, atMs);
    const order = this.#orders.get(change.subject);
    if (outcome === 'cancelled' && order !== undefined) order.state = 'cancelled';
    if (outcome === 'expected' && change.announce !== undefined)
      this.#orders.set(change.subject, { ...change.announce, state: 'expected' });
  }

  check(wanted: Wanted, settling: Settling): Found {
    const { question, approvals, atMs } = settling;
    const subject = subjectOf(question);
    switch (wanted.type) {
      case 'list': {
        const present = wanted.values.filter((value) => this.addedAtMs(wanted.list, value) !== undefined);
        const missing = this.changesOf(wanted.list) === 0;
        const holds = !missing && present.length === (wanted.listed ? wanted.values.length : 0);
        return { type: 'list', holds, missing, present };
      }
      case 'aged': {
        const added = wanted.values.flatMap((value) => {
          const since = this.addedAtMs(wanted.list, value);
          return since === undefined ? [] : [[value, since] as const];
        });
        const aged = added.filter(([, since]) => atMs - since >= wanted.ageMs);
        const missing = this.changesOf(wanted.list) === 0;
        return { type: 'aged', holds: aged.length === wanted.values.length, missing, added };
      }
      case 'window':
        return this.#checkWindow(wanted, subject, settling);
      case 'distinct':
        return this.#checkDistinct(wanted, subject, settling);
      case 'mark': {
        const first = this.#reserved.find(({ wanted: each }) => 'mark' in each && each.mark === wanted.mark);
        const isKnown = first !== undefined && atMs - first.atMs >= wanted.ageMs;
        return { type: 'mark', holds: wanted.exempt || isKnown, markedAtMs: first?.atMs ?? 0 };
      }
      case 'order':
        return checkOrder(this.#orders.get(subject), wanted.members, atMs);
      case 'approval':
        return { type: 'approval', holds: wanted.approval === 'current', approval: wanted.approval };
      case 'speed-up': {
        const { approvedAtMs, speedUps } = approvals;
        const isSoon = approvedAtMs > 0 && atMs - approvedAtMs <= wanted.withinMs;
        return { type: 'speed-up', holds: isSoon && speedUps < wanted.max, approvedAtMs, speedUps };
      }
      case 'refusals':
        return this.lockouts.check(wanted, atMs);
      default:
        throw new TypeError('no such claim');
    }
  }

  /** A subject counts once, so what it reserved before does not stand in its way. */
  #checkWindow(
    { counter, amount, max }: Extract<Wanted, { readonly type: 'window' }>,
    subject: string,
    { atMs, before }: Settling,
  ): Found {
    let [reserved, used] = [0n, 0n];
    for (const { wanted, subject: whose, atMs: thenMs } of this.#reserved) {
      if (wanted.type !== 'window' || wanted.counter !== counter) continue;
      if (atMs >= countsUntilMs(wanted.window, thenMs, { isExact: false })) continue;
      if (whose === subject) reserved += wanted.amount;
      else used += wanted.amount;
    }
    for (const each of before) if (each.type === 'window' && each.counter === counter) used += each.amount;
    return { type: 'window', holds: used + amount <= max, reserved, used };
  }

  #checkDistinct(
    wanted: Extract<Wanted, { readonly type: 'distinct' }>,
    subject: string,
    { atMs, before }: Settling,
  ): Found {
    const counted = new Set<string>();
    for (const { wanted: each, atMs: thenMs } of this.#reserved) {
      if (each.type !== 'distinct' || each.counter !== wanted.counter) continue;
      if (atMs >= countsUntilMs(each.window, thenMs, { isExact: true })) continue;
      for (const value of each.values) counted.add(value);
    }
    for (const each of before) {
      if (each.type !== 'distinct' || each.counter !== wanted.counter) continue;
      for (const value of this.#counting(each, subject)) counted.add(value);
    }
    const values = this.#counting(wanted, subject);
    const further = values.filter((value) => !counted.has(value)).length;
    const holds = values.length === 0 || counted.size + further <= wanted.max;
    return { type: 'distinct', holds, counted: counted.size, further };
  }

  /** If only new values count, a value is new for the subject that had it first. */
  #counting(
    { onlyNew, values }: Extract<Wanted, { readonly type: 'distinct' }>,
    subject: string,
  ): readonly string[] {
    if (!onlyNew) return values;
    return values.filter((value) => {
      const first = this.#reserved.find(
        ({ wanted: each }) => each.type === 'distinct' && each.onlyNew && each.values.includes(value),
      );
      return first === undefined || first.subject === subject;
    });
  }

  /** Limits count it no more. Marks, counted values and its order stay. */
  release(subject: string): void {
    this.#drop((each) => each.subject === subject && each.wanted.type === 'window');
  }

  /** Also for rules that only observe, if they hold or not. */
  reserve(question: Question, all: readonly Wanted[], atMs: number): void {
    const subject = subjectOf(question);
    const order = this.#orders.get(subject);
    const isUsable = order?.state === 'expected' && atMs < order.expiresAtMs;
    if (isUsable && all.some(({ type }) => type === 'order')) order.state = 'used';
    const counters = new Set(all.flatMap((each) => (each.type === 'window' ? [each.counter] : [])));
    const counting = all.map((each) =>
      each.type === 'distinct' ? { ...each, values: this.#counting(each, subject) } : each,
    );
    this.#drop(
      ({ wanted, subject: whose }) =>
        whose === subject && wanted.type === 'window' && counters.has(wanted.counter),
    );
    this.#reserved.push(...counting.map((wanted) => ({ atMs, subject, wanted })));
  }

  #drop(isDropped: (each: Reservation) => boolean): void {
    const kept = this.#reserved.filter((each) => !isDropped(each));
    this.#reserved.splice(0, this.#reserved.length, ...kept);
  }
}

const textOf = (members: Question['orderMembers']): string =>
  JSON.stringify(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)));

/** An order is of one subject, which may use it again. */
function checkOrder(order: Order | undefined, members: Question['orderMembers'], atMs: number): Found {
  const fails = (state: string): Found => ({ type: 'order', holds: false, order: state, differs: [] });
  if (order === undefined) return fails('missing');
  if (order.state === 'cancelled') return fails('cancelled');
  if (order.state === 'expected' && atMs >= order.expiresAtMs) return fails('expired');
  const differs = Object.keys(order.members).filter((name) => order.members[name] !== members[name]);
  const holds = differs.length === 0;
  return { type: 'order', holds, order: holds ? 'agrees' : 'differs', differs: differs.toSorted() };
}

/** Who is locked out. */
export interface Lockout {
  readonly key: string;
  readonly policy: string;
  readonly whose: string;
  readonly refusals: number;
  readonly sinceMs: number;
  readonly untilMs: number;
}

/** The refusals of a source that count, and who is locked out for them. */
class Lockouts {
  /** By key and subject, until when a refusal counts. */
  readonly #refused = new Map<string, Map<string, number>>();
  readonly #locked = new Map<string, Lockout>();

  check({ key }: LockoutWanted, atMs: number): Found {
    const { sinceMs = 0, untilMs = 0, refusals } = this.standing(atMs).find((each) => each.key === key) ?? {};
    const counted = refusals ?? this.#counting(key, atMs).size;
    const lockedUntilMs = untilMs === Infinity ? 0 : untilMs;
    return { type: 'refusals', holds: sinceMs === 0, refusals: counted, lockedAtMs: sinceMs, lockedUntilMs };
  }

  standing(atMs: number): readonly Lockout[] {
    return [...this.#locked.values()].filter(({ untilMs }) => atMs < untilMs);
  }

  lift(key: string): void {
    this.#locked.delete(key);
  }

  /**
   * Counts a refusal of the subject by all that were looked at. Several of one key, in different alternatives,
   * count it once.
   */
  refuse(all: readonly LockoutWanted[], subject: string, atMs: number): void {
    for (const [key, wanted] of Map.groupBy(all, (each) => each.key)) {
      if (this.standing(atMs).some((each) => each.key === key)) continue;
      const counted = new Map(this.#counting(key, atMs));
      const end = Math.max(...wanted.map(({ withinMs }) => atMs + withinMs), counted.get(subject) ?? 0);
      counted.set(subject, end);
      const refusals = counted.size;
      const locking = wanted.filter(({ after }) => refusals >= after);
      const [first] = locking;
      this.#refused.set(key, first === undefined ? counted : new Map());
      if (first === undefined) continue;
      const { policy, whose } = first;
      const untilMs = atMs + Math.max(...locking.map(({ forMs }) => forMs));
      this.#locked.set(key, { key, policy, whose, refusals, sinceMs: atMs, untilMs });
    }
  }

  #counting(key: string, atMs: number): ReadonlyMap<string, number> {
    return new Map([...(this.#refused.get(key) ?? [])].filter(([, end]) => atMs < end));
  }
}
