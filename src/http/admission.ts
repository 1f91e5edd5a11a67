import { type AnswerFormat, answerOf } from '../callback/answer.ts';
import { type Failure, failure } from '../errors.ts';
import type { Addressee, Arrival } from '../pipeline/arrival.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { FailureBudgets } from './admission-addresses.ts';
import type { Turns } from './admission-turns.ts';

/** A callback that is answered FAILURE for what goes on around it, and not for what it says. */
export interface TurnedAway {
  readonly reason: 'callbacks' | 'loop' | 'address';
  readonly address: string;
  readonly failure: Failure;
}

export interface AdmissionParts {
  readonly pipeline: Pipeline;
  /**
   * Callbacks that may be under way at once, those included whose answer was sent before they were decided.
   */
  readonly callbacks: number;
  readonly answerTimeoutMs: number;
  readonly turns: Turns;
  readonly budgets: FailureBudgets;
  readonly answerFormat: (addressee: Addressee) => AnswerFormat;
  readonly turnedAway: (turned: TurnedAway) => void;
}

const NOBODY_TO_TELL = (): void => undefined;

/**
 * The pipeline, behind a bound: what can't be decided in time is answered FAILURE at once, before its body is
 * read. So the others are answered in time, memory is bounded, and nothing is left to work off when the load
 * ends.
 *
 * By Little's law `callbacks` under way at `answerTimeoutMs` each are the least rate at which all are still
 * in time: 512 in 2 s are 256 a second. Whatever is slow, a store or this machine, a longer queue would only
 * make more of them late. On a machine that is slower than that `turns` lets in fewer.
 */
export function createAdmission(parts: AdmissionParts): Pipeline {
  const { pipeline, callbacks, answerTimeoutMs, turns, budgets, answerFormat, turnedAway } = parts;
  let inFlight = 0;

  function tooMany(address: string): TurnedAway | undefined {
    const room = Math.ceil(callbacks * turns.share());
    if (inFlight < room) return undefined;
    const because =
      room === callbacks
        ? `${callbacks} callbacks are under way (public.limits.callbacks): add a replica, or look at what is slow in countersign_callback_seconds`
        : `${room} callbacks are under way, and more this machine can't answer in time: give it more CPU, or add a replica`;
    return {
      reason: room === callbacks ? 'callbacks' : 'loop',
      address,
      failure: failure('OVERLOADED', because),
    };
  }

  function refusalOf({ address, header, fromProxy }: Arrival, waitedMs: number): TurnedAway | undefined {
    const throttled = budgets.throttled(address);
    if (throttled !== undefined) {
      const gateway = !fromProxy && header('x-forwarded-for') !== undefined;
      const because = gateway ? `${throttled}${UNTRUSTED}` : throttled;
      return { reason: 'address', address, failure: failure('ADDRESS_THROTTLED', because) };
    }
    if (waitedMs < answerTimeoutMs) return tooMany(address);
    const because = `the service comes to its callbacks up to ${Math.round(waitedMs)} ms late: give it more CPU, or add a replica`;
    return { reason: 'loop', address, failure: failure('OVERLOADED', because) };
  }

  /** The body, and with it a place among those under way; slow bodies keep none from the others. */
  async function bodyAndPlace(arrival: Arrival, taken: () => void): Promise<Uint8Array | Failure> {
    const body = await arrival.body();
    if (!(body instanceof Uint8Array)) return body;
    const full = tooMany(arrival.address);
    if (full === undefined) {
      inFlight += 1;
      taken();
      return body;
    }
    turnedAway(full);
    return full.failure;
  }

  return {
    receive(arrival) {
      const waitedMs = Math.max(turns.waitedMs(), arrival.waitedMs ?? 0);
      const refusal = refusalOf(arrival, waitedMs);
      if (refusal !== undefined) {
        turnedAway(refusal);
        const format = answerFormat({ route: arrival.route, source: undefined, members: undefined });
        return Promise.resolve({ answer: answerOf('FAILURE', format), delivered: NOBODY_TO_TELL });
      }
      let placed = false;
      return pipeline.receive({
        ...arrival,
        waitedMs,
        body: () => bodyAndPlace(arrival, () => (placed = true)),
        ended: () => {
          if (placed) inFlight -= 1;
        },
      });
    },
    idle: () => pipeline.idle(),
  };
}

const UNTRUSTED =
  '. It sends X-Forwarded-For and is not in public.trustedProxies: if it is your gateway, list it there, for else all its callers count as one';
