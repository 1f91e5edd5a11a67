import type { Credentials } from './credentials.ts';
import type { Fault, Faults } from './faults.ts';
import type { Json } from './json.ts';
import type { SandboxLog } from './log.ts';
import type { Context, Operation } from './operations/operation.ts';
import { OPERATIONS } from './operations/registry.ts';
import { randomOf } from './random.ts';
import { CODES, type Code, Refusal } from './refusal.ts';
import { type Trace, authenticate } from './request.ts';
import { type Scheme, encrypt, rsaSign } from './signing.ts';
import type { Payment, State } from './state.ts';
import type { SandboxClock, Zone } from './time.ts';

export interface PlatformParts {
  readonly state: State;
  readonly clock: SandboxClock;
  readonly zone: Zone;
  readonly credentials: Credentials;
  /** The path segment before `open` (section 1). */
  readonly segment: string;
  /** Operations that this merchant may not use. */
  readonly denied: ReadonlySet<string>;
  /** Requests in a day of the platform's time zone; 0 for any number. */
  readonly dailyLimit: number;
  readonly confirm: (payment: Payment, scheme: Scheme) => Promise<string | undefined>;
  readonly faults: Faults;
  readonly log: SandboxLog;
}

export interface PlatformRequest {
  readonly method: string;
  readonly path: string;
  readonly text: string;
}

/** The uid under which the bill lists the merchant. */
const MERCHANT_UID = 900_001;
const LOGIN_PATH = 'auth/token';

/**
 * Answers one request with the text of the JSON. The HTTP status is always 200 (section 7). Never rejects.
 */
export async function answerRequest(request: PlatformRequest, parts: PlatformParts): Promise<string> {
  const trace: Trace = { scheme: undefined, signed: '' };
  const prefix = `/platformapi/${parts.segment}/open/`;
  const path = request.path.startsWith(prefix) ? request.path.slice(prefix.length) : '';
  const found = OPERATIONS.find((operation) => operation.path === path);
  let code: Code = '0';
  let why = 'the signature is valid';
  let data: Json = null;
  const applied = new Set<string>();
  const note = (fault: Fault, id: string): void => void applied.add(`${fault}@${id}`);
  try {
    data = await perform(request, found, { trace, note, parts });
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
  const msg = code === '0' ? CODES[code] : `${CODES[code]}: ${why}`;
  const form = found?.form ?? 'envelope';
  return trace.scheme === 'rsa-envelope'
    ? envelope({ code, msg, data, form }, parts)
    : JSON.stringify(plain({ code, msg, data, form }));
}

/** The answer to a request whose body could not be read. */
export function refusedUnread(why: string): string {
  return JSON.stringify({ code: '10020', msg: `${CODES['10020']}: ${why}`, data: null });
}

async function perform(
  { method, text }: PlatformRequest,
  operation: Operation | undefined,
  { trace, note, parts }: Pick<Context, 'note'> & { readonly trace: Trace; readonly parts: PlatformParts },
): Promise<Json> {
  if (operation === undefined) throw new Refusal('50000', 'there is no such operation');
  if (method !== 'POST') throw new Refusal('50000', 'every operation is a POST');
  const { path } = operation;
  const isLogin = path === LOGIN_PATH;
  const { scheme, body } = authenticate(text, parts.credentials, { isLogin, trace });
  if (parts.denied.has(path)) throw new Refusal('50012', `this merchant may not use ${path}`);
  countRequest(parts);
  const { state, clock, zone } = parts;
  const context: Context = {
    state,
    nowMs: clock.nowMs(),
    zone,
    random: (...labels) => randomOf(state.seed, ...labels),
    faults: parts.faults,
    note,
    merchantUid: MERCHANT_UID,
    confirm: (payment) => parts.confirm(payment, scheme),
    now: clock.nowMs,
  };
  return operation.answer(body, context);
}

function countRequest({ state, clock, zone, dailyLimit }: PlatformParts): void {
  const day = zone.dayOf(clock.nowMs());
  const requests = state.usage.day === day ? state.usage.requests + 1 : 1;
  state.usage = { day, requests };
  if (dailyLimit > 0 && requests > dailyLimit) {
    throw new Refusal('50013', `this is request ${requests} of the day, and ${dailyLimit} are allowed`);
  }
}

interface Reply {
  readonly code: Code;
  readonly msg: string;
  readonly data: Json;
  readonly form: Operation['form'];
}

function plain({ code, msg, data, form }: Reply): Json {
  if (form === 'bare' && code === '0') return data;
  return { code, msg, ...(form === 'message' && { message: null }), data };
}

/** `data` and `sign` are empty if there is no data. */
function envelope({ code, msg, data, form }: Reply, { credentials, state }: PlatformParts): string {
  const message = form === 'message' ? { message: null } : {};
  if (data === null) return JSON.stringify({ code, msg, ...message, data: '', sign: '' });
  const plaintext = JSON.stringify(data);
  return JSON.stringify({
    code,
    msg,
    ...message,
    data: encrypt(plaintext, credentials.merchantKey, randomOf(state.seed, 'padding', plaintext)),
    sign: rsaSign(plaintext, credentials.platformKey),
  });
}
