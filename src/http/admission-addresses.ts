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
  /** Why this address is not listened to for the rest of its second; undefined where it is. */
  throttled(address: string): string | undefined;
}

/** How many times what a stranger may, in failures, an address may from which somebody was authenticated within a minute. */
const KNOWN_TIMES = 10;
const KNOWN_FOR_MS = 60_000;
const KNOWN_MAX = 1000;
const STRANGERS_MAX = 10_000;
const SECOND_MS = 1000;
/** A private key's operation takes some thirty times as long as any other check. Few get this far without the sender's key. */
const COSTS: Readonly<Record<string, number>> = { ENVELOPE_UNDECIPHERABLE: 10 };

interface Second {
  readonly endsAtMs: number;
  spent: number;
}

interface Known {
  seenAtMs: number;
  second: Second;
}

/**
 * Counts failures by address, of IPv6 by the /64 that one host has to itself, in seconds that begin with a failure. At most
 * 10,000 strangers are counted at once. None is forgotten before its second is over: those beyond that number share one
 * budget, so that many addresses together can't wash one clean. Addresses from which a sender was authenticated within a
 * minute are kept apart, where no stranger can drive them out, and have ten times the budget: others may call through the same
 * gateway, and must not silence the sender cheaply. `nowMs` must never run backwards.
 */
export function createFailureBudgets({
  failuresPerSecond,
  nowMs,
}: {
  readonly failuresPerSecond: number;
  readonly nowMs: () => number;
}): FailureBudgets {
  const strangers = createStrangers();
  const known = new Map<string, Known>();

  function authenticated(key: string, now: number): void {
    const entry = known.get(key);
    if (entry !== undefined && now - entry.seenAtMs < SECOND_MS) return;
    known.delete(key);
    known.set(key, { seenAtMs: now, second: entry?.second ?? begun(now) });
    if (known.size > KNOWN_MAX) known.delete(first(known));
  }

  function knownAt(key: string, now: number): Known | undefined {
    const entry = known.get(key);
    return entry === undefined || now - entry.seenAtMs >= KNOWN_FOR_MS ? undefined : entry;
  }

  function failed(key: string, now: number, cost: number): void {
    const friend = knownAt(key, now);
    if (friend === undefined) strangers.open(key, now).spent += cost;
    else {
      if (friend.second.endsAtMs <= now) friend.second = begun(now);
      friend.second.spent += cost;
    }
  }

  return {
    reported({ address, source, outcome, code }) {
      if (source !== undefined) authenticated(keyOf(address), nowMs());
      else if (outcome === 'unauthenticated') failed(keyOf(address), nowMs(), COSTS[code] ?? 1);
    },
    throttled(address) {
      const now = nowMs();
      const key = keyOf(address);
      const friend = knownAt(key, now);
      const { second, shared } = friend ? { second: friend.second, shared: false } : strangers.at(key, now);
      const budget = failuresPerSecond * (friend !== undefined || shared ? KNOWN_TIMES : 1);
      if (second === undefined || second.endsAtMs <= now || second.spent <= budget) return undefined;
      const who = shared ? `the addresses beyond ${STRANGERS_MAX}` : key;
      return `callbacks of ${who} that failed to authenticate cost more than ${budget} within a second (public.limits.failuresPerSecond): find out who calls from there, and shut them out at the gateway`;
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
  let beyond: Second = { endsAtMs: 0, spent: 0 };
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

const begun = (now: number): Second => ({ endsAtMs: now + SECOND_MS, spent: 0 });

function first(map: ReadonlyMap<string, unknown>): string {
  const { value } = map.keys().next();
  return value ?? '';
}

/** An address as it is counted: IPv4 as it is, IPv6 by its /64. What is neither counts by its first 64 characters. */
export function keyOf(address: string): string {
  const plain = /^::ffff:\d/i.test(address) ? address.slice(7) : address;
  if (!plain.includes(':')) return plain.slice(0, 64);
  const [bare = ''] = plain.split('%');
  if (isIP(bare) !== 6) return plain.slice(0, 64);
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
