import { networksOf } from '../../values/address-networks.ts';
import type { Clock } from '../../values/clock.ts';

const WINDOW_MS = 60_000;

/** Bounds on the attempts of a minute. */
export interface AttemptBounds {
  readonly perAddress: number;
  readonly inTotal: number;
}

/** Failed sign-ins. Behind a proxy, all people have its address. */
export const FAILURES: AttemptBounds = { perAddress: 10, inTotal: 100 };
/** Challenges, each of which takes room in the store for minutes. */
export const CHALLENGES: AttemptBounds = { perAddress: 60, inTotal: 300 };

/** Counts attempts of one kind in the last minute, by address (in IPv6, by /64, which one host has) and in total. */
export interface Attempts {
  /** Whether a further attempt is refused unread. */
  areTooMany(address: string): boolean;
  count(address: string): void;
}

export function createAttempts({ perAddress, inTotal }: AttemptBounds, clock: Clock): Attempts {
  let startedMs = -Infinity;
  let total = 0;
  const byNetwork = new Map<string, number>();
  const renew = (): void => {
    if (clock() - startedMs < WINDOW_MS && clock() >= startedMs) return;
    startedMs = clock();
    total = 0;
    byNetwork.clear();
  };
  return {
    areTooMany(address) {
      renew();
      return total >= inTotal || (byNetwork.get(networksOf(address)[0]) ?? 0) >= perAddress;
    },
    count(address) {
      renew();
      total += 1;
      const [network] = networksOf(address);
      byNetwork.set(network, (byNetwork.get(network) ?? 0) + 1);
    },
  };
}
