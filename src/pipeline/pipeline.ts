import { type Answer, type AnswerFormat, answerOf, selfCheckAnswer } from '../callback/answer.ts';
import { type Callback, type SelfCheck, type Verdict, subjectOf } from '../callback/callback.ts';
import { callbackKinds, parseCosigner } from '../callback/kinds.ts';
import { CountersignError, type Failure, failure, messageOf } from '../errors.ts';
import type { CallbackReport, ReportCallback } from '../observe/report.ts';
import type { Authenticated, Authenticator } from '../signature/authenticate.ts';
import { createInFlight } from '../values/in-flight.ts';
import { type Members, decodeMembers } from '../values/members.ts';
import type { FailureBudgets } from './address-budgets.ts';
import type { Addressee, Arrival } from './arrival.ts';
import { type TurnedAway, createBounds } from './bounds.ts';
import { type DecideParts, decide } from './decide.ts';
import { type Outcome, type Track, reportLate, track } from './outcome.ts';

export interface Pipeline {
  /**
   * Answers one callback within `answerTimeoutMs`, whatever it contains and whatever fails; never rejects.
   * Call `delivered` once afterwards, with whether the client was still connected. The callback is reported
   * then, so that log and metrics don't delay its answer.
   */
  receive(
    arrival: Arrival,
  ): Promise<{ readonly answer: Answer; readonly delivered: (connected: boolean) => void }>;
  /** Resolves when nothing is in flight any more, late decisions included. */
  idle(): Promise<void>;
}

export interface PipelineParts extends DecideParts {
  /** The current keys of the sources. */
  readonly authenticator: () => Authenticator;
  /** Why nothing may be approved yet, for example because the store was not examined. */
  readonly notReady: () => Failure | undefined;
  readonly answerFormat: (addressee: Addressee) => AnswerFormat;
  readonly report: ReportCallback;
  /** Called for each callback that is turned away. Such a callback is not reported otherwise. */
  readonly turnedAway: (turned: TurnedAway) => void;
  readonly budgets: Pick<FailureBudgets, 'report' | 'exceeded'>;
  /** See EventLoop. */
  readonly lagMs: () => number;
  /** See EventLoop. */
  readonly capacity: () => number;
  /** The most callbacks in flight (`public.limits.callbacks`). */
  readonly callbacks: number;
  /** Outputs that a withdrawal may have (`public.limits.outputs`). */
  readonly outputs: number;
  /** From arrival to answer. */
  readonly answerTimeoutMs: number;
}

/**
 * The five steps within their bounds. A callback that is not decided in time is answered FAILURE. A later
 * decision stands, and the journal notes that it came too late.
 */
export function createPipeline(parts: PipelineParts): Pipeline {
  const { answerTimeoutMs, answerFormat, budgets, turnedAway } = parts;
  const inFlight = createInFlight();
  const bounds = createBounds(parts);

  function report(callback: CallbackReport): void {
    // Overload is not the fault of the sender, and turnedAway has counted this callback.
    if (callback.code === 'OVERLOADED') return;
    budgets.report(callback);
    parts.report(callback);
  }
  const reporting = { ...parts, report };

  function countInFlight(work: Promise<unknown>): void {
    inFlight.enter();
    const leave = (): void => inFlight.leave();
    work.then(leave, leave);
  }

  /**
   * If the sender is not authenticated, the verdict is FAILURE, and only the format of the answer is guessed.
   */
  function answerFor(run: Track, { answer, verdict, report: { source } }: Outcome): Answer {
    return answer ?? answerOf(source === undefined ? 'FAILURE' : verdict, answerFormat(run.addressee()));
  }

  /** Decides a callback whose body was read, unless too many are in flight. */
  async function decideWithinBounds(arrival: Arrival, run: Track, body: Uint8Array): Promise<Outcome> {
    const full = bounds.enter(arrival);
    if (full !== undefined) {
      turnedAway(full);
      return run.unauthenticated(full.failure);
    }
    try {
      return await takeSteps(parts, arrival, run, body);
    } finally {
      bounds.leave();
    }
  }

  async function readAndDecide(arrival: Arrival, run: Track): Promise<Outcome> {
    const unknown = unknownAddress(parts.authenticator(), arrival);
    if (unknown !== undefined) return run.unauthenticated(unknown);
    const body = await arrival.body();
    return body instanceof Uint8Array ? decideWithinBounds(arrival, run, body) : run.unauthenticated(body);
  }

  return {
    async receive(arrival) {
      const lagMs = parts.lagMs();
      const refusal = bounds.refusal(arrival, lagMs);
      if (refusal !== undefined) {
        turnedAway(refusal);
        const format = answerFormat({ route: arrival.route, source: undefined, members: undefined });
        return { answer: answerOf('FAILURE', format), delivered: () => undefined };
      }
      const run = track(arrival, lagMs);
      const work = readAndDecide(arrival, run).catch((thrown: unknown) => run.failed(failureOf(thrown)));
      countInFlight(work);
      const outcome = await within(work, answerTimeoutMs - lagMs);
      if (outcome !== undefined && run.elapsedMs() <= answerTimeoutMs) {
        return {
          answer: answerFor(run, outcome),
          delivered: (connected) => countInFlight(reportDelivery(reporting, run, outcome, connected)),
        };
      }
      countInFlight(work.then((late) => recordLate(reporting, run, late)));
      const timedOut = run.failed(
        failure('TIMED_OUT', `no decision within ${answerTimeoutMs} ms (answerTimeoutMs)`),
      );
      return {
        answer: answerFor(run, timedOut),
        delivered: () => countInFlight(reportDelivery(reporting, run, timedOut, true)),
      };
    },
    idle: () => inFlight.idle(),
  };
}

