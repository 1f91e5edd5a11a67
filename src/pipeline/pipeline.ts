import { type Answer, type AnswerFormat, answerOf, selfCheckAnswer } from '../callback/answer.ts';
import { type Callback, type SelfCheck, type Verdict, subjectOf } from '../callback/callback.ts';
import { callbackKinds, claimedSubject, parseCosigner } from '../callback/kinds.ts';
import { CountersignError, type Failure, failure, messageOf } from '../errors.ts';
import type { CallbackReport, ReportCallback } from '../observe/report.ts';
import type { Authenticator } from '../signature/authenticate.ts';
import type { Authenticated } from '../signature/scheme.ts';
import { createInFlight } from '../values/in-flight.ts';
import { type Members, decodeMembers } from '../values/members.ts';
import type { FailureBudgets } from './address-budgets.ts';
import type { AnswerRecipient, Arrival } from './arrival.ts';
import { type TurnedAwayCallback, createAdmission } from './admission.ts';
import type { DecideParts } from './decide.ts';
import { type HoldParts, decideWithPeople } from './hold.ts';
import { type Outcome, type Trace, reportLate, createTrace } from './outcome.ts';

export interface Pipeline {
  /**
   * Answers one callback within `answerTimeoutMs`, whatever it contains and whatever fails; never rejects.
   * Call `delivered` once afterwards, with whether the client was still connected. The callback is reported
   * then, so that log and metrics don't delay its answer.
   */
  receive(arrival: Arrival): Promise<Reply>;
  /** Resolves when nothing is in flight any more, late decisions included. */
  readonly idle: () => Promise<void>;
}

interface Reply {
  readonly answer: Answer;
  readonly delivered: (connected: boolean) => void;
}

export interface PipelineParts extends DecideParts {
  /** The current keys of the sources. Another object means that keys were replaced. */
  readonly authenticator: () => Authenticator;
  /** Why nothing may be approved yet, for example because the safety of the store was not checked yet. */
  readonly notReady: () => Failure | undefined;
  readonly answerFormat: (recipient: AnswerRecipient) => AnswerFormat;
  readonly report: ReportCallback;
  /** Called for each callback that is turned away. Such a callback is not reported otherwise. */
  readonly onTurnedAway: (callback: TurnedAwayCallback) => void;
  readonly budgets: Pick<FailureBudgets, 'report' | 'excessReason'>;
  /** See EventLoop. */
  readonly capacity: () => number;
  /** The most callbacks in flight (`public.limits.callbacks`). */
  readonly callbacks: number;
  /** The most callbacks held open for people (`public.limits.held`). */
  readonly held: number;
  /** No callback is held open any more. */
  readonly isStopping: () => boolean;
  /** Outputs that a withdrawal may have (`public.limits.outputs`). */
  readonly outputs: number;
  /** From arrival to answer. */
  readonly answerTimeoutMs: number;
}

/**
 * The five steps within their bounds. A callback that is not decided in time is answered FAILURE. A later
 * decision stands. If it is SUCCESS, the journal notes that it came too late.
 */
