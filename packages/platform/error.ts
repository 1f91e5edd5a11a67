import { CountersignError, type ErrorCode, type FailureCode } from '../../src/errors.ts';

export type PlatformErrorCode = Extract<ErrorCode, `PLATFORM_${string}`>;

/**
 * What is known of the request:
 * - `not-sent`: it did not reach the platform.
 * - `refused`: the platform said no.
 * - `unknown`: the platform may have done what was requested. Look it up before you request it again.
 * - `not-read`: it would only have read, so nothing changed.
 */
export type Outcome = 'not-sent' | 'refused' | 'unknown' | 'not-read';

/** A type and not an interface, so that it fits the data of every error. */
export type PlatformErrorData = {
  /** Such as `payments.create`. */
  readonly operation: string;
  /** The section of the specification, such as `4.2`. */
  readonly section: string;
  readonly outcome: Outcome;
  readonly fix: string;
  /** The code of a refusal, its documented meaning, and the platform's own words. */
  readonly refusal?:
    { readonly code: string; readonly meaning: string; readonly message: string } | undefined;
  /** The HTTP status of an answer whose body was not read. */
  readonly status?: number | undefined;
  /** Why the envelope of an answer can't be opened, such as `SIGN_WRONG`. */
  readonly reason?: FailureCode | undefined;
  /** What is wrong with the parameters, a clause each. */
  readonly faults?: readonly string[] | undefined;
  /** Where an iteration can continue. */
  readonly cursor?: string | undefined;
};

/** An operation that gave no result. The message names the operation, what is wrong, and the fix. */
export class PlatformError extends CountersignError {
  declare readonly code: PlatformErrorCode;
  declare readonly data: PlatformErrorData;

  constructor(code: PlatformErrorCode, because: string, data: PlatformErrorData, cause?: unknown) {
    super(code, `${data.operation} (${data.section}): ${because}; ${data.fix}`, data, cause);
    this.name = 'PlatformError';
  }
}
