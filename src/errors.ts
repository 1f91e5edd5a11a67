/**
 * The codes of errors in settings, files, the store or a command. A refused callback is not an error but a
 * {@link Failure} or a decision: bad callbacks are ordinary, and a Failure costs no stack trace.
 */
export type ErrorCode =
  | 'SETTINGS_INVALID'
  | 'SECRET_UNREADABLE'
  | 'KEY_UNREADABLE'
  | 'POLICY_INVALID'
  | 'POLICY_CONFLICT'
  | 'REVISION_UNKNOWN'
  | 'STORE_UNREACHABLE'
  | 'STORE_UNSAFE'
  | 'STORE_LOST'
  | 'STORE_CORRUPT'
  | 'CLOCK_JUMPED'
  | 'STORE_MISSING'
  | 'STORE_MOVED'
  | 'LIST_INVALID'
  | 'ORDER_INVALID'
  | 'ORDER_CONFLICT'
  | 'RELEASE_REFUSED'
  | 'PRICE_INVALID'
  | 'BILL_INVALID'
  | 'NOT_FOUND'
  | 'BUSY'
  | 'SIGN_IN_REFUSED'
  | 'PLATFORM_PARAMETER'
  | 'PLATFORM_REFUSED'
  | 'PLATFORM_UNREACHABLE'
  | 'PLATFORM_TIMEOUT'
  | 'PLATFORM_CANCELLED'
  | 'PLATFORM_ANSWER_INVALID'
  | 'USAGE';

/** `message` names the object and says how to fix it; `data` holds the values. Neither contains a secret. */
export class CountersignError extends Error {
  readonly code: ErrorCode;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(
    code: ErrorCode,
    message: string,
    data: Readonly<Record<string, unknown>> = {},
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CountersignError';
    this.code = code;
    this.data = data;
  }
}

/** The error of a call that is wrong. The message also says what to write instead. */
export function usageError(message: string, data: Readonly<Record<string, unknown>> = {}): CountersignError {
  return new CountersignError('USAGE', message, data);
}

/** The codes of callbacks that were answered FAILURE without a decision. */
export type FailureCode =
  // decode: syntax and bounds
  | 'BODY_UNREADABLE'
  | 'BODY_TOO_LARGE'
  | 'CONTENT_TYPE'
  | 'CONTENT_ENCODING'
  | 'NOT_UTF8'
  | 'NOT_JSON'
  | 'NOT_AN_OBJECT'
  | 'TOO_DEEP'
  | 'TOO_MANY_MEMBERS'
  | 'NUMBER_TOO_LONG'
  | 'DUPLICATE_MEMBER'
  // authenticate: who sent it
  | 'SOURCE_UNKNOWN'
  | 'SCHEME_NOT_ALLOWED'
  | 'SIGN_MISSING'
  | 'SIGN_MALFORMED'
  | 'SIGN_WRONG'
  | 'SIGN_AMBIGUOUS'
  | 'ENVELOPE_MALFORMED'
  | 'ENVELOPE_TOO_LARGE'
  | 'ENVELOPE_UNDECIPHERABLE'
  | 'ADDRESS_NOT_ALLOWED'
  | 'HEADER_WRONG'
  | 'PATH_WRONG'
  | 'CERTIFICATE_WRONG'
  | 'ADDRESS_THROTTLED'
  | 'KEYS_UNAVAILABLE'
  // parse: what it says
  | 'MEMBER_MISSING'
  | 'MEMBER_INVALID'
  | 'MEMBER_UNKNOWN'
  | 'KIND_UNEXPECTED'
  | 'OUTPUTS_INVALID'
  | 'TOO_MANY_OUTPUTS'
  // the service itself
  | 'TIMED_OUT'
  | 'OVERLOADED'
  | 'SHUTTING_DOWN'
  | 'NOT_READY'
  | 'STALE_POLICIES'
  | 'CLOCK_JUMPED'
  | 'STORE_FAILED'
  | 'INTERNAL';

/**
 * The refusal of a step: its code, a sentence that lets an integrator fix the cause, and the values. It never
 * contains a secret.
 */
export interface Failure {
  readonly ok: false;
  readonly code: FailureCode;
  readonly because: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export function failure(
  code: FailureCode,
  because: string,
  data: Readonly<Record<string, unknown>> = {},
): Failure {
  return { ok: false, code, because, data };
}

/**
 * A failure whose reason is computed when it is first read, because computing it may cost more than
 * everything else about a bad callback.
 */
export function lazyFailure(code: FailureCode, explain: () => Pick<Failure, 'because' | 'data'>): Failure {
  let explained: Pick<Failure, 'because' | 'data'> | undefined;
  return {
    ok: false,
    code,
    get because() {
      return (explained ??= explain()).because;
    },
    get data() {
      return (explained ??= explain()).data;
    },
  };
}

/** The message of a thrown value, for a log or an error. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
