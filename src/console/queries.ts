import { AsyncLocalStorage } from 'node:async_hooks';
import { CountersignError } from '../errors.ts';
import type { QUERIES, Reading } from './reading.ts';

/** Whose request a query belongs to, and whether its browser still waits. */
export interface Asking {
  readonly person: string;
  readonly signal: AbortSignal;
}

export interface Queries {
  /** Handles a request. Its queries wait for the turns of its person, and those that still wait end with it. */
  readonly during: <T>(asking: Asking, work: () => Promise<T>) => Promise<T>;
  /**
   * Runs one query at a time, in turns: a person with many waits for a person with one. Rejects with BUSY if too
   * many wait, or once the browser of the request has gone.
   */
  readonly inTurn: <T>(query: () => Promise<T>) => Promise<T>;
}

const WAITING_MAX = 16;
/** So that nobody else finds all places taken by one person. A page has two queries. */
const WAITING_PER_PERSON_MAX = 8;

export function createQueries(): Queries {
  const current = new AsyncLocalStorage<Asking>();
  /** What waits, by person. The first person is the next. */
  const waiting = new Map<string, (() => Promise<void>)[]>();
  let isRunning = false;

  function remove(person: string, run: () => Promise<void>): void {
    const others = (waiting.get(person) ?? []).filter((each) => each !== run);
    if (others.length === 0) waiting.delete(person);
    else waiting.set(person, others);
  }

  async function runAll(): Promise<void> {
    if (isRunning) return;
    isRunning = true;
    for (let [next] = waiting; next !== undefined; [next] = waiting) {
      const [person, [run, ...others]] = next;
      // To the end, behind the others.
      waiting.delete(person);
      if (others.length > 0) waiting.set(person, others);
      await run?.();
    }
    isRunning = false;
  }

  return {
    during: (asking, work) => current.run(asking, work),
    inTurn: (query) =>
      new Promise((resolve, reject) => {
        const { person, signal } = current.getStore() ?? NOBODY;
        const total = [...waiting.values()].reduce((sum, { length }) => sum + length, 0);
        if (signal.aborted) throw gone();
        if (total >= WAITING_MAX || (waiting.get(person)?.length ?? 0) >= WAITING_PER_PERSON_MAX) {
          throw new CountersignError(
            'BUSY',
            `${total} queries of the console are waiting. Try again in a second`,
          );
        }
        const leave = (): void => {
          remove(person, run);
          reject(gone());
        };
        const run = async (): Promise<void> => {
          signal.removeEventListener('abort', leave);
          try {
            resolve(await query());
          } catch (thrown) {
            reject(thrown);
          }
        };
        signal.addEventListener('abort', leave, { once: true });
        waiting.set(person, [...(waiting.get(person) ?? []), run]);
        void runAll();
      }),
  };
}

/** A query of no request is nobody's, and nobody leaves it. */
const NOBODY: Asking = { person: '', signal: new AbortController().signal };

const gone = (): CountersignError =>
  new CountersignError('BUSY', 'The browser did not wait for the page. Try again');

/** What reads, with its queries in turn. All else is quick, and waits for nothing. */
export function queried(reading: Reading, { inTurn }: Queries): Reading {
  const queries: Pick<Reading, (typeof QUERIES)[number]> = {
    search: (query, bounds) => inTurn(() => reading.search(query, bounds)),
    about: (source, subject, most) => inTurn(() => reading.about(source, subject, most)),
    transaction: (entry) => inTurn(() => reading.transaction(entry)),
    limits: (query, bounds) => inTurn(() => reading.limits(query, bounds)),
    limitsOf: (entries, wanted) => inTurn(() => reading.limitsOf(entries, wanted)),
    listValues: (list, contains, rows, bounds) =>
      inTurn(() => reading.listValues(list, contains, rows, bounds)),
    listed: (list, wanted) => inTurn(() => reading.listed(list, wanted)),
    lockedOut: (sources, most) => inTurn(() => reading.lockedOut(sources, most)),
    priceChanges: (rows, bounds) => inTurn(() => reading.priceChanges(rows, bounds)),
    reconciledDays: (...given) => inTurn(() => reading.reconciledDays(...given)),
    reconciledRun: (...given) => inTurn(() => reading.reconciledRun(...given)),
    closableException: (of) => inTurn(() => reading.closableException(of)),
  };
  return { ...reading, ...queries };
}
