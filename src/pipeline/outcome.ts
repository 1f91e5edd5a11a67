import { performance } from 'node:perf_hooks';
import type { Answer } from '../callback/answer.ts';
import type { Callback, Verdict } from '../callback/callback.ts';
import type { Failure } from '../errors.ts';
import type { CallbackReport, ReportCallback, Step } from '../observe/report.ts';
import type { Authenticated } from '../signature/authenticate.ts';
import type { Members } from '../values/members.ts';
import type { Addressee, Arrival } from './arrival.ts';

/**
 * The outcome of one callback: the verdict, the report, and an answer if it differs from the source's usual
 * one.
 */
export interface Outcome {
  readonly verdict: Verdict;
  readonly answer?: Answer;
  readonly report: CallbackReport;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
/** The members of a report that the steps collect. The outcome adds the others. */
type Known = Omit<CallbackReport, 'verdict' | 'outcome' | 'code' | 'because' | 'totalMs'>;
type Ending = Pick<CallbackReport, 'verdict' | 'outcome' | 'code' | 'because'> & Partial<Known>;

/** Collects the data of one callback on its way through the steps, and measures the time of each step. */
export interface Track {
  readonly requestId: string;
  elapsedMs(): number;
  timed<T>(step: Step, work: () => T): T;
  timedAsync<T>(step: Step, work: () => Promise<T>): Promise<T>;
  decoded(members: Members): void;
  authenticated(sender: Authenticated): void;
  /** The receiver of the answer, from what is known now. */
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
  const fail = (outcome: CallbackReport['outcome'], failure: Failure, decision?: string): Outcome => {
    const report = { ...known, verdict: 'FAILURE', outcome, decision, totalMs: elapsedMs() } as const;
    return { verdict: 'FAILURE', report: withReason(report, failure) };
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
    failed: (failure) => fail('failed', failure),
    unauthenticated: (failure) => fail('unauthenticated', failure),
    refused: (failure, decision) => fail('refused', failure, decision),
  };
}

/**
 * Adds the failure's reason, which is read only if it is logged. Most failures are not, and to explain a
 * wrong RSA signature takes four times as long as to verify it.
 */
function withReason(
  report: Omit<CallbackReport, 'code' | 'because' | 'data'>,
  failure: Failure,
): CallbackReport {
  return {
    ...report,
    code: failure.code,
    get because() {
      return failure.because;
    },
    get data() {
      return failure.data;
    },
  };
}

/** Reports an outcome whose SUCCESS came too late, or did not reach the client. */
export function reportLate(outcome: Outcome, report: ReportCallback): void {
  const because = `decided ${outcome.verdict}, but FAILURE was answered or the client had gone`;
  report({ ...outcome.report, verdict: 'FAILURE', outcome: 'late', code: 'ANSWERED_LATE', because });
}
