/*
 * The codes of this program, and what each means. docs/codes.md is generated from these tables. The message
 * of an error, and the reason of a failure, name the object and say what to do.
 */

interface ErrorRow {
  /** 1: the answer is no. 2: the call was wrong, or could not be carried out. */
  readonly exit: 1 | 2;
  /** Of an answer of the API; 500 if it is absent. */
  readonly status?: number;
  readonly meaning: string;
}

/**
 * The errors in settings, files, the store or a call. A refused callback is not an error but a {@link
 * Failure} or a decision: bad callbacks are ordinary, and a Failure costs no stack trace.
 */
export const ERRORS = {
  AWAITS_SIGNATURES: {
    exit: 1,
    status: 202,
    meaning: 'Nothing has changed yet: a second person must agree to it, with a signature.',
  },
  USAGE: { exit: 2, status: 400, meaning: 'The call has a fault.' },
  ORDER_INVALID: { exit: 2, status: 400, meaning: 'An announced order has a fault.' },
  PRICE_INVALID: { exit: 2, status: 400, meaning: 'A price has a fault.' },
  TOKEN_WRONG: { exit: 2, status: 401, meaning: 'The call has no token, or a wrong one.' },
  API_OFF: { exit: 2, status: 403, meaning: 'The settings have no token, or turn the call off.' },
  NOT_FOUND: { exit: 1, status: 404, meaning: 'What the call names does not exist.' },
  ORDER_CONFLICT: { exit: 1, status: 409, meaning: 'The id has another order, or a used one.' },
  RELEASE_REFUSED: { exit: 1, status: 409, meaning: 'There is no approval that can be released.' },
  SIGNATURE_REFUSED: { exit: 1, status: 422, meaning: 'A signature of a statement does not hold.' },
  BUSY: { exit: 2, status: 429, meaning: 'Too many calls are waiting. Try again.' },
  INTERNAL: {
    exit: 2,
    status: 500,
    meaning: 'A fault of Countersign. The log of the service has the cause.',
  },
  STORE_UNREACHABLE: {
    exit: 2,
    status: 503,
    meaning: 'The store did not answer in time, or failed. It is not known whether the call had an effect.',
  },
  STORE_MOVED: {
    exit: 2,
    status: 503,
    meaning: 'The file of the embedded store was moved or replaced while it was open. Restart the service.',
  },
  NOT_RUNNING: { exit: 2, status: 503, meaning: 'The process that simulates does not run. Try again.' },
  STORE_UNSAFE: {
    exit: 2,
    status: 503,
    meaning: 'The store could lose decisions. Change its configuration.',
  },
  STORE_LOST: {
    exit: 2,
    status: 503,
    meaning: 'The store has lost data. Everything is frozen until somebody acknowledges it.',
  },
  STORE_CORRUPT: {
    exit: 2,
    status: 503,
    meaning: "Something that was stored can't be read. Restore it from a copy.",
  },
  STORE_MISSING: { exit: 2, meaning: 'There is no embedded store where the settings say, or it is empty.' },
  CLOCK_JUMPED: { exit: 2, meaning: "The store's clock is too far ahead of the store's time." },
  SETTINGS_INVALID: { exit: 2, meaning: 'The settings have faults. All are listed.' },
  SECRET_UNREADABLE: { exit: 2, meaning: "A secret that the settings name can't be read." },
  KEY_UNREADABLE: { exit: 2, meaning: 'A key has a wrong form.' },
  POLICY_INVALID: { exit: 1, meaning: 'The policies, or their tests, have faults. All are listed.' },
  POLICY_CONFLICT: { exit: 1, meaning: 'Another revision is in force than the push was compared with.' },
  REVISION_UNTRUSTED: {
    exit: 1,
    status: 409,
    meaning: 'Too few people have signed the revision, or its statement is for something else.',
  },
  REQUEST_ENDED: { exit: 1, status: 409, meaning: 'The request was decided, or has expired.' },
  REVISION_UNKNOWN: { exit: 2, meaning: 'No revision, or more than one, has the name.' },
  LIST_INVALID: { exit: 2, meaning: 'A value or a file of a list has faults.' },
  BILL_INVALID: { exit: 2, meaning: "The platform's bill is not whole, or is of another day." },
  SIGN_IN_REFUSED: { exit: 2, meaning: 'A sign-in to the console was refused.' },
  PLATFORM_PARAMETER: { exit: 2, meaning: 'A parameter of the operation has a fault. Nothing was sent.' },
  PLATFORM_REFUSED: {
    exit: 1,
    meaning: 'The platform said no. With exit code 2, it may have done it all the same.',
  },
  PLATFORM_UNREACHABLE: { exit: 2, meaning: 'No connection to the platform, or it broke.' },
  PLATFORM_TIMEOUT: { exit: 2, meaning: "The platform's answer was not complete in time." },
  PLATFORM_CANCELLED: { exit: 2, meaning: 'The caller cancelled the operation.' },
  PLATFORM_ANSWER_INVALID: { exit: 2, meaning: "The platform's answer does not verify, or can't be read." },
} as const satisfies Readonly<Record<string, ErrorRow>>;

