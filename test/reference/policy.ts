import type { Kind, Member } from './question.ts';

/*
 * What a policy is: the documents of policy files as data, and how the texts in them are read.
 */

/** What is in force. */
export interface Revision {
  readonly policies: readonly Policy[];
  /** The members of each group of people. */
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  /** Who has the role approve, and a key. */
  readonly approvers?: readonly string[];
  /** The files beside the policies that conditions name, each with one value. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface Policy {
  readonly policy: string;
  readonly callback: Kind;
  readonly when?: When;
  /** Whether the rules see what a transaction moves. */
  readonly movements?: { readonly approvals: 'count' };
  readonly rules: readonly Entry[];
}

/** A rule, or rules of which one must hold (`any`) or each (`all`). */
export type Entry = { readonly when?: When; readonly mode?: 'observe' } & (
  Rule | { readonly any: readonly Entry[] } | { readonly all: readonly Entry[] }
);

/** All of these must be met. They are tested in this order, those that depend on time or prices last. */
export type When = Readonly<Partial<Record<Member, Texts>>> & {
  readonly amount?: Range;
  readonly value?: Range & { readonly maxAge: string };
  readonly during?: Hours;
  readonly scheme?: readonly string[];
  readonly not?: When;
};

export type Texts = string | readonly string[] | { readonly file: string };

export interface Range {
  readonly above?: string;
  readonly atLeast?: string;
  readonly below?: string;
  readonly atMost?: string;
}

interface Hours {
  readonly zone: 'UTC' | 'Asia/Kolkata';
  /** Such as `22:00-06:00`. */
  readonly hours: string;
  readonly days?: readonly string[];
}

/** One amount, or with `by: asset` an amount for each. */
type Max = string | Readonly<Record<string, string>>;

interface Limit {
  readonly max: Max;
  readonly by?: 'asset';
}

/** `only`: judges the approvals of a transaction. */
interface OfMovements {
  readonly approvals?: 'only';
}

export interface Counting {
  readonly per?: readonly Member[];
  /** The length of a rolling window, or a calendar period in UTC. */
  readonly window: string;
  /** Counts for all sources of the group together. */
  readonly across?: 'group';
  /** The name of a count that rules of several policies share. */
  readonly counter?: string;
}

interface Listed {
  readonly of: readonly Member[];
  readonly list: string;
}

/** The parameters of each rule. */
export interface Rules {
  readonly pass: { readonly because: string };
  readonly schedule: Hours;
  readonly 'amount-limit': Limit & OfMovements;
  readonly 'window-limit': Limit & Counting & OfMovements;
  readonly 'velocity-limit': Counting & { readonly max: string };
  readonly 'value-limit': Partial<Counting> & OfMovements & { readonly max: string; readonly maxAge: string };
  readonly 'distinct-limit': Counting & {
    readonly of: readonly Member[];
    readonly only?: 'new';
    readonly max: string;
  };
  readonly 'first-use-limit': Limit & { readonly of: readonly Member[]; readonly for?: string };
  readonly 'allow-list': Listed;
  readonly 'deny-list': Listed;
  readonly 'cooling-period': Listed & { readonly for: string };
  readonly 'expected-order': object;
  readonly approval: { readonly by: string; readonly quorum: string; readonly within: string };
  readonly 'speed-up': { readonly max: string; readonly within: string } | { readonly allowed: 'false' };
  readonly 'lock-out': {
    readonly per?: readonly Member[];
    readonly after: string;
    readonly within: string;
    readonly for: string;
  };
}

/** A mapping with the name of one rule. */
export type Rule = { [Name in keyof Rules]: Pick<Rules, Name> }[keyof Rules];

// ---- amounts ----

const PLACES = 36;

/** In units of 10^-36. */
export function amountOf(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(PLACES, '0'));
}

export const UNIT = amountOf('1');

/** In units of 10^-36, rounded up. */
export const valueOf = (amount: bigint, price: bigint): bigint => (amount * price + UNIT - 1n) / UNIT;

/** Below zero for an asset that is not in the table. */
export function maxOf(max: Max, asset: string): bigint {
  const own = typeof max === 'string' ? max : max[asset];
  return own === undefined ? -1n : amountOf(own);
}

export const isIn = (amount: bigint, { above, atLeast, below, atMost }: Range): boolean =>
  (above === undefined || amount > amountOf(above)) &&
  (atLeast === undefined || amount >= amountOf(atLeast)) &&
  (below === undefined || amount < amountOf(below)) &&
  (atMost === undefined || amount <= amountOf(atMost));

// ---- time ----

export const MINUTE_MS = 60_000;
const UNITS_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: MINUTE_MS,
  h: 60 * MINUTE_MS,
  d: 1440 * MINUTE_MS,
};

/** Of a duration, such as `10m`; infinite for `until-lifted`. */
export function msOf(text: string): number {
  if (text === 'until-lifted') return Infinity;
  return Number(text.slice(0, -1)) * (UNITS_MS[text.slice(-1)] ?? NaN);
}

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
/** Clocks in India are never set: they show UTC and five hours and a half. */
const AHEAD_MS = { UTC: 0, 'Asia/Kolkata': 330 * MINUTE_MS } as const;

/** Hours that end after midnight belong to the day on which they begin. */
export function isOpen({ zone, hours, days = DAYS }: Hours, atMs: number): boolean {
  const wall = new Date(atMs + AHEAD_MS[zone]);
  const minute = wall.getUTCHours() * 60 + wall.getUTCMinutes();
  const [from = 0, to = 0] = hours.split('-').map((time) => {
    const [hour = '', minutes = ''] = time.split(':');
    return Number(hour) * 60 + Number(minutes);
  });
  const isDay = (shift: number): boolean => days.includes(DAYS[(wall.getUTCDay() + shift) % 7] ?? '');
  if (from < to) return isDay(0) && minute >= from && minute < to;
  return (isDay(0) && minute >= from) || (isDay(6) && minute < to);
}

const PARTS = 60;

/**
 * Until when an approval counts in a window. A rolling window is counted in parts, of which one counts for as
 * long as any instant of it is within the length. `isExact`: to the millisecond.
 */
export function countsUntilMs(
  window: string,
  atMs: number,
  { isExact }: { readonly isExact: boolean },
): number {
  const at = new Date(atMs);
  if (window === 'year') return Date.UTC(at.getUTCFullYear() + 1, 0);
  if (window === 'day') return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate() + 1);
  const lengthMs = msOf(window);
  const partMs = Math.ceil(lengthMs / PARTS);
  return lengthMs + (isExact ? atMs : (Math.floor(atMs / partMs) + 1) * partMs);
}
