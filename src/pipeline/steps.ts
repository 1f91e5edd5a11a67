import { type AnswerFormat, selfCheckAnswer } from '../callback/answer.ts';
import { type Callback, type SelfCheck, type Verdict, subjectOf } from '../callback/callback.ts';
import { callbackKinds, parseCosigner } from '../callback/kinds.ts';
import type { Failure } from '../errors.ts';
import type { ReportCallback } from '../observe/report.ts';
import type { Authenticated, Authenticator } from '../signature/authenticate.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { type Members, decodeMembers } from '../values/members.ts';
import type { Addressee, Arrival } from './arrival.ts';
import { type AskPlugin, type Following, decide } from './decide.ts';
import type { Outcome, Track } from './outcome.ts';

export interface PipelineParts {
  readonly store: Store;
  /** The sources' keys as they are now; another one after a rotation. */
  readonly authenticator: () => Authenticator;
  readonly following: Following;
  readonly ask: AskPlugin;
  /** Why no callback may be approved yet, such as a store that has not been looked at. */
  readonly admit: () => Failure | undefined;
  readonly answerFormat: (addressee: Addressee) => AnswerFormat;
  readonly report: ReportCallback;
  /** Outputs that a withdrawal may have (`public.limits.outputs`). */
  readonly outputs?: number;
  /** See DecideParts. */
  readonly bindsScheme?: (source: string) => boolean;
  readonly clock: Clock;
  /** From arrival to answer. */
  readonly answerTimeoutMs: number;
}

/** What `public.limits.outputs` is if nothing is set. */
const OUTPUTS_USUAL = 200;

/** The five steps of a decision, in their one order: decode, authenticate, parse, evaluate and settle. */
export async function takeSteps(parts: PipelineParts, arrival: Arrival, run: Track): Promise<Outcome> {
  const stranger = strangerAt(parts.authenticator(), arrival);
  if (stranger !== undefined) return run.unauthenticated(stranger);
  const body = await arrival.body();
  if (!(body instanceof Uint8Array)) return run.unauthenticated(body);
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
  const barred = parts.admit();
  if (barred !== undefined) return run.failed(barred);
  return decide(parts, run, { callback, body: decoded.text, sender, address: arrival.address });
}

/** A co-signer's address is held against its list before a byte of the body is read. */
function strangerAt(authenticator: Authenticator, { route, address }: Arrival): Failure | undefined {
  return route.callback === 'payment' ? undefined : authenticator.stranger(route.source, address);
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
  { outputs = OUTPUTS_USUAL }: PipelineParts,
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

/**
 * An authenticated callback that says nothing which could be decided: refused, and kept for whoever asks why.
 */
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
  const because = `client_system_pubkey_hash ${describeMatch(valid.client)}, verify_sign_pub_hash ${describeMatch(valid.verify)}`;
  return run.end(
    { verdict, outcome: 'self-check', code, because, kind: 'self-check', decision },
    selfCheckAnswer(valid),
  );
}

const describeMatch = (matches: boolean): string =>
  matches ? 'matches' : 'does not match, or no key is set';
