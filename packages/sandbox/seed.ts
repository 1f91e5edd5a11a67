import { COINS } from './coins.ts';
import { decimalText, readDecimal } from './decimal.ts';
import { type Random, randomOf } from './random.ts';
import type { State } from './state.ts';
import { DAY_MS } from './time.ts';

/** What determines the seeded records. */
export type Seed = Pick<State, 'seed' | 'scale' | 'seededAtMs'>;

/** What makes seeded records. All of them are older than the seed's time. */
export interface Seeding {
  readonly nowMs: number;
  readonly random: (label: string, at: number) => Random;
  /** The numbers from 0; `scale` times as many as `count`. */
  readonly times: (count: number) => readonly number[];
  readonly hoursAgo: (hours: number) => number;
}

/**
 * Records that a seed determines and nothing changes. They are not in the state. They are made when they are
 * asked for, and kept until those of another seed are.
 */
export function seeded<T>(make: (seeding: Seeding) => readonly T[]): (seed: Seed) => readonly T[] {
  let [madeOf, made]: [string, readonly T[]] = ['', []];
  return ({ seed, scale, seededAtMs }) => {
    const of = JSON.stringify([seed, scale, seededAtMs]);
    if (of !== madeOf) [madeOf, made] = [of, make(seedingOf({ seed, scale, seededAtMs }))];
    return made;
  };
}

const HOUR_MS = 3_600_000;

const seedingOf = ({ seed, scale, seededAtMs: nowMs }: Seed): Seeding => ({
  nowMs,
  random: (label, at) => randomOf(seed, 'seed', label, at),
  times: (count) => Array.from({ length: count * scale }, (_, at) => at),
  hoursAgo: (hours) => nowMs - hours * HOUR_MS,
});

export const FIRST_UID = 12_345;
export const USERS = 20;
const FIRST_ID = 100_001;
/** Of what operations and commands make. Above all seeded ids, also with the largest scale. */
const FIRST_NEW_ID = 500_001;

export const uidAt = (at: number): number => FIRST_UID + (at % USERS);
export const idAt = (at: number): number => FIRST_ID + at;
export const coinAt = (at: number): string => COINS[at % COINS.length]?.symbol ?? COINS[0].symbol;

/** A decimal with at most `places` decimal places, from 10^-places to `most`. */
export function amountUpTo(random: Random, most: number, places = 2): string {
  const whole = readDecimal(
    `${random.whole(0, most - 1)}.${String(random.whole(1, 10 ** places - 1)).padStart(places, '0')}`,
  );
  return decimalText(whole ?? 0n);
}

export interface User {
  readonly uid: number;
  readonly openId: string;
  readonly nickname: string;
  readonly inviteCode: string;
  /** The uid of the user who invited this one; -1 if there is none. */
  readonly invitedUid: number;
  readonly mobileNumber: string;
  readonly email: string;
  readonly apiKey: string;
  readonly secret: string;
  readonly createdAtMs: number;
}

export const usersOf = seeded<User>(({ random, nowMs }) =>
  Array.from({ length: USERS }, (_, at) => {
    const own = random('user', at);
    // User 0 invites 1 to 4, and each of these invites three more.
    const inviter = at === 0 ? -1 : at <= 4 ? FIRST_UID : at <= 16 ? uidAt(1 + ((at - 5) % 4)) : -1;
    return {
      uid: uidAt(at),
      openId: own.hex(32),
      nickname: `user-${uidAt(at)}`,
      inviteCode: own.hex(8).toUpperCase(),
      invitedUid: inviter,
      mobileNumber: `138${String(own.whole(0, 99_999_999)).padStart(8, '0')}`,
      email: `user-${uidAt(at)}@example.com`,
      apiKey: own.hex(32),
      secret: own.hex(32),
      createdAtMs: nowMs - (60 - at) * DAY_MS,
    };
  }),
);

/** Bills of the five days before yesterday, so that no bill of today has what no receiver approved. */
const paymentsOf = seeded<State['payments'][number]>(({ times, random, nowMs }) =>
  times(50).map((at) => {
    const own = random('payment', at);
    const createdAtMs = nowMs - 2 * DAY_MS - (at % 5) * DAY_MS - at * 1000;
    return {
      appOrderId: `past-${at + 1}`,
      userId: uidAt(at),
      coin: at % 5 === 0 ? 'BTC' : 'USDT1742',
      amount: at % 5 === 0 ? amountUpTo(own, 1, 8) : amountUpTo(own, 500),
      orderType: at % 4 === 3 ? 11 : 1,
      state: 'paid',
      createdAtMs,
      paidAtMs: createdAtMs + own.whole(200, 1500),
    };
  }),
);

/** A new state. The same seed gives the same state. */
export function seedState(seed: Seed): State {
  const users = usersOf(seed);
  return {
    form: 'countersign sandbox 2',
    ...seed,
    accounts: users.flatMap(({ uid }, user) =>
      COINS.map(({ symbol, opening }, coin) => ({
        id: idAt(user * COINS.length + coin),
        uid,
        coin: symbol,
        type: '201' as const,
        balance: String(opening),
        updatedAtMs: seedingOf(seed).hoursAgo(1),
      })),
    ),
    deposits: [],
    recoveredCoupons: [],
    payments: [...paymentsOf(seed)],
    codes: users.map(({ uid }, at) => ({
      code: seedingOf(seed).random('code', at).hex(32),
      uid,
      used: false,
    })),
    tokens: [],
    signings: [],
    usage: { day: '', requests: 0 },
    nextId: FIRST_NEW_ID,
  };
}
