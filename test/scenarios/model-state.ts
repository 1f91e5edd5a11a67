import type { ClaimResult } from '../../src/claims/claims.ts';
import type { Amount } from '../../src/values/amount.ts';
import { type Asked, type Subject, questionOf, subjectOf } from './model-asked.ts';
import { type Claim, DAY_MS, LENGTH_MS, type Wanted } from './model-rules.ts';
import type { WindowName } from './model-policies.ts';

/*
 * What a store would have to know, found anew each time in all that ever happened.
 */

/** An order, or what was made of it. */
export interface OrderChange {
  readonly subject: string;
  /** What is announced; without it the order is cancelled. */
  readonly announce?: { readonly members: Readonly<Record<string, string>>; readonly expiresAtMs: number };
}
export type OrderOutcome = 'expected' | 'unchanged' | 'conflict' | 'cancelled' | 'ended' | 'NOT_FOUND';

interface Order {
  readonly members: Readonly<Record<string, string>>;
  readonly expiresAtMs: number;
  state: 'expected' | 'cancelled' | 'used';
}

/** What an approval reserved, and for whom. Sources have no subject in common. */
export interface Reservation {
  readonly atMs: number;
  readonly subject: string;
  readonly wanted: Wanted;
}

type Checked = Claim & { readonly result: ClaimResult };

/** Lists, orders, and what approvals reserved, of one source. */
export class StateModel {
  readonly #lists: {
    readonly list: string;
    readonly value: string;
    readonly on: boolean;
    readonly atMs: number;
  }[] = [];
  readonly #orders = new Map<string, Order>();
  /** Of all sources. */
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

  /** Of each subject, its latest approval counts in a window. Its own does not stand in its way. */
  check(wanted: Wanted, asked: Asked, subject: Subject, atMs: number): ClaimResult {
    switch (wanted.type) {
      case 'list': {
        const missing = this.changesOf(wanted.list) === 0;
        const on = this.addedAtMs(wanted.list, wanted.entry) !== undefined;
        return {
          type: 'list',
          holds: !missing && on === wanted.listed,
          missing,
          present: on ? [wanted.entry] : [],
        };
      }
      case 'aged': {
        const missing = this.changesOf(wanted.list) === 0;
        const added = this.addedAtMs(wanted.list, wanted.entry);
        const holds = added !== undefined && atMs - added >= wanted.ageMs;
        return { type: 'aged', holds, missing, added: added === undefined ? [] : [[wanted.entry, added]] };
      }
      case 'window': {
        const counting = this.#reserved.filter(
          (each) =>
            each.wanted.type === 'window' &&
            each.wanted.counter === wanted.counter &&
            countsStill(wanted.window, each.atMs, atMs),
        );
        const latest = new Map(counting.map((each) => [each.subject, each.wanted]));
        const amountOf = (each: Wanted | undefined): Amount =>
          each !== undefined && 'amount' in each ? each.amount : 0n;
        const reserved = amountOf(latest.get(subjectOf(asked)));
        const used = [...latest.values()].reduce((sum, each) => sum + amountOf(each), -reserved);
        return { type: 'window', holds: used + wanted.amount <= wanted.max, reserved, used };
      }
      case 'distinct': {
        const counting = this.#reserved.filter(
          ({ wanted: each, atMs: thenMs, subject: name }) =>
            each.type === 'distinct' &&
            each.counter === wanted.counter &&
            countsExactly(wanted.window, thenMs, atMs) &&
            this.#counts(each, name),
        );
        const values = new Set(counting.map(({ wanted: each }) => ('value' in each ? each.value : '')));
        const isCounting = this.#counts(wanted, subjectOf(asked));
        const further = isCounting && !values.has(wanted.value) ? 1 : 0;
        const holds = !isCounting || values.size + further <= wanted.max;
        return { type: 'distinct', holds, counted: values.size, further };
      }
      case 'mark': {
        const first = this.#reserved.find(
          (each) => 'mark' in each.wanted && each.wanted.mark === wanted.mark,
        );
        const isKnown = first !== undefined && atMs - first.atMs >= wanted.ageMs;
        return { type: 'mark', holds: wanted.exempt || isKnown, markedAtMs: first?.atMs ?? 0 };
      }
      case 'order':
        return this.#checkOrder(this.#orders.get(subjectOf(asked)), wanted.members, atMs);
      case 'speed-up':
        return checkSpeedUp(subject, asked, wanted, atMs);
      default:
        throw new TypeError('no such claim');
    }
  }

  /** If only new values count, a value is new for the subject that had it first. */
  #counts(wanted: Extract<Wanted, { readonly type: 'distinct' }>, subject: string): boolean {
    if (!wanted.onlyNew) return true;
    const first = this.#reserved.find(
      ({ wanted: each }) => each.type === 'distinct' && each.onlyNew && each.value === wanted.value,
    );
    return first === undefined || first.subject === subject;
  }

  /** An order is of one subject, so whoever finds it used has used it. */
  #checkOrder(order: Order | undefined, members: Asked['members'], atMs: number): ClaimResult {
    if (order === undefined) return { type: 'order', holds: false, order: 'missing', differs: [] };
    if (order.state === 'cancelled') return { type: 'order', holds: false, order: 'cancelled', differs: [] };
    if (order.state === 'expected' && atMs >= order.expiresAtMs)
      return { type: 'order', holds: false, order: 'expired', differs: [] };
    const differs = Object.keys(order.members).filter((name) => order.members[name] !== members[name]);
    differs.sort();
    return differs.length === 0
      ? { type: 'order', holds: true, order: 'agrees', differs }
      : { type: 'order', holds: false, order: 'differs', differs };
  }

  /** Limits count it no more. Marks, counted values and its order stay. */
  release(subject: string): void {
    const kept = this.#reserved.filter((each) => each.subject !== subject || each.wanted.type !== 'window');
    this.#reserved.splice(0, this.#reserved.length, ...kept);
  }

  /** Also for rules that only observe, if they hold or not. */
  reserve(subject: string, claims: readonly Checked[], atMs: number): void {
    for (const { wanted, result } of claims) {
      const order = this.#orders.get(subject);
      const isUsable = result.type === 'order' && (result.order === 'agrees' || result.order === 'differs');
      if (order !== undefined && isUsable) order.state = 'used';
      this.#reserved.push({ atMs, subject, wanted });
    }
  }
}

