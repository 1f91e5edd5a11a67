import { performance } from 'node:perf_hooks';
import type { Answer } from '../callback/answer.ts';
import type { Callback } from '../callback/callback.ts';
import type { Failure } from '../errors.ts';
import type { CallbackReport, ReportCallback, Step, UnverifiedNames } from '../observe/report.ts';
import {
  type CallbackMessage,
  callbackTraces,
  parseTraceparent,
  stepTraces,
  traced,
} from '../observe/traces.ts';
import type { Authenticated } from '../signature/scheme.ts';
import { claimedAppKey } from '../signature/payments.ts';
import type { Member, Members } from '../values/members.ts';
import type { AnswerRecipient, Arrival } from './arrival.ts';

/** What came of one callback: its report, and an answer if it differs from the source's usual one. */
export interface Outcome {
  readonly answer?: Answer | undefined;
  readonly report: CallbackReport;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };
/** The members of a report that the steps collect. The outcome adds the others. */
type CollectedData = Omit<CallbackReport, 'traceId' | 'verdict' | 'outcome' | 'code' | 'because' | 'totalMs'>;
type Ending = Pick<CallbackReport, 'verdict' | 'outcome' | 'code' | 'because'> & Partial<CollectedData>;

/**
 * Collects the data of one callback on its way through the steps, and measures the time of each step. What it
 * measures is published: see traces.ts.
 */
export interface Trace {
  readonly requestId: string;
  /** That of the caller, or one that a subscriber made. */
  traceId(): string | undefined;
  /** Handles the callback: the work covers everything from here to the answer. */
  follow<T>(work: () => Promise<T>): Promise<T>;
  elapsedMs(): number;
  measure<T>(step: Step, work: () => T): T;
  measureAsync<T>(step: Step, work: () => Promise<T>): Promise<T>;
  setMembers(members: Members): void;
  setSender(sender: Authenticated): void;
  /** The receiver of the answer, from what is known now. */
  answerRecipient(): AnswerRecipient;
  setCallback(callback: Callback, subject: string): void;
  end(ending: Ending, answer?: Answer): Outcome;
  failed(failure: Failure): Outcome;
  /** `source`: the source that the callback claims, if its route doesn't name one. */
  unauthenticated(failure: Failure, source?: string): Outcome;
  refused(failure: Failure, decision: string): Outcome;
}

/** The time that the request may have waited before it was read counts as time spent. */
export function createTrace(arrival: Arrival): Trace {
  const { arrivedMs, path, requestId } = arrival;
  const stepsMs: Partial<Record<Step, number>> = {};
  const collected: Mutable<CollectedData> = {
    ...NOTHING_KNOWN,
    requestId,
    address: arrival.address,
    stepsMs,
  };
  const parent = parseTraceparent(arrival.header('traceparent'));
  const { traceId } = parent ?? {};
  const message: CallbackMessage = { arrivedMs, path, parent, traceId, report: undefined };
  let members: Members | undefined;
  const elapsedMs = (): number => performance.now() - arrivedMs;
  const totalMs = (): number => elapsedMs() - (stepsMs.hold ?? 0);
  const addTime = (step: Step, sinceMs: number): void => {
    stepsMs[step] = (stepsMs[step] ?? 0) + performance.now() - sinceMs;
  };
  const end = (ending: Ending, answer?: Answer): Outcome => {
    const report = { ...collected, ...ending, traceId: message.traceId, totalMs: totalMs() };
    message.report = report;
    return { answer, report };
  };
  const fail = (failure: Failure, ending: Pick<CallbackReport, 'outcome'> & Partial<CollectedData>) => {
    const common = { verdict: 'FAILURE', traceId: message.traceId, totalMs: totalMs() } as const;
    const report = withReason({ ...collected, ...ending, ...common }, failure);
    message.report = report;
    return { report };
  };

  return {
    requestId,
    traceId: () => message.traceId,
    follow: (work) => traced(callbackTraces, message, work),
    elapsedMs,
    measure(step, work) {
      const sinceMs = performance.now();
      try {
        return stepTraces.hasSubscribers ? stepTraces.traceSync(work, { step }) : work();
      } finally {
        addTime(step, sinceMs);
      }
    },
    async measureAsync(step, work) {
      const sinceMs = performance.now();
      try {
        return await traced(stepTraces, { step }, work);
      } finally {
        addTime(step, sinceMs);
      }
    },
    setMembers: (decoded) => void (members = decoded),
    answerRecipient: () => ({ route: arrival.route, source: collected.source, members }),
    setSender(sender) {
      collected.source = sender.source;
      collected.authenticatedBy = sender.by;
    },
    setCallback(callback, subject) {
      collected.kind = callback.kind;
      collected.subject = subject;
      collected.question = `${callback.question.type}${callback.question.speedUp ? '+' : ''}`;
    },
    end,
    failed: (failure) => fail(failure, { outcome: 'failed' }),
    unauthenticated: (failure, source) =>
      fail(failure, { outcome: 'unauthenticated', unverified: unverifiedNames(arrival, members, source) }),
    refused: (failure, decision) => fail(failure, { outcome: 'refused', decision }),
  };
}

const NOTHING_KNOWN = {
  source: undefined,
  unverified: undefined,
  kind: undefined,
  subject: undefined,
  question: undefined,
  authenticatedBy: undefined,
  rule: undefined,
  revision: undefined,
  decision: undefined,
  alarm: false,
  data: {},
};
const NAME_MAX = 128;

function unverifiedNames(
  { route }: Arrival,
  members: Members | undefined,
  claimedSource: string | undefined,
): UnverifiedNames {
  const [source, order] =
    route.callback === 'payment' ? [claimedSource, 'appOrderId'] : [route.source, 'request_id'];
  const appKey = members && claimedAppKey(members);
  return { source, appKey: shortName(appKey), order: shortName(textOf(members?.get(order))) };
}

const textOf = (member: Member | undefined): string | undefined =>
  member?.kind === 'string' || member?.kind === 'number' ? member.text : undefined;

const shortName = (name: string | undefined): string | undefined =>
  name === undefined || name.length <= NAME_MAX ? name : `${name.slice(0, NAME_MAX)}…`;

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
export function reportLate({ report: decided }: Outcome, report: ReportCallback): void {
  const because = `decided ${decided.verdict}, but FAILURE was answered or the client had disconnected`;
  report({ ...decided, verdict: 'FAILURE', outcome: 'late', code: 'ANSWERED_LATE', because });
}