export type ErrorCode = keyof typeof ERRORS;

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

/** The callbacks that were answered FAILURE without a decision, by the step that refused them. */
export const FAILURES = {
  decode: {
    BODY_UNREADABLE: 'The body is missing, or did not arrive in time.',
    BODY_TOO_LARGE: 'The body is too large.',
    CONTENT_TYPE: 'The content type is not JSON.',
    CONTENT_ENCODING: 'The body is compressed.',
    NOT_UTF8: 'The body is not UTF-8.',
    NOT_JSON: 'The body is not JSON.',
    NOT_AN_OBJECT: 'The body is not a JSON object.',
    TOO_DEEP: 'The JSON is nested too deeply.',
    TOO_MANY_MEMBERS: 'The JSON has too many members.',
    NUMBER_TOO_LONG: 'A number has too many characters.',
    DUPLICATE_MEMBER: 'A member appears twice.',
  },
  authenticate: {
    SOURCE_UNKNOWN: 'No source has the appKey or the path.',
    SCHEME_NOT_ALLOWED: 'The source does not accept the scheme of the signature.',
    SIGN_MISSING: 'The signature is missing.',
    SIGN_MALFORMED: 'The signature has the form of no scheme.',
    SIGN_WRONG: 'The signature does not verify with any key of the source.',
    SIGN_AMBIGUOUS: 'The signed text can be read in more than one way.',
    ENVELOPE_MALFORMED: 'The envelope lacks a member, or has others outside its signature.',
    ENVELOPE_TOO_LARGE: 'The envelope has more blocks than are decrypted.',
    ENVELOPE_UNDECIPHERABLE: 'The envelope does not decrypt to what was signed.',
    ADDRESS_NOT_ALLOWED: 'The co-signer does not accept the address.',
    HEADER_WRONG: 'The header with the secret of the co-signer is missing or wrong.',
    PATH_WRONG: 'The URL does not end with the secret of the co-signer.',
    CERTIFICATE_WRONG: 'The client certificate of the co-signer is missing or wrong.',
    ADDRESS_THROTTLED: 'The address sent too much that failed.',
    KEYS_UNAVAILABLE: 'The source has no key or credential that can be used.',
  },
  parse: {
    MEMBER_MISSING: 'A member is missing.',
    MEMBER_INVALID: 'A member has a value that is not allowed.',
    MEMBER_UNKNOWN: 'A payment has a member that the specification does not have.',
    KIND_UNEXPECTED: 'The URL does not serve this kind of callback.',
    OUTPUTS_INVALID: "The outputs of a withdrawal can't be read.",
    TOO_MANY_OUTPUTS: 'A withdrawal has more outputs than `public.limits.outputs`.',
  },
  service: {
    TIMED_OUT: 'No decision was made within `answerTimeoutMs`.',
    OVERLOADED: 'More callbacks came than can be answered in time.',
    SHUTTING_DOWN: 'The service is stopping.',
    NOT_READY: 'The store is not safe, or has not been checked yet.',
    STALE_POLICIES: 'The policies or prices changed faster than the replica could follow.',
    CLOCK_JUMPED: "The store's clock is too far ahead of the store's time.",
    STORE_FAILED: 'The store did not answer in time, or failed.',
    INTERNAL: 'A fault of Countersign.',
  },
} as const;

type CodesOf<T> = T extends unknown ? keyof T : never;
export type FailureCode = CodesOf<(typeof FAILURES)[keyof typeof FAILURES]>;

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