const textOf = (members: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)));

function checkSpeedUp(
  subject: Subject,
  asked: Asked,
  { max, withinMs }: Extract<Wanted, { readonly type: 'speed-up' }>,
  atMs: number,
): ClaimResult {
  const approved = [...subject.decisions].filter(([, { verdict }]) => verdict === 'SUCCESS');
  const approvedAtMs = approved.find(([question]) => question === asked.type)?.[1].atMs ?? 0;
  const speedUps = approved.filter(
    ([question]) => question.startsWith(`${asked.type}+`) && question !== questionOf(asked, subject),
  ).length;
  const holds = approvedAtMs > 0 && atMs - approvedAtMs <= withinMs && speedUps < max;
  return { type: 'speed-up', holds, approvedAtMs, speedUps };
}

/** Whether what was approved then is in the window now, to the millisecond. */
function countsExactly(window: WindowName, thenMs: number, nowMs: number): boolean {
  const isCalendar = window === 'day' || window === 'year';
  return isCalendar ? countsStill(window, thenMs, nowMs) : thenMs > nowMs - LENGTH_MS[window];
}

/**
 * Whether what was approved then is in the window now. A rolling window is counted in sixty parts, of which
 * one counts for as long as any instant of it is within the length.
 */
function countsStill(window: WindowName, thenMs: number, nowMs: number): boolean {
  if (window === 'year') return new Date(thenMs).getUTCFullYear() === new Date(nowMs).getUTCFullYear();
  if (window === 'day') return Math.floor(thenMs / DAY_MS) === Math.floor(nowMs / DAY_MS);
  const lengthMs = LENGTH_MS[window];
  const partMs = lengthMs / 60;
  return (Math.floor(thenMs / partMs) + 1) * partMs > nowMs - lengthMs;
}
