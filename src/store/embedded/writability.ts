import type { CountersignError } from '../../errors.ts';
import type { Batch } from './engine.ts';
import { isOfDisk, isOfStore } from './fault.ts';
import type { Committed } from './transaction.ts';

/**
 * Whether writes come about: what could not be written says more of a full disk than what little still fits
 * into the log.
 */
export interface Writability {
  readonly note: (batch: Batch, committed: Committed) => void;
  /** Throws what kept the last writes from coming about. */
  readonly expect: () => void;
}

/** After so long, any write shows that there is room again. */
const FORGET_MS = 10_000;

export function createWritability(): Writability {
  let fault: CountersignError | undefined;
  let failedAtMs = 0;
  return {
    note({ asked }, { committed, outcomes }) {
      const failed = outcomes.find(
        (outcome) => !outcome.ok && isOfStore(outcome.fault) && (!committed || isOfDisk(outcome.fault)),
      );
      if (failed?.ok === false) {
        fault = failed.fault;
        failedAtMs = performance.now();
        return;
      }
      if (fault === undefined) return;
      const shows =
        !isOfDisk(fault) ||
        performance.now() - failedAtMs > FORGET_MS ||
        asked.some(({ verb, argument }) => verb === 'attend' && argument.probe === true);
      if (shows) fault = undefined;
    },
    expect() {
      if (fault !== undefined) throw fault;
    },
  };
}