export function createPipeline(parts: PipelineParts): Pipeline {
  const { answerTimeoutMs, answerFormat, budgets, onTurnedAway } = parts;
  const inFlight = createInFlight();
  const admission = createAdmission(parts);

  function report(callback: CallbackReport): void {
    // Overload is not the fault of the sender, and `onTurnedAway` has counted this callback.
    if (callback.code === 'OVERLOADED') return;
    budgets.report(callback);
    parts.report(callback);
  }
  const reportingParts = { ...parts, report };

  function countInFlight(work: Promise<unknown>): void {
    inFlight.enter();
    work.then(inFlight.leave, inFlight.leave);
  }

  /**
   * If the sender is not authenticated, the verdict is FAILURE, and only the format of the answer is guessed.
   */
  function answerFor(trace: Trace, { answer, report: { source, verdict } }: Outcome): Answer {
    return (
      answer ?? answerOf(source === undefined ? 'FAILURE' : verdict, answerFormat(trace.answerRecipient()))
    );
  }

  async function readAndDecide(arrival: Arrival, trace: Trace): Promise<Outcome> {
    const addressFailure = checkAddress(parts.authenticator(), arrival);
    if (addressFailure !== undefined) return trace.unauthenticated(addressFailure);
    const body = await arrival.body();
    if (!(body instanceof Uint8Array)) return trace.unauthenticated(body);
    const turnedAway = admission.enter(arrival);
    if (turnedAway !== undefined) {
      onTurnedAway(turnedAway);
      return trace.unauthenticated(turnedAway.failure);
    }
    try {
      return await runSteps({ ...parts, hold: admission.hold }, arrival, trace, body);
    } finally {
      admission.leave();
    }
  }

  async function decideInTime(arrival: Arrival, trace: Trace, lagMs: number): Promise<Reply> {
    const work = readAndDecide(arrival, trace).catch((thrown: unknown) => trace.failed(failureOf(thrown)));
    countInFlight(work);
    const outcome = await valueWithin(work, answerTimeoutMs - lagMs);
    if (outcome !== undefined && trace.elapsedMs() <= answerTimeoutMs) {
      return {
        answer: answerFor(trace, outcome),
        delivered: (connected) => countInFlight(reportDelivery(reportingParts, trace, outcome, connected)),
      };
    }
    countInFlight(work.then((late) => recordLate(reportingParts, trace, late)));
    const timedOut = trace.failed(
      failure('TIMED_OUT', `no decision within ${answerTimeoutMs} ms (answerTimeoutMs)`),
    );
    return {
      answer: answerFor(trace, timedOut),
      delivered: () => countInFlight(reportDelivery(reportingParts, trace, timedOut, true)),
    };
  }

  return {
    async receive(arrival) {
      const lagMs = performance.now() - arrival.arrivedMs;
      const turnedAway = admission.turnAway(arrival, lagMs);
      if (turnedAway !== undefined) {
        onTurnedAway(turnedAway);
        const format = answerFormat({ route: arrival.route, source: undefined, members: undefined });
        return { answer: answerOf('FAILURE', format), delivered: () => undefined };
      }
      const trace = createTrace(arrival);
      return trace.follow(() => decideInTime(arrival, trace, lagMs));
    },
    idle: inFlight.idle,
  };
}

/** The five steps, in their one order: decode, authenticate, parse, evaluate and settle. */
async function runSteps(
  parts: PipelineParts & HoldParts,
  arrival: Arrival,
  trace: Trace,
  body: Uint8Array,
): Promise<Outcome> {
  const decoded = trace.measure('decode', () => decodeMembers(body));
  if (!decoded.ok) return trace.unauthenticated(decoded);
  trace.setMembers(decoded.members);
  const authenticator = parts.authenticator();
  const sender = await trace.measureAsync('authenticate', () =>
    authenticate(parts, arrival, decoded.members),
  );
  if (!sender.ok) {
    return trace.unauthenticated(sender, parts.authenticator().claimedSource(decoded.members));
  }
  trace.setSender(sender);
  const parsed = trace.measure('parse', () => parse(parts, arrival, sender));
  if (!parsed.ok) {
    const expected = arrival.route.callback === 'payment' ? (['payment'] as const) : arrival.route.expected;
    const subject = claimedSubject(sender.members, expected);
    return recordUnparsed(parts, trace, { sender, subject, body: decoded.text, reason: parsed });
  }
  const { callback } = parsed;
  if (callback.kind === 'self-check') return selfCheck(parts, trace, callback, decoded.text);
  trace.setCallback(callback, subjectOf(callback));
  const notReady = parts.notReady();
  if (notReady !== undefined) return trace.failed(notReady);
  const received = { callback, body: decoded.text, sender, address: arrival.address };
  // Keys that were replaced might not authenticate a repeat.
  const mayHold = (): boolean =>
    !parts.isStopping() &&
    arrival.isConnected() &&
    parts.authenticator() === authenticator &&
    parts.notReady() === undefined;
  return decideWithPeople(parts, trace, received, mayHold);
}

/** Checks the address of a co-signer before a byte of the body is read. */
function checkAddress(authenticator: Authenticator, { route, address }: Arrival): Failure | undefined {
  return route.callback === 'payment' ? undefined : authenticator.checkAddress(route.source, address);
}

