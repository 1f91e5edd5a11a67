import type { CallbackReport } from '../observe/report.ts';
import { networksOf, parseAddress } from '../values/address-networks.ts';

/**
 * Limits the failures that one address may cause within a second. The second begins with the first failure.
 */
export interface FailureBudgets {
  /** Charges a callback that failed to authenticate, and remembers addresses of authenticated senders. */
  readonly report: (report: Pick<CallbackReport, 'address' | 'source' | 'outcome' | 'code'>) => void;
  /** Charges a request that no path serves, or a misuse of a connection. */
  readonly charge: (address: string, what: 'unserved' | 'misuse') => void;
  /** Why callbacks from this address are refused for the rest of its second; undefined if they are not. */
  readonly excessReason: (address: string) => string | undefined;
  /** Whether connections from this address are closed unread for the rest of its second, due to misuse. */
  readonly isBlocked: (address: string) => boolean;
}

/**
 * An address gets a budget of its own when a callback from it is decided. It loses it after this time without
 * an authenticated callback.
 */
const KNOWN_ADDRESS_MS = 86_400_000;
const KNOWN_ADDRESSES_MAX = 10_000;
/** For a minute after an authenticated callback, the budget of a known address is this many times larger. */
const RECENT_MS = 60_000;
const RECENT_FACTOR = 10;
/** Unknown addresses with failures in the current second. Those beyond this number share one budget. */
const UNKNOWN_ADDRESSES_MAX = 10_000;
/**
 * An IPv6 /48, and the addresses beyond `UNKNOWN_ADDRESSES_MAX`, have this many times the budget of one
 * address.
 */
const SHARED_FACTOR = 10;
const SECOND_MS = 1000;
/** How many failures a code counts as. An operation with a private key is far slower than any other check. */
const COSTS: Readonly<Record<string, number>> = { ENVELOPE_UNDECIPHERABLE: 10 };
/** To accept and close a connection takes ten times as long as to answer one more request over it. */
const MISUSE_COST = 10;

interface Counter {
  endsAtMs: number;
  spent: number;
  misused: boolean;
}

interface KnownAddress {
  seenAtMs: number;
  counter: Counter;
}

interface ExceededBudget {
  readonly scope: string;
  readonly budget: number;
  readonly counter: Counter;
}

/**
 * Counts the failures of unknown addresses: by address for IPv4, by /64 and by /48 for IPv6. A counter is
 * kept until its second is over, so that an attacker with many addresses can't reset it.
 *
 * Other addresses can't use up the budget of a known address. A repeated callback makes no address known,
 * because anybody who recorded it can send it. `nowMs` must never run backwards.
 */
export function createFailureBudgets({
  failuresPerSecond,
  nowMs,
}: {
  readonly failuresPerSecond: number;
  readonly nowMs: () => number;
}): FailureBudgets {
  const knownAddresses = createKnownAddresses();
  const addresses = createCounters();
  const subnets = createCounters();
  const levelsOf = (address: string) =>
    networksOf(address).map((network, at) => ({ network, counters: at === 0 ? addresses : subnets }));

  function spend(address: string, cost: number, misused: boolean): void {
    const now = nowMs();
    const sender = knownAddresses.at(address, now);
    if (sender !== undefined) {
      if (sender.counter.endsAtMs <= now) sender.counter = newCounter(now);
      sender.counter.spent += cost;
      return;
    }
    for (const { network, counters } of levelsOf(address)) {
      const counter = counters.getOrCreate(network, now);
      counter.spent += cost;
      counter.misused ||= misused;
    }
  }

  function exceededBy(address: string): ExceededBudget | undefined {
    const now = nowMs();
    const sender = knownAddresses.at(address, now);
    if (sender !== undefined) {
      const { counter, seenAtMs } = sender;
      const budget = failuresPerSecond * (now - seenAtMs < RECENT_MS ? RECENT_FACTOR : 1);
      return isOver(counter, budget, now) ? { scope: address, budget, counter } : undefined;
    }
    for (const { network, counters } of levelsOf(address)) {
      const { counter, shared } = counters.at(network, now);
      const budget = failuresPerSecond * (shared || counters === subnets ? SHARED_FACTOR : 1);
      const scope = shared ? `the addresses beyond ${UNKNOWN_ADDRESSES_MAX}` : network;
      if (isOver(counter, budget, now)) return { scope, budget, counter };
    }
    return undefined;
  }

  return {
    report({ address, source, outcome, code }) {
      if (source !== undefined) knownAddresses.recordAuthenticated(address, nowMs(), outcome);
      else if (outcome === 'unauthenticated') spend(address, COSTS[code] ?? 1, false);
    },
    charge(address, what) {
      spend(address, what === 'misuse' ? MISUSE_COST : 1, what === 'misuse');
    },
    excessReason(address) {
      const exceeded = exceededBy(address);
      return (
        exceeded &&
        `the failures of ${exceeded.scope} cost more than ${exceeded.budget} within a second ` +
          '(public.limits.failuresPerSecond; some count ten times): callbacks that failed to authenticate, ' +
          'requests answered 404 or 405, and misused connections; ' +
          'find out who sends them, and block that sender at the gateway'
      );
    },
    isBlocked: (address) => exceededBy(address)?.counter.misused === true,
  };
}

