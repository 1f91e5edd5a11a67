import type { Failure } from '../errors.ts';

/** Ends a reader or parser with a failure, which {@link catchRejection} returns. */
export class Rejected extends Error {
  readonly failure: Failure;
  constructor(rejection: Failure) {
    super(rejection.because);
    this.failure = rejection;
  }
}

/** The value of `read`, or the failure of the first {@link Rejected} that it throws. */
export function catchRejection<T>(read: () => T): T | Failure {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Rejected) return thrown.failure;
    throw thrown;
  }
}