async function authenticate(
  parts: Pick<PipelineParts, 'authenticator'>,
  arrival: Arrival,
  members: Members,
): Promise<Authenticated | Failure> {
  const { route } = arrival;
  if (route.callback === 'cosigner') return parts.authenticator().cosigner(route.source, arrival, members);
  for (;;) {
    const authenticator = parts.authenticator();
    const sender = await authenticator.payment(members);
    // A key that was replaced while the callback waited for a thread must not authenticate it any more.
    if (parts.authenticator() === authenticator) return sender;
  }
}

function parse(
  { outputs }: PipelineParts,
  { route }: Arrival,
  { members, source }: Authenticated,
): { readonly ok: true; readonly callback: Callback | SelfCheck } | Failure {
  return route.callback === 'payment'
    ? callbackKinds.payment.parse(members, source)
    : parseCosigner(members, source, route.expected, { outputs });
}

interface UnparsedCallback {
  readonly sender: Authenticated;
  readonly subject: string;
  readonly body: string;
  readonly reason: Failure;
}

/** Answers FAILURE to an authenticated callback that can't be parsed, and journals it with the reason. */
async function recordUnparsed(
  { store }: PipelineParts,
  trace: Trace,
  { sender, subject, body, reason }: UnparsedCallback,
): Promise<Outcome> {
  const { code, because } = reason;
  const { source, by } = sender;
  const detail = JSON.stringify({ requestId: trace.requestId, traceId: trace.traceId(), by, body, because });
  const id = await store.record({
    source,
    type: 'refused',
    subject,
    verdict: 'FAILURE',
    code,
    of: '',
    detail,
  });
  return trace.refused(reason, id);
}

async function selfCheck(
  { authenticator, store }: PipelineParts,
  trace: Trace,
  check: SelfCheck,
  body: string,
): Promise<Outcome> {
  const { source } = check;
  const valid = authenticator().selfCheck(source, check);
  const verdict: Verdict = valid.client && valid.verify ? 'SUCCESS' : 'FAILURE';
  const detail = JSON.stringify({ requestId: trace.requestId, traceId: trace.traceId(), body, valid });
  const code = 'SELF_CHECK';
  const decision = await store.record({
    source,
    type: 'self-check',
    subject: '',
    verdict,
    code,
    of: '',
    detail,
  });
  const because =
    `client_system_pubkey_hash ${describeMatch(valid.client)}, ` +
    `verify_sign_pub_hash ${describeMatch(valid.verify)}`;
  return trace.end(
    { verdict, outcome: 'self-check', code, because, kind: 'self-check', decision },
    selfCheckAnswer(valid),
  );
}

const describeMatch = (matches: boolean): string =>
  matches ? 'matches' : 'does not match, or no key is set';

/** Runs after the answer was sent. A rejection must not end the process: see `countInFlight`. */
async function reportDelivery(
  parts: Pick<PipelineParts, 'store' | 'report'>,
  trace: Trace,
  outcome: Outcome,
  connected: boolean,
): Promise<void> {
  parts.report(outcome.report);
  if (!connected) await recordLate(parts, trace, outcome);
}

/**
 * The decision stands, but the client did not get its SUCCESS. The journal records that, and a repeat gets
 * the SUCCESS.
 */
async function recordLate(
  { store, report }: Pick<PipelineParts, 'store' | 'report'>,
  trace: Trace,
  outcome: Outcome,
): Promise<void> {
  const { decision, source, subject = '', verdict } = outcome.report;
  if (decision === undefined || source === undefined || verdict === 'FAILURE') return;
  reportLate(outcome, report);
  const detail = JSON.stringify({
    requestId: trace.requestId,
    traceId: trace.traceId(),
    totalMs: trace.elapsedMs(),
  });
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

/** An internal error, without its stack, for the log. The answer is FAILURE. */
function failureOf(thrown: unknown): Failure {
  const isStoreError = thrown instanceof CountersignError && thrown.code.startsWith('STORE_');
  return failure(isStoreError ? 'STORE_FAILED' : 'INTERNAL', messageOf(thrown));
}

/** The value of the work, or undefined after the time-out. */
async function valueWithin<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  const { promise: first, resolve, reject } = Promise.withResolvers<T | undefined>();
  const timer = setTimeout(resolve, timeoutMs, undefined);
  work.then(resolve, reject);
  try {
    return await first;
  } finally {
    clearTimeout(timer);
  }
}
