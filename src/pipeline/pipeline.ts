import { type Answer, answerOf } from '../callback/answer.ts';
import { CountersignError, type Failure, failure, messageOf } from '../errors.ts';
import { createInFlight } from '../values/in-flight.ts';
import type { Arrival } from './arrival.ts';
import { type Outcome, type Track, reportLate, track } from './outcome.ts';
import { type PipelineParts, takeSteps } from './steps.ts';

export interface Pipeline {
  /**
   * The answer to one callback, within `answerTimeoutMs`, whatever comes in and whatever fails; never
   * rejects. `delivered` is to be called afterwards, once: whether the client was still there. Only then is
   * the callback reported, so that neither log nor metrics keep an answer waiting.
   */
  receive(
    arrival: Arrival,
  ): Promise<{ readonly answer: Answer; readonly delivered: (there: boolean) => void }>;
  /** Resolves when nothing is under way any more, decisions that come too late included. */
  idle(): Promise<void>;
}

/**
 * The steps, within their time: what is not decided by then is answered FAILURE, and what is decided later is
 * marked so.
 */
export function createPipeline(parts: PipelineParts): Pipeline {
  const { answerTimeoutMs } = parts;
  const inFlight = createInFlight();

  function keep(work: Promise<unknown>, ended?: () => void): void {
    inFlight.enter();
    const leave = (): void => {
      inFlight.leave();
      ended?.();
    };
    work.then(leave, leave);
  }

  /** Of a sender that is not authenticated only the form of the answer is guessed: the verdict is FAILURE. */
  function answerFor(run: Track, { answer, verdict, report: { source } }: Outcome): Answer {
    return (
      answer ?? answerOf(source === undefined ? 'FAILURE' : verdict, parts.answerFormat(run.addressee()))
    );
  }

  return {
    async receive(arrival) {
      const run = track(arrival);
      const work = takeSteps(parts, arrival, run).catch((thrown: unknown) => run.failed(failureOf(thrown)));
      keep(work, arrival.ended);
      const outcome = await within(work, answerTimeoutMs - (arrival.waitedMs ?? 0));
      if (outcome !== undefined && run.elapsedMs() <= answerTimeoutMs) {
        return {
          answer: answerFor(run, outcome),
          delivered: (there) => keep(reportDelivery(parts, run, outcome, there)),
        };
      }
      keep(work.then((late) => answeredLate(parts, run, late)));
      const timedOut = run.failed(
        failure('TIMED_OUT', `no decision within ${answerTimeoutMs} ms (answerTimeoutMs)`),
      );
      return {
        answer: answerFor(run, timedOut),
        delivered: () => keep(reportDelivery(parts, run, timedOut, true)),
      };
    },
    idle: () => inFlight.none(),
  };
}

/** What rejects here has no callback left whose answer it could be, and must not end the process. */
async function reportDelivery(
  parts: PipelineParts,
  run: Track,
  outcome: Outcome,
  there: boolean,
): Promise<void> {
  parts.report(outcome.report);
  if (!there) await answeredLate(parts, run, outcome);
}

/**
 * A decision stands, but its SUCCESS never reached anybody: the journal says so, and a repeat will get it.
 */
async function answeredLate({ store, report }: PipelineParts, run: Track, outcome: Outcome): Promise<void> {
  const { decision, source, subject = '' } = outcome.report;
  if (decision === undefined || source === undefined || outcome.verdict === 'FAILURE') return;
  reportLate(outcome, report);
  const detail = JSON.stringify({ requestId: run.requestId, totalMs: run.elapsedMs() });
  await store.record({
    source,
    type: 'late',
    subject,
    verdict: 'FAILURE',
    code: 'ANSWERED_LATE',
    of: decision,
    detail,
  });
}

/** What went wrong inside, without a stack: the answer is FAILURE, and the log names it. */
function failureOf(thrown: unknown): Failure {
  const ofStore = thrown instanceof CountersignError && thrown.code.startsWith('STORE_');
  return failure(ofStore ? 'STORE_FAILED' : 'INTERNAL', messageOf(thrown));
}

/** The work's value, or undefined once the time is up. */
async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  const { promise: first, resolve, reject } = Promise.withResolvers<T | undefined>();
  const timer = setTimeout(resolve, timeoutMs, undefined);
  work.then(resolve, reject);
  try {
    return await first;
  } finally {
    clearTimeout(timer);
  }
}