/** The five steps, in their one order: decode, authenticate, parse, evaluate and settle. */
async function takeSteps(
  parts: PipelineParts,
  arrival: Arrival,
  run: Track,
  body: Uint8Array,
): Promise<Outcome> {
  const decoded = run.timed('decode', () => decodeMembers(body));
  if (!decoded.ok) return run.unauthenticated(decoded);
  run.decoded(decoded.members);
  const sender = run.timed('authenticate', () =>
    authenticate(parts.authenticator(), arrival, decoded.members),
  );
  if (!sender.ok) return run.unauthenticated(sender);
  run.authenticated(sender);
  const parsed = run.timed('parse', () => parse(parts, arrival, sender));
  if (!parsed.ok) return refuse(parts, run, { sender, body: decoded.text, refusal: parsed });
  const { callback } = parsed;
  if (callback.kind === 'self-check') return selfCheck(parts, run, callback, decoded.text);
  run.callback(callback, subjectOf(callback));
  const notReady = parts.notReady();
  if (notReady !== undefined) return run.failed(notReady);
  return decide(parts, run, { callback, body: decoded.text, sender, address: arrival.address });
}

/** Checks the address of a co-signer before a byte of the body is read. */
function unknownAddress(authenticator: Authenticator, { route, address }: Arrival): Failure | undefined {
  return route.callback === 'payment' ? undefined : authenticator.checkAddress(route.source, address);
}

function authenticate(
  authenticator: Authenticator,
  arrival: Arrival,
  members: Members,
): Authenticated | Failure {
  const { route } = arrival;
  return route.callback === 'payment'
    ? authenticator.payment({ members })
    : authenticator.cosigner(route.source, { ...arrival, members });
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

interface Refused {
  readonly sender: Authenticated;
  readonly body: string;
  readonly refusal: Failure;
}

/** Refuses an authenticated callback that can't be parsed. The journal keeps it with the reason. */
async function refuse(
  { store }: PipelineParts,
  run: Track,
  { sender, body, refusal }: Refused,
): Promise<Outcome> {
  const { code, because } = refusal;
  const { source, by } = sender;
  const detail = JSON.stringify({ requestId: run.requestId, by, body, because });
  const id = await store.record({
    source,
    type: 'refused',
    subject: '',
    verdict: 'FAILURE',
    code,
    of: '',
    detail,
  });
  return run.refused(refusal, id);
}

async function selfCheck(
  { authenticator, store }: PipelineParts,
  run: Track,
  check: SelfCheck,
  body: string,
): Promise<Outcome> {
  const { source } = check;
  const valid = authenticator().selfCheck(source, check);
  const verdict: Verdict = valid.client && valid.verify ? 'SUCCESS' : 'FAILURE';
  const detail = JSON.stringify({ requestId: run.requestId, body, valid });
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
  return run.end(
    { verdict, outcome: 'self-check', code, because, kind: 'self-check', decision },
    selfCheckAnswer(valid),
  );
}

const describeMatch = (matches: boolean): string =>
  matches ? 'matches' : 'does not match, or no key is set';

/** Runs after the answer was sent. A rejection must not end the process: see `countInFlight`. */
async function reportDelivery(
  parts: Pick<PipelineParts, 'store' | 'report'>,
  run: Track,
  outcome: Outcome,
  connected: boolean,
): Promise<void> {
  parts.report(outcome.report);
  if (!connected) await recordLate(parts, run, outcome);
}

/**
 * The decision stands, but the client did not get its SUCCESS. The journal records that, and a repeat gets
 * the SUCCESS.
 */
async function recordLate(
  { store, report }: Pick<PipelineParts, 'store' | 'report'>,
  run: Track,
  outcome: Outcome,
): Promise<void> {
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

/** An internal error, without its stack, for the log. The answer is FAILURE. */
function failureOf(thrown: unknown): Failure {
  const ofStore = thrown instanceof CountersignError && thrown.code.startsWith('STORE_');
  return failure(ofStore ? 'STORE_FAILED' : 'INTERNAL', messageOf(thrown));
}

/** The value of the work, or undefined after the time-out. */
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
