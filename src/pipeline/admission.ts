import { type Failure, failure } from '../errors.ts';
import type { FailureBudgets } from './address-budgets.ts';
import type { Arrival } from './arrival.ts';

/** A callback that is answered FAILURE because of the load or of its address, not because of its content. */
export interface TurnedAwayCallback {
  readonly reason: 'callbacks' | 'loop' | 'address';
  readonly address: string;
  readonly failure: Failure;
}

export interface AdmissionParts {
  /** The most callbacks in flight, late ones included (`public.limits.callbacks`). */
  readonly callbacks: number;
  /** The most callbacks held open at once (`public.limits.held`). */
  readonly held: number;
  readonly answerTimeoutMs: number;
  readonly budgets: Pick<FailureBudgets, 'excessReason'>;
  /** See EventLoop. */
  readonly capacity: () => number;
}

export interface Admission {
  /** Why this callback is turned away before its body is read; undefined if it is not. */
  turnAway(arrival: Arrival, lagMs: number): TurnedAwayCallback | undefined;
  /** Counts a callback whose body was read. Call `leave` afterwards, unless it is turned away. */
  enter(arrival: Arrival): TurnedAwayCallback | undefined;
  leave(): void;
  /**
   * Does the waiting of a callback that has entered, which doesn't count as in flight meanwhile. Resolves with
   * false at once if as many as may be are held.
   */
  readonly hold: (waiting: () => Promise<boolean>) => Promise<boolean>;
}

/**
 * Turns away callbacks that can't be decided in time. So the other callbacks are answered in time, memory is
 * bounded, and no backlog is left when the load ends.
 *
 * By Little's law, 512 callbacks in flight are all answered within 2 s if the service decides at least 256 a
 * second. A slower service would answer all of them late, so its event loop lowers the number: see
 * `nextCapacity`. Slow bodies don't count: they keep no other callback out.
 */
export function createAdmission({
  callbacks,
  held,
  answerTimeoutMs,
  budgets,
  capacity,
}: AdmissionParts): Admission {
  let inFlight = 0;
  let holding = 0;

  const turnAwayIfFull = (address: string): TurnedAwayCallback | undefined => {
    const room = Math.ceil(callbacks * capacity());
    if (inFlight < room) return undefined;
    const because =
      room === callbacks
        ? `${callbacks} callbacks are in flight (public.limits.callbacks); ` +
          'add a replica, or find out what is slow in countersign_callback_seconds'
        : `${room} callbacks are in flight, and more would be answered late; ` +
          'give the service more CPU, or add a replica';
    return {
      reason: room === callbacks ? 'callbacks' : 'loop',
      address,
      failure: failure('OVERLOADED', because),
    };
  };

  return {
    turnAway({ address, header, fromProxy }, lagMs) {
      const exceeded = budgets.excessReason(address);
      if (exceeded !== undefined) {
        const isGateway = !fromProxy && header('x-forwarded-for') !== undefined;
        const because = isGateway ? `${exceeded}${UNTRUSTED}` : exceeded;
        return { reason: 'address', address, failure: failure('ADDRESS_THROTTLED', because) };
      }
      if (lagMs < answerTimeoutMs) return turnAwayIfFull(address);
      const because =
        `the service read this callback up to ${Math.round(lagMs)} ms after it arrived, because it was ` +
        'starting or busy; if it is busy for long, give it more CPU, or add a replica';
      return { reason: 'loop', address, failure: failure('OVERLOADED', because) };
    },
    enter({ address }) {
      const turnedAway = turnAwayIfFull(address);
      if (turnedAway === undefined) inFlight += 1;
      return turnedAway;
    },
    leave() {
      inFlight -= 1;
    },
    async hold(waiting) {
      if (holding >= held) return false;
      holding += 1;
      inFlight -= 1;
      try {
        return await waiting();
      } finally {
        holding -= 1;
        inFlight += 1;
      }
    },
  };
}

const UNTRUSTED =
  '. It sends X-Forwarded-For and is not in public.trustedProxies. If it is your gateway, list it there. ' +
  'Otherwise all its clients count as one address';
