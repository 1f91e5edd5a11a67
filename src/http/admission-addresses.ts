import { isIP } from 'node:net';

/** What of a callback's report the budgets look at. */
export interface Reported {
  readonly address: string;
  /** Undefined where the sender is not authenticated. */
  readonly source: string | undefined;
  readonly outcome: string;
  readonly code: string;
}

/** What each address may still have fail to authenticate within a second. */
export interface FailureBudgets {
  reported(report: Reported): void;
  /**
   * Counts what was no callback: a request that nothing serves, or a misuse of a connection, which costs ten
   * times as much.
   */
  charge(address: string, what: 'unserved' | 'misuse'): void;
  /** Why this address is not listened to for the rest of its second; undefined where it is. */
  throttled(address: string): string | undefined;
  /**
   * Whether connections of this address are closed unread for the rest of its second, since it misuses them.
   */
  shutOut(address: string): boolean;
}

/**
 * How many times what a stranger may, in failures, an address may from which somebody was authenticated
 * within a minute.
 */
const KNOWN_TIMES = 10;
const KNOWN_FOR_MS = 60_000;
const KNOWN_MAX = 1000;
/** For how long an address from which a callback was decided has a budget of its own. */
const OWN_FOR_MS = 86_400_000;
const OWN_MAX = 10_000;
const STRANGERS_MAX = 10_000;
/** How many times what a /64 may, in failures, all of an IPv6 /48 may together. */
const WIDE_TIMES = 10;
const SECOND_MS = 1000;
/**
 * A private key's operation takes some thirty times as long as any other check. Few get this far without the
 * sender's key.
 */
const COSTS: Readonly<Record<string, number>> = { ENVELOPE_UNDECIPHERABLE: 10 };
/** To accept and to close a connection takes ten times as long as to answer one more request over it. */
const MISUSE_COST = 10;

interface Second {
  readonly endsAtMs: number;
  spent: number;
  misused: boolean;
}

interface Known {
  seenAtMs: number;
  second: Second;
}

/**
 * Counts failures by address, of IPv6 by the /64 that one host has to itself and by the /48 that one customer
 * has, in seconds that begin with a failure. At most 10,000 strangers are counted at once. None is forgotten
 * before its second is over: those beyond that number share one budget, so that many addresses together can't
 * wash one clean.
 *
 * An address from which a callback was decided within a day has a budget of its own, which no other address
 * can use up, also none of its /64: the last 10,000 such addresses are remembered. A callback that is
 * repeated makes no address known, since whoever recorded one could send it from anywhere. For a minute after
 * somebody was authenticated from it, an address, and its /64, has ten times the budget: others may call
 * through the same gateway, and must not silence the sender cheaply. `nowMs` must never run backwards.
 */
export function createFailureBudgets({
  failuresPerSecond,
  nowMs,
}: {
  readonly failuresPerSecond: number;
  readonly nowMs: () => number;
}): FailureBudgets {
  const strangers = createStrangerBudgets(failuresPerSecond);
  const own = createKnown(OWN_MAX, OWN_FOR_MS);
  const networks = createKnown(KNOWN_MAX, KNOWN_FOR_MS);

  const friendAt = (address: string, key: string, now: number): Known | undefined =>
    own.at(address, now) ?? networks.at(key, now);

  function spend(written: string, cost: number, misused: boolean): void {
    const now = nowMs();
    const address = plainOf(written);
    const key = keyOf(address);
    const friend = friendAt(address, key, now);
    if (friend !== undefined) {
      if (friend.second.endsAtMs <= now) friend.second = begun(now);
      friend.second.spent += cost;
      return;
    }
    strangers.spend(key, { cost, misused, now });
  }

  return {
    reported({ address: written, source, outcome, code }) {
      if (source !== undefined) {
        const now = nowMs();
        const address = plainOf(written);
        own.seen(address, now, outcome === 'decided');
        const key = keyOf(address);
        if (key !== address || !own.has(address)) networks.seen(key, now, true);
      } else if (outcome === 'unauthenticated') spend(written, COSTS[code] ?? 1, false);
    },
    charge(address, what) {
      spend(address, what === 'misuse' ? MISUSE_COST : 1, what === 'misuse');
    },
    throttled(written) {
      const now = nowMs();
      const address = plainOf(written);
      const key = keyOf(address);
      const friend = friendAt(address, key, now);
      if (friend === undefined) {
        const used = strangers.usedUp(key, now);
        return used && because(used.who, used.budget);
      }
      const budget = failuresPerSecond * (now - friend.seenAtMs < KNOWN_FOR_MS ? KNOWN_TIMES : 1);
      return isOver(friend.second, budget, now) ? because(key, budget) : undefined;
    },
    shutOut(written) {
      const now = nowMs();
      const address = plainOf(written);
      const key = keyOf(address);
      return friendAt(address, key, now) === undefined && strangers.usedUp(key, now)?.second.misused === true;
    },
  };
}

interface UsedUp {
  readonly who: string;
  readonly budget: number;
  readonly second: Second;
}

interface StrangerBudgets {
  spend(key: string, spent: { readonly cost: number; readonly misused: boolean; readonly now: number }): void;
  /** The budget of a stranger that is used up, and whose it is. */
  usedUp(key: string, now: number): UsedUp | undefined;
}

