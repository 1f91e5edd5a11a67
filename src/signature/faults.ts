import { CountersignError, type ErrorCode } from '../errors.ts';

/** Faults of the settings' keys and secrets, gathered so that all of them can be mended at once. */
export interface Faults {
  add(where: string, code: ErrorCode, because: string): void;
  /** What `build` returns; undefined, with the fault noted, where it throws a CountersignError. */
  attempt<T>(where: string, build: () => T): T | undefined;
  /** Throws one CountersignError with the code of the first fault and all of them in its message and data. */
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
