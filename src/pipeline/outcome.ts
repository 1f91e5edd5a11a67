import { performance } from 'node:perf_hooks';
import type { Answer } from '../callback/answer.ts';
import type { Callback, Verdict } from '../callback/callback.ts';
import type { Failure } from '../errors.ts';
import type { CallbackReport, ReportCallback, Step } from '../observe/report.ts';
import type { Authenticated } from '../signature/authenticate.ts';
import type { Members } from '../values/members.ts';
import type { Addressee, Arrival } from './arrival.ts';

/** What one callback came to: the verdict, another answer than the source's usual one, and the report. */
export interface Outcome {
  readonly verdict: Verdict;
  readonly answer?: Answer;
  readonly report: CallbackReport;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
/** What is known of every callback; what differs is given with its outcome. */
type Known = Omit<CallbackReport, 'verdict' | 'outcome' | 'code' | 'because' | 'totalMs'>;
type Ending = Pick<CallbackReport, 'verdict' | 'outcome' | 'code' | 'because'> & Partial<Known>;

/** Follows one callback through the steps: what is known of it so far, and how long each step took. */
export interface Track {
  readonly requestId: string;
  elapsedMs(): number;
  timed<T>(step: Step, work: () => T): T;
  timedAsync<T>(step: Step, work: () => Promise<T>): Promise<T>;
  decoded(members: Members): void;
  authenticated(sender: Authenticated): void;
  /** Who is to be answered, by what is known of the callback now. */
  addressee(): Addressee;
  callback(callback: Callback, subject: string): void;
  end(ending: Ending, answer?: Answer): Outcome;
  failed(failure: Failure): Outcome;
  unauthenticated(failure: Failure): Outcome;
  refused(failure: Failure, decision: string): Outcome;
}

/** `lagMs`: how long the request may have waited before it was read. That counts as time spent. */
export function track(arrival: Arrival, lagMs: number): Track {
  const startedMs = performance.now() - lagMs;
  const stepsMs: Partial<Record<Step, number>> = {};
  const known: Mutable<Known> = {
    requestId: arrival.requestId,
    address: arrival.address,
    source: undefined,
    kind: undefined,
    subject: undefined,
    question: undefined,
    authenticatedBy: undefined,
    rule: undefined,
    revision: undefined,
    decision: undefined,
    alarm: false,
    data: {},
    stepsMs,
  };
  let members: Members | undefined;
  const elapsedMs = (): number => performance.now() - startedMs;
  const spent = (step: Step, sinceMs: number): void => {
    stepsMs[step] = (stepsMs[step] ?? 0) + performance.now() - sinceMs;
  };
  const end = (ending: Ending, answer?: Answer): Outcome => ({
    verdict: ending.verdict,
    ...(answer === undefined ? {} : { answer }),
    report: { ...known, ...ending, totalMs: elapsedMs() },
  });
  const no = (outcome: CallbackReport['outcome'], failure: Failure, decision?: string): Outcome => {
    const ended = end({ verdict: 'FAILURE', outcome, code: failure.code, because: '', decision });
    explainLazily(ended.report, failure);
    return ended;
  };

  return {
    requestId: arrival.requestId,
    elapsedMs,
    timed(step, work) {
      const sinceMs = performance.now();
      try {
        return work();
      } finally {
        spent(step, sinceMs);
      }
    },
    async timedAsync(step, work) {
      const sinceMs = performance.now();
      try {
        return await work();
      } finally {
        spent(step, sinceMs);
      }
    },
    decoded: (read) => void (members = read),
    addressee: () => ({ route: arrival.route, source: known.source, members }),
    authenticated(sender) {
      known.source = sender.source;
      known.authenticatedBy = sender.by;
    },
    callback(callback, subject) {
      known.kind = callback.kind;
      known.subject = subject;
      known.question = `${callback.question.type}${callback.question.speedUp ? '+' : ''}`;
    },
    end,
    failed: (failure) => no('failed', failure),
    unauthenticated: (failure) => no('unauthenticated', failure),
    refused: (failure, decision) => no('refused', failure, decision),
  };
}

/** Why it failed is read by the log alone, and of few: see failureWhy. */
function explainLazily(report: CallbackReport, failure: Failure): void {
  Object.defineProperties(report, {
    because: { get: () => failure.because, enumerable: true },
    data: { get: () => failure.data, enumerable: true },
  });
}

/** The report of an outcome whose SUCCESS came too late, or found nobody. */
export function reportLate(outcome: Outcome, report: ReportCallback): void {
  const because = `decided ${outcome.verdict}, but FAILURE was answered or the client had gone`;
  report({ ...outcome.report, verdict: 'FAILURE', outcome: 'late', code: 'ANSWERED_LATE', because });
}