function createStrangerBudgets(failuresPerSecond: number): StrangerBudgets {
  const strangers = createStrangers();
  const wide = createStrangers();
  const add = (second: Second, cost: number, misused: boolean): void => {
    second.spent += cost;
    second.misused ||= misused;
  };
  return {
    spend(key, { cost, misused, now }) {
      add(strangers.open(key, now), cost, misused);
      const network = wideKeyOf(key);
      if (network !== undefined) add(wide.open(network, now), cost, misused);
    },
    usedUp(key, now) {
      const { second, shared } = strangers.at(key, now);
      const budget = failuresPerSecond * (shared ? KNOWN_TIMES : 1);
      if (isOver(second, budget, now))
        return { who: shared ? `the addresses beyond ${STRANGERS_MAX}` : key, budget, second };
      const network = wideKeyOf(key);
      if (network === undefined) return undefined;
      const around = wide.at(network, now).second;
      const most = failuresPerSecond * WIDE_TIMES;
      return isOver(around, most, now) ? { who: network, budget: most, second: around } : undefined;
    },
  };
}

const because = (who: string, budget: number): string =>
  `callbacks of ${who} that failed to authenticate cost more than ${budget} within a second (public.limits.failuresPerSecond): find out who calls from there, and shut them out at the gateway`;

const isOver = (second: Second | undefined, budget: number, now: number): second is Second =>
  second !== undefined && second.endsAtMs > now && second.spent > budget;

interface KnownAddresses {
  at(key: string, now: number): Known | undefined;
  has(key: string): boolean;
  /** Somebody was authenticated from there. What is not known yet becomes so if `enters`. */
  seen(key: string, now: number, enters: boolean): void;
}

/** Addresses in the order in which they were last seen, so that those that are longest quiet give way. */
function createKnown(max: number, forMs: number): KnownAddresses {
  const known = new Map<string, Known>();
  return {
    at(key, now) {
      const entry = known.get(key);
      return entry === undefined || now - entry.seenAtMs >= forMs ? undefined : entry;
    },
    has: (key) => known.has(key),
    seen(key, now, enters) {
      const entry = known.get(key);
      if (entry === undefined ? !enters : now - entry.seenAtMs < SECOND_MS) return;
      known.delete(key);
      known.set(key, { seenAtMs: now, second: entry?.second ?? begun(now) });
      if (known.size > max) known.delete(first(known));
    },
  };
}

interface Strangers {
  /** The second of this address, or the one that it shares with all beyond the bound. */
  at(key: string, now: number): { readonly second: Second | undefined; readonly shared: boolean };
  open(key: string, now: number): Second;
}

function createStrangers(): Strangers {
  // In the order in which their seconds end, so that those that are over stand first.
  const seconds = new Map<string, Second>();
  let beyond: Second = { endsAtMs: 0, spent: 0, misused: false };
  const own = (key: string, now: number): Second | undefined => {
    const second = seconds.get(key);
    return second === undefined || second.endsAtMs <= now ? undefined : second;
  };
  const forgetEnded = (now: number): void => {
    for (const [key, { endsAtMs }] of seconds) {
      if (endsAtMs > now) return;
      seconds.delete(key);
    }
  };
  return {
    at(key, now) {
      const second = own(key, now);
      const shared = second === undefined && seconds.size >= STRANGERS_MAX;
      return { second: shared ? beyond : second, shared };
    },
    open(key, now) {
      const open = own(key, now);
      if (open !== undefined) return open;
      forgetEnded(now);
      if (seconds.size < STRANGERS_MAX) {
        const second = begun(now);
        seconds.set(key, second);
        return second;
      }
      if (beyond.endsAtMs <= now) beyond = begun(now);
      return beyond;
    },
  };
}

const begun = (now: number): Second => ({ endsAtMs: now + SECOND_MS, spent: 0, misused: false });

function first(map: ReadonlyMap<string, unknown>): string {
  const { value } = map.keys().next();
  return value ?? '';
}

/**
 * An address as it is counted: IPv4 as it is, IPv6 by its /64. What is neither counts by its first 64
 * characters.
 */
export function keyOf(address: string): string {
  const plain = plainOf(address);
  if (!plain.includes(':')) return plain;
  const [bare = ''] = plain.split('%');
  if (isIP(bare) !== 6) return plain;
  const [left = '', right] = bare.toLowerCase().split('::');
  const before = left === '' ? [] : left.split(':');
  const after = right === undefined || right === '' ? [] : right.split(':');
  const omitted = right === undefined ? 0 : 8 - before.length - after.length - (bare.includes('.') ? 1 : 0);
  const groups = [...before, ...Array.from({ length: omitted }, () => '0'), ...after];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':')}::/64`;
}

/** Without what says of an IPv4 address that it is one. */
const plainOf = (address: string): string =>
  (/^::ffff:\d/i.test(address) ? address.slice(7) : address).slice(0, 64);

/** The /48 of a /64, as `keyOf` writes it. */
function wideKeyOf(key: string): string | undefined {
  return key.endsWith('::/64') ? `${key.split(':', 3).join(':')}::/48` : undefined;
}
