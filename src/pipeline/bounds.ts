import { type Failure, failure } from '../errors.ts';
import type { FailureBudgets } from './address-budgets.ts';
import type { Arrival } from './arrival.ts';

/** A callback that is answered FAILURE because of the load or of its address, not because of its content. */
export interface TurnedAway {
  readonly reason: 'callbacks' | 'loop' | 'address';
  readonly address: string;
  readonly failure: Failure;
}

export interface BoundsParts {
  /** The most callbacks in flight, late ones included (`public.limits.callbacks`). */
  readonly callbacks: number;
  readonly answerTimeoutMs: number;
  readonly budgets: Pick<FailureBudgets, 'exceeded'>;
}

export interface Bounds {
  /** Why this callback is turned away before its body is read. */
  refusal(arrival: Arrival, lagMs: number): TurnedAway | undefined;
  /** Counts a callback whose body was read. Call `leave` afterwards, unless the callback is turned away. */
  enter(arrival: Arrival): TurnedAway | undefined;
  leave(): void;
}

/**
 * Turns away callbacks that can't be decided in time. So the other callbacks are answered in time, memory is
 * bounded, and no backlog is left when the load ends.
 *
 * By Little's law, 512 callbacks in flight are all answered within 2 s if the service decides at least 256 a
 * second. A longer queue would only make more of them late. Slow bodies don't count: they keep no other
 * callback out.
 */
export function createBounds({ callbacks, answerTimeoutMs, budgets }: BoundsParts): Bounds {
  let inFlight = 0;

  const full = (address: string): TurnedAway | undefined =>
    inFlight < callbacks
      ? undefined
      : {
          reason: 'callbacks',
          address,
          failure: failure(
            'OVERLOADED',
            `${callbacks} callbacks are in flight (public.limits.callbacks): ` +
              'add a replica, or find out what is slow in countersign_callback_seconds',
          ),
        };

  return {
    refusal({ address, header, fromProxy }, lagMs) {
      const exceeded = budgets.exceeded(address);
      if (exceeded !== undefined) {
        const isGateway = !fromProxy && header('x-forwarded-for') !== undefined;
        const because = isGateway ? `${exceeded}${UNTRUSTED}` : exceeded;
        return { reason: 'address', address, failure: failure('ADDRESS_THROTTLED', because) };
      }
      if (lagMs < answerTimeoutMs) return full(address);
      const because =
        `the service reads its callbacks up to ${Math.round(lagMs)} ms late: ` +
        'give it more CPU, or add a replica';
      return { reason: 'loop', address, failure: failure('OVERLOADED', because) };
    },
    enter({ address }) {
      const refusal = full(address);
      if (refusal === undefined) inFlight += 1;
      return refusal;
    },
    leave() {
      inFlight -= 1;
    },
  };
}

const UNTRUSTED =
  '. It sends X-Forwarded-For and is not in public.trustedProxies: if it is your gateway, list it there. ' +
  'Otherwise all its clients count as one address';

export interface EventLoopLag {
  /** The longest time for which a request that is read now may have waited; 0 if it is below 100 ms. */
  lagMs(): number;
  stop(): void;
}

const TICK_MS = 20;
/** Any process has shorter pauses, such as garbage collections. */
const NOTABLE_MS = 100;

/**
 * Measures how late the event loop reads its sockets. Node runs timers before it reads sockets. So a request
 * that is read now arrived after the last run of the timer but one. `nowMs` must never run backwards.
 */
export function followEventLoop(nowMs: () => number): EventLoopLag {
  let lastMs = nowMs();
  let previousMs = lastMs;
  const timer = setInterval(() => {
    previousMs = lastMs;
    lastMs = nowMs();
  }, TICK_MS).unref();
  return {
    lagMs() {
      const lagMs = nowMs() - previousMs;
      return lagMs < NOTABLE_MS ? 0 : lagMs;
    },
    stop: () => clearInterval(timer),
  };
}
