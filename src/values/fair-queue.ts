import { setImmediate } from 'node:timers/promises';
import { CountersignError } from '../errors.ts';

/** Runs one piece of work at a time. */
export interface FairQueue {
  /**
   * People take turns: somebody with much work waits longer, and not the others. Rejects with BUSY if as much
   * work of this person waits as may wait, whatever waits of the others.
   */
  run<T>(person: string, work: () => Promise<T>): Promise<T>;
}

/**
 * `what` names the work in errors. Of each person, `waitingMax` pieces may wait. The number of people is
 * bounded by the settings, and that of requests by the connections.
 */
export function createFairQueue(what: string, waitingMax: number): FairQueue {
  /** What waits, by person. The first person is the next. */
  const waiting = new Map<string, readonly (() => Promise<void>)[]>();
  let isRunning = false;

  async function runAll(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    for (let [next] = waiting; next !== undefined; [next] = waiting) {
      const [person, [run, ...others]] = next;
      // To the end, behind the others.
      waiting.delete(person);
      if (others.length > 0) waiting.set(person, others);
      await run?.();
      // Work may be one long turn of the event loop: whatever else has arrived is handled between two of
      // them.
      await setImmediate();
    }
    isRunning = false;
  }

  return {
    run(person, work) {
      const own = waiting.get(person) ?? [];
      if (own.length >= waitingMax) {
        const because = `${own.length} ${what} of yours are waiting. Try again in a second`;
        return Promise.reject(new CountersignError('BUSY', because));
      }
      return new Promise((resolve, reject) => {
        const run = async (): Promise<void> => {
          try {
            resolve(await work());
          } catch (thrown) {
            reject(thrown);
          }
        };
        waiting.set(person, [...own, run]);
        void runAll();
      });
    },
  };
}
