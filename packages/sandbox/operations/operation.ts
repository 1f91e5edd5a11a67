import type { Fault, Faults } from '../faults.ts';
import type { Body, Json } from '../json.ts';
import { type Readers, readParameters } from '../parameters.ts';
import type { Random } from '../random.ts';
import { Refusal } from '../refusal.ts';
import { type User, usersOf } from '../seed.ts';
import type { Payment, State } from '../state.ts';
import type { Zone } from '../time.ts';

/** What an operation may use. */
export interface Context {
  readonly state: State;
  readonly nowMs: number;
  readonly zone: Zone;
  readonly random: (...labels: readonly (string | number)[]) => Random;
  readonly faults: Faults;
  /** Tells the log that a fault occurred for an id. */
  readonly note: (fault: Fault, id: string) => void;
  /** The uid of the merchant, for the bill. */
  readonly merchantUid: number;
  /** Asks the receiver whether a payment may be debited. Resolves with the reason if it may not. */
  readonly confirm: (payment: Payment) => Promise<string | undefined>;
  /** The current time, after a wait. */
  readonly now: () => number;
}

export interface Operation {
  /** The path after `open/`, which names the operation in logs and settings. */
  readonly path: string;
  /**
   * `envelope`: code, msg and data (section 1). `message`: also `message`, which is null. `bare`: the members
   * of data themselves (section 4.21).
   */
  readonly form: 'envelope' | 'message' | 'bare';
  /** Reads the parameters and gives `data`. Throws a Refusal. */
  answer(body: Body, context: Context): Promise<Json> | Json;
}

export function operation<R extends Readers>(
  row: { readonly path: string; readonly form?: Operation['form']; readonly parameters: R },
  answer: (
    values: { readonly [Name in keyof R]: ReturnType<R[Name]> },
    context: Context,
  ) => Promise<Json> | Json,
): Operation {
  return {
    path: row.path,
    form: row.form ?? 'envelope',
    answer: (body, context) => answer(readParameters(row.parameters, body), context),
  };
}

/** The parameters that name a user. */
export interface UserNames {
  readonly openId?: string | undefined;
  readonly uid?: number | undefined;
  readonly mobileNumber?: string | undefined;
  readonly email?: string | undefined;
}

/** The user of the first name that is given. Throws a Refusal if none is given, or there is no such user. */
export function userNamed(state: State, { openId, uid, mobileNumber, email }: UserNames): User {
  const users = usersOf(state);
  if (openId !== undefined) return userOfOpenId(users, openId);
  const found = users.find((user) =>
    uid !== undefined
      ? user.uid === uid
      : mobileNumber !== undefined
        ? user.mobileNumber === mobileNumber
        : email !== undefined && user.email === email,
  );
  if (found !== undefined) return found;
  const given = uid ?? mobileNumber ?? email;
  throw new Refusal('10020', given === undefined ? 'no user is named' : `there is no user ${given}`);
}

function userOfOpenId(users: readonly User[], openId: string): User {
  const found = users.find((user) => user.openId === openId);
  if (found === undefined) throw new Refusal('60004', 'there is no user with this openId');
  return found;
}

export interface Paging {
  readonly page: number;
  readonly pageSize: number;
}

/** One page of a list, whose first page is 1. */
export function pageOf<T>(list: readonly T[], { page, pageSize }: Paging): readonly T[] {
  return list.slice((page - 1) * pageSize, page * pageSize);
}

/** The form that most operations give a page in. */
export function counted<T extends Json>(found: readonly T[], paging: Paging) {
  return { count: found.length, list: pageOf(found, paging) };
}

/** Whether a time is within bounds, both included. */
export function isWithin(atMs: number, fromMs: number | undefined, untilMs: number | undefined): boolean {
  return (fromMs === undefined || atMs >= fromMs) && (untilMs === undefined || atMs <= untilMs);
}

/** Whether a record has each of these values that is given. */
export function matches<T>(
  record: T,
  wanted: { readonly [Name in keyof T]?: string | number | undefined },
): boolean {
  const own = new Map<string, unknown>(Object.entries(record ?? {}));
  return Object.entries(wanted).every(([name, value]) => value === undefined || own.get(name) === value);
}