const newCounter = (now: number): Counter => ({ endsAtMs: now + SECOND_MS, spent: 0, misused: false });

const isOver = (counter: Counter | undefined, budget: number, now: number): counter is Counter =>
  counter !== undefined && counter.endsAtMs > now && counter.spent > budget;

interface KnownAddresses {
  at(address: string, now: number): KnownAddress | undefined;
  /** A callback from this address was authenticated. Only a decided one makes the address known. */
  recordAuthenticated(address: string, now: number, outcome: CallbackReport['outcome']): void;
}

/**
 * Keeps the addresses in the order in which they were last seen. If there are too many, the address that was
 * seen longest ago is dropped.
 */
function createKnownAddresses(): KnownAddresses {
  const entries = new Map<string, KnownAddress>();
  const keyOf = (address: string): string => parseAddress(address).toString();
  const at = (address: string, now: number): KnownAddress | undefined => {
    const entry = entries.get(keyOf(address));
    return entry === undefined || now - entry.seenAtMs >= KNOWN_ADDRESS_MS ? undefined : entry;
  };
  return {
    at,
    recordAuthenticated(address, now, outcome) {
      const entry = at(address, now);
      if (entry === undefined ? outcome !== 'decided' : now - entry.seenAtMs < SECOND_MS) return;
      entries.delete(keyOf(address));
      entries.set(keyOf(address), { seenAtMs: now, counter: entry?.counter ?? newCounter(now) });
      const [oldest] = entries.size > KNOWN_ADDRESSES_MAX ? entries.keys() : [];
      if (oldest !== undefined) entries.delete(oldest);
    },
  };
}

interface Counters {
  /** The counter of this network, or the shared one if there is no room for another. */
  at(network: string, now: number): { readonly counter: Counter | undefined; readonly shared: boolean };
  getOrCreate(network: string, now: number): Counter;
}

function createCounters(): Counters {
  // In the order in which their seconds end, so that the oldest counters come first.
  const counters = new Map<string, Counter>();
  let shared = newCounter(-SECOND_MS);
  const current = (network: string, now: number): Counter | undefined => {
    const counter = counters.get(network);
    return counter === undefined || counter.endsAtMs <= now ? undefined : counter;
  };
  const deleteEnded = (now: number): void => {
    for (const [network, { endsAtMs }] of counters) {
      if (endsAtMs > now) return;
      counters.delete(network);
    }
  };
  return {
    at(network, now) {
      const counter = current(network, now);
      const isFull = counter === undefined && counters.size >= UNKNOWN_ADDRESSES_MAX;
      return { counter: isFull ? shared : counter, shared: isFull };
    },
    getOrCreate(network, now) {
      const existing = current(network, now);
      if (existing !== undefined) return existing;
      deleteEnded(now);
      if (counters.size >= UNKNOWN_ADDRESSES_MAX) {
        if (shared.endsAtMs <= now) shared = newCounter(now);
        return shared;
      }
      const counter = newCounter(now);
      counters.set(network, counter);
      return counter;
    },
  };
}
