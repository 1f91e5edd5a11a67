import { confirmPayment } from './confirmation.ts';
import { type Fault, faultsOf } from './faults.ts';
import { type Json, type JsonObject, isList } from './json.ts';
import type { Context, Operation } from './operations/operation.ts';
import { OPERATIONS } from './operations/registry.ts';
import { randomOf } from './random.ts';
import { CODES, type Code, Refusal } from './refusal.ts';
import { type Authentic, type Trace, authenticate } from './request.ts';
import type { Running } from './running.ts';
import type { ReadRequest, Reply } from './server.ts';
import { type Scheme, seal } from './signing.ts';

type PlatformRequest = Pick<ReadRequest, 'method' | 'path' | 'text'>;

/** The uid under which the bill lists the merchant. */
const MERCHANT_UID = 900_001;
const LOGIN_PATH = 'auth/token';

/** Answers one request. The HTTP status is 200 (section 7), unless a fault changes it. Never rejects. */
export async function answerRequest(request: PlatformRequest, parts: Running): Promise<Reply> {
  const trace: Trace = { scheme: undefined, signed: '' };
  const prefix = `/platformapi/${parts.segment}/open/`;
  const path = request.path.startsWith(prefix) ? request.path.slice(prefix.length) : '';
  const found = OPERATIONS.find((operation) => operation.path === path);
  let code: Code = '0';
  let why = 'the signature is valid';
  let data: Json = null;
  let faulty: AnswerFault | undefined;
  const applied = new Set<string>();
  const note = (fault: Fault, id: string): void => void applied.add(`${fault}@${id}`);
  try {
    if (found === undefined) throw new Refusal('50000', 'there is no such operation');
    const authentic = authenticated(request, found, { trace, parts });
    faulty = faultOfAnswer(authentic, { path, note }, parts);
    data = await perform(authentic, found, { note, parts });
  } catch (thrown) {
    code = thrown instanceof Refusal ? thrown.code : '10001';
    why = thrown instanceof Error ? thrown.message : String(thrown);
  }
  parts.log.add({
    kind: 'request',
    about: found?.path ?? `${request.method} ${request.path}`,
    scheme: trace.scheme ?? '',
    signed: trace.signed,
    outcome: code,
    why,
    faults: [...applied],
  });
  const form = found?.form ?? 'envelope';
  const msg = code === '0' ? CODES[code] : `${CODES[code]}: ${why}`;
  const answer =
    faulty === 'answer-error' ? { code: '10001', msg: CODES['10001'], data: null } : { code, msg, data };
  return {
    status: faulty === 'answer-status' ? 500 : 200,
    body: JSON.stringify(membersOf({ ...answer, scheme: trace.scheme }, form, parts)),
    isLost: faulty === 'answer-lost',
  };
}

/** The answer to a request whose body could not be read. */
export function refusedUnread(why: string): string {
  return JSON.stringify({ code: '10020', msg: `${CODES['10020']}: ${why}`, data: null });
}

/** A request that may be answered, and which one of the day it is. */
interface Counted extends Authentic {
  readonly number: number;
}

function authenticated(
  { method, text }: PlatformRequest,
  { path }: Operation,
  { trace, parts }: { readonly trace: Trace; readonly parts: Running },
): Counted {
  if (method !== 'POST') throw new Refusal('50000', 'every operation is a POST');
  const authentic = authenticate(text, parts.credentials, { isLogin: path === LOGIN_PATH, trace });
  if (parts.denied.includes(path)) throw new Refusal('50012', `this merchant may not use ${path}`);
  return { ...authentic, number: countRequest(parts) };
}

const ANSWER_FAULTS = faultsOf('answer');
type AnswerFault = (typeof ANSWER_FAULTS)[number];

/** An answer has at most one fault. Its id is that of the order, or the path of an operation without orders. */
function faultOfAnswer(
  { body, number }: Counted,
  { path, note }: Pick<Context, 'note'> & Pick<Operation, 'path'>,
  { faults }: Running,
): AnswerFault | undefined {
  const id = body.get('appOrderId')?.text ?? path;
  const fault = ANSWER_FAULTS.find((each) => faults.occurs(each, id, number));
  if (fault !== undefined) note(fault, id);
  return fault;
}

async function perform(
  { scheme, body }: Counted,
  operation: Operation,
  { note, parts }: Pick<Context, 'note'> & { readonly parts: Running },
): Promise<Json> {
  const { state, clock, zone } = parts;
  return operation.answer(body, {
    state,
    nowMs: clock.nowMs(),
    zone,
    random: (...labels) => randomOf(state.seed, ...labels),
    faults: parts.faults,
    note,
    merchantUid: MERCHANT_UID,
    confirm: (payment) => confirmPayment(payment, scheme, parts),
    now: clock.nowMs,
  });
}

/** Returns which request of the day it is. */
function countRequest({ state, clock, zone, dailyLimit }: Running): number {
  const day = zone.dayOf(clock.nowMs());
  const requests = state.usage.day === day ? state.usage.requests + 1 : 1;
  state.usage = { day, requests };
  if (dailyLimit > 0 && requests > dailyLimit) {
    throw new Refusal('50013', `this is request ${requests} of the day, and ${dailyLimit} are allowed`);
  }
  return requests;
}

interface Answer {
  readonly code: string;
  readonly msg: string;
  readonly data: Json;
  readonly scheme: Scheme | undefined;
}

function membersOf({ code, msg, data, scheme }: Answer, form: Operation['form'], parts: Running): JsonObject {
  const message = form === 'message' ? { message: null } : {};
  const head = { code, msg, ...message };
  if (scheme === 'rsa-envelope') return { ...head, ...sealed(data, parts) };
  return form === 'bare' && code === '0' && isObject(data) ? data : { ...head, data };
}

const isObject = (data: Json): data is JsonObject =>
  typeof data === 'object' && data !== null && !isList(data);

/** `data` and `sign` are empty if there is no data. */
function sealed(data: Json, { credentials, state }: Running): JsonObject {
  if (data === null) return { data: '', sign: '' };
  const { platformKey: senderKey, merchantKey: receiverKey } = credentials;
  return seal(JSON.stringify(data), { senderKey, receiverKey }, state.seed);
}
