import { CountersignError, type ErrorCode } from '../errors.ts';

/** Collects the faults of keys and secrets, so that one start reports all of them. */
export interface Faults {
  add(where: string, code: ErrorCode, because: string): void;
  /** The result of `build`; undefined, after adding the fault, if it throws a CountersignError. */
  attempt<T>(where: string, build: () => T): T | undefined;
  /** Throws one CountersignError with the code of the first fault, and all faults in its message and data. */
  throwIfAny(): void;
}

export function collectFaults(): Faults {
  const faults: { readonly where: string; readonly code: ErrorCode; readonly because: string }[] = [];
  return {
    add: (where, code, because) => void faults.push({ where, code, because }),
    attempt(where, build) {
      try {
        return build();
      } catch (thrown) {
        if (!(thrown instanceof CountersignError)) throw thrown;
        faults.push({ where, code: thrown.code, because: thrown.message });
        return undefined;
      }
    },
    throwIfAny() {
      const [first] = faults;
      if (first === undefined) return;
      const lines = faults.map(({ where, because }) => `${where}: ${because}`);
      throw new CountersignError(first.code, lines.join('\n'), { faults });
    },
  };
}
